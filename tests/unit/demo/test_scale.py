"""How much the demo writes."""

from __future__ import annotations

import pytest

from neve.demo.scale import LARGE_EVENT_BYTES, LARGE_FILE_BYTES, Scale, scale_of
from neve.model.errors import InputError
from neve.model.policy import CompactionPolicy

GB = 1024**3


def test_small_files_where_no_size_is_said():
    assert scale_of(None, None, None, 5) == Scale(50, 10_000, 10_000)
    assert scale_of(3, 200, None, 5) == Scale(3, 200, 200)


@pytest.mark.parametrize("partitions", [1, 5, 20])
def test_a_sized_table_has_row_groups_that_are_copied(partitions):
    scale = scale_of(None, None, GB, partitions)

    file_bytes = scale.events * LARGE_EVENT_BYTES / partitions
    assert file_bytes > 1.5 * CompactionPolicy().min_row_group_bytes
    assert 0.9 * GB < scale.batches * scale.events * LARGE_EVENT_BYTES <= GB
    assert scale.has_digests


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ((3, None, GB, 5), "--batches and --events cannot"),
        ((None, 10, GB, 5), "--batches and --events cannot"),
        ((None, None, 2 * 5 * LARGE_FILE_BYTES - 1, 5), "has no two files of 8.0 MB in each of 5"),
    ],
)
def test_what_cannot_be_is_refused(asked, why):
    with pytest.raises(InputError, match=why):
        scale_of(*asked)
