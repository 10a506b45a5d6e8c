from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import InputError
from neve.model.table import TableRef, read_name

PARTS = st.text(st.characters() | st.sampled_from('`."\n\0'), max_size=8)


@given(PARTS, st.lists(PARTS, max_size=3), PARTS)
def test_a_written_name_is_read_back_as_it_was(catalog, namespace, name):
    table = TableRef(catalog, tuple(namespace), name)

    assert read_name(str(table)) == [catalog, *namespace, name]


@pytest.mark.parametrize(
    "text", ["", ".", "a.", ".a", "a..b", "`a", "a b", '"a"', "`a`b", "a.`b``"]
)
def test_what_no_table_is_written_as_is_refused(text):
    with pytest.raises(InputError):
        read_name(text)
