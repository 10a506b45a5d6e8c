from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import RowsCorrupt
from neve.rows.arrow import FIELD_ID
from neve.rows.lineage import lineage_columns, with_lineage
from neve.rows.schema import Field, Schema, Type

STORED = st.none() | st.lists(st.none() | st.integers(0, 99), min_size=5, max_size=5)


def columns(ids: Any, updates: Any, first_row_id: int | None, first: int = 0) -> tuple[Any, Any]:
    made = [None if each is None else pa.array(each, pa.int64()) for each in (ids, updates)]
    found = lineage_columns(
        *made, rows=5, first_position=first, first_row_id=first_row_id, data_sequence_number=7
    )
    return tuple(each.to_pylist() for each in found)


@given(STORED, STORED, st.integers(0, 10**12), st.integers(0, 10**6))
def test_stored_values_win_and_the_rest_is_counted(
    ids: Any, updates: Any, first_row_id: int, first: int
):
    found = columns(ids, updates, first_row_id, first)

    ids, updates = ids or [None] * 5, updates or [None] * 5
    assert found == (
        [first_row_id + first + at if v is None else v for at, v in enumerate(ids)],
        [7 if value is None else value for value in updates],
    )


def test_files_from_before_the_upgrade_have_none():
    assert columns(None, [None] * 5, None) == ([None] * 5, [None] * 5)


def test_stored_ids_without_a_first_one_are_corrupt():
    with pytest.raises(RowsCorrupt):
        columns([1, None, None, None, None], None, None)


def test_ids_that_are_not_one_for_each_row_are_corrupt():
    with pytest.raises(RowsCorrupt):
        columns([1], None, 0)


def test_the_columns_are_written_with_their_own_ids():
    schema = Schema((Field(1, "a", False, Type("int")),))
    table = pa.table({"a": pa.array([1], pa.int32()), "_row_id": [4]})

    found = with_lineage(table, schema, (pa.array([8]), pa.array([9])))

    assert found.to_pylist() == [{"a": 1, "_row_id": 8, "_last_updated_sequence_number": 9}]
    ids = [(field.metadata or {}).get(FIELD_ID) for field in found.schema][1:]
    assert ids == [b"2147483540", b"2147483539"]
