"""First row ids, as manifests hand them out."""

from __future__ import annotations

import pytest

from neve.catalog.row_ids import RowIds


@pytest.mark.parametrize(
    ("first", "files", "expected"),
    [
        (None, [(None, 5), (7, 5)], [None, None]),
        (10, [(None, 5), (None, 3), (None, 1)], [10, 15, 18]),
        (10, [(None, 5), (2, 3), (None, 1)], [10, 2, 15]),
        (0, [(None, 5), (None, 3)], [0, 5]),
    ],
)
def test_files_without_an_id_get_the_next_one_and_others_keep_theirs(first, files, expected):
    given = RowIds(first)

    assert [given.next(own, rows) for own, rows in files] == expected
