from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import RowsCorrupt, RowsUnsupported
from neve.rows.deletes import check_positions, live_mask, read_position_deletes

PATHS = ["file:/a", "file:/b", "s3://x/c", "file:/A"]


def delete_file(
    rows: list[tuple[str | None, int | None]],
    names: tuple[str, str] = ("file_path", "pos"),
    **options: Any,
) -> Any:
    ids = [{"PARQUET:field_id": "2147483546"}, {"PARQUET:field_id": "2147483545"}]
    fields = [
        pa.field(names[0], pa.string(), metadata=ids[0]),
        pa.field(names[1], pa.int64(), metadata=ids[1]),
    ]
    columns = [[path for path, _ in rows], [pos for _, pos in rows]]
    target = io.BytesIO()
    pq.write_table(pa.table(columns, pa.schema(fields)), target, **options)
    return io.BytesIO(target.getvalue())


@given(
    st.lists(st.tuples(st.sampled_from(PATHS), st.integers(0, 30))), st.sets(st.sampled_from(PATHS))
)
def test_each_file_gets_its_positions(rows: Any, wanted: set[str]):
    found = read_position_deletes(delete_file(rows, row_group_size=7), "PARQUET", wanted)

    assert {path: list(each) for path, each in found.items()} == {
        path: sorted({pos for of, pos in rows if of == path}) for path in wanted
    }


def test_columns_are_found_by_id():
    found = read_position_deletes(delete_file([("a", 1)], ("f", "p")), "parquet", ["a"])

    assert list(found["a"]) == [1]


def test_columns_may_come_in_any_order():
    target = io.BytesIO()
    pq.write_table(pa.table({"pos": [4, 2], "row": [0, 0], "file_path": ["a", "a"]}), target)

    found = read_position_deletes(io.BytesIO(target.getvalue()), "parquet", ["a"])

    assert list(found["a"]) == [2, 4]


@pytest.mark.parametrize("rows", [[("a", None)], [(None, 1)], [("a", -1)]])
def test_what_is_no_position_is_corrupt(rows: Any):
    with pytest.raises(RowsCorrupt):
        read_position_deletes(delete_file(rows), "parquet", ["a"])


@pytest.mark.parametrize("file_format", ["avro", "ORC"])
def test_other_formats_are_refused(file_format: str):
    with pytest.raises(RowsUnsupported):
        read_position_deletes(io.BytesIO(), file_format, ["a"])


def test_a_file_without_the_columns_is_corrupt():
    target = io.BytesIO()
    pq.write_table(pa.table({"file_path": ["a"], "pos": ["1"]}), target)

    with pytest.raises(RowsCorrupt, match="lacks"):
        read_position_deletes(io.BytesIO(target.getvalue()), "parquet", ["a"])


@given(st.sets(st.integers(0, 40)), st.integers(0, 30), st.integers(0, 20))
def test_the_mask_says_which_rows_of_a_range_stay(deleted: set[int], first: int, rows: int):
    mask = live_mask(np.array(sorted(deleted), dtype=np.int64), first, rows)

    assert list(mask) == [position not in deleted for position in range(first, first + rows)]


def test_deletes_of_rows_that_are_not_there_are_corrupt():
    check_positions(np.array([1, 2]), 3, "a")
    with pytest.raises(RowsCorrupt, match="has 2 rows"):
        check_positions(np.array([1, 2]), 2, "a")
