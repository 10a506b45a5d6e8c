"""Rows that position deletes take away."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neve.model.errors import RowsCorrupt, RowsUnsupported
from neve.rows.arrow import FIELD_ID, field_id
from neve.rows.roaring import Positions

DELETE_FILE_PATH: Final = 2147483546
DELETE_FILE_POS: Final = 2147483545
_BATCH_ROWS: Final = 256 * 1024
_NO_POSITIONS: Final = np.empty(0, dtype=np.int64)
_FILE_SCHEMA: Final = pa.schema(
    [
        pa.field("file_path", pa.string(), False, {FIELD_ID: str(DELETE_FILE_PATH)}),
        pa.field("pos", pa.int64(), False, {FIELD_ID: str(DELETE_FILE_POS)}),
    ],
    metadata={"delete-type": "position"},
)


def read_position_deletes(
    source: Any, file_format: str, paths: Collection[str]
) -> dict[str, Positions]:
    """For each data file its deleted positions, ascending, each once.

    `source` is a position-delete file, as pyarrow opens one. Paths are compared letter by letter,
    as Iceberg does.
    """
    wanted = pa.array(sorted(paths), pa.string())
    found: dict[str, list[Positions]] = {path: [] for path in paths}
    for of, at in _batches(source, file_format):
        _collect(of, at, wanted, found)
    return {path: merged(parts) for path, parts in found.items()}


def read_all_position_deletes(source: Any, file_format: str) -> dict[str, Positions]:
    """The same for every data file that the delete file speaks of."""
    found: dict[str, list[Positions]] = {}
    for of, at in _batches(source, file_format):
        named = pc.unique(of.cast(pa.string()).drop_null()).to_pylist()
        for path in named:
            found.setdefault(path, [])
        _collect(of, at, pa.array(sorted(named), pa.string()), found)
    return {path: merged(parts) for path, parts in found.items()}


def write_position_deletes(deletes: Mapping[str, Positions]) -> bytes:
    """A position-delete file in Parquet, in the order that readers count on: by path, position."""
    paths = sorted(path for path, positions in deletes.items() if len(positions))
    parts = [deletes[path] for path in paths]
    repeated = np.repeat(np.arange(len(paths), dtype=np.int32), [len(part) for part in parts])
    column = pa.DictionaryArray.from_arrays(repeated, pa.array(paths, pa.string()))
    positions = np.concatenate([_NO_POSITIONS, *parts])
    target = pa.BufferOutputStream()
    pq.write_table(
        pa.Table.from_arrays([column.cast(pa.string()), pa.array(positions)], schema=_FILE_SCHEMA),
        target,
        compression="zstd",
        store_schema=False,
    )
    return bytes(target.getvalue())


def _batches(source: Any, file_format: str) -> Iterable[tuple[Any, Any]]:
    if file_format.lower() != "parquet":
        raise RowsUnsupported(f"Position deletes in {file_format} files are not read natively.")
    file = pq.ParquetFile(source)
    path_column, pos_column = _columns(file.schema_arrow)
    for batch in file.iter_batches(_BATCH_ROWS, columns=[path_column, pos_column]):
        yield batch.column(path_column), batch.column(pos_column)


def _columns(schema: Any) -> tuple[str, str]:
    by_id = {field_id(field): field for field in schema}
    by_name = {field.name: field for field in schema}
    path = by_id.get(DELETE_FILE_PATH) or by_name.get("file_path")
    pos = by_id.get(DELETE_FILE_POS) or by_name.get("pos")
    if path is None or pos is None or not pa.types.is_int64(pos.type):
        raise RowsCorrupt("A position-delete file lacks its columns file_path and pos.")
    return path.name, pos.name


def _collect(paths: Any, positions: Any, wanted: Any, found: dict[str, list[Positions]]) -> None:
    if paths.null_count or positions.null_count:
        raise RowsCorrupt("A position-delete file has nulls.")
    index = pc.index_in(paths.cast(pa.string()), wanted)
    hit = index.is_valid()
    if not pc.any(hit).as_py():
        return
    of = index.filter(hit).to_numpy()
    at = positions.filter(hit).to_numpy()
    if np.any(at < 0):
        raise RowsCorrupt("A position-delete file has a negative position.")
    order = np.argsort(of, kind="stable")
    numbers, starts = np.unique(of[order], return_index=True)
    for number, part in zip(numbers, np.split(at[order], starts[1:]), strict=True):
        found[wanted[int(number)].as_py()].append(part)


def merged(parts: Iterable[Positions]) -> Positions:
    """All positions in ascending order, each once."""
    filled = [part for part in parts if len(part)]
    return np.unique(np.concatenate(filled)) if filled else _NO_POSITIONS


def live_mask(deleted: Positions, first: int, rows: int) -> npt.NDArray[np.bool_]:
    """Which rows of a range stay; `deleted` ascends and speaks of the whole file."""
    mask = np.ones(rows, dtype=np.bool_)
    start, end = np.searchsorted(deleted, [first, first + rows])
    mask[deleted[start:end] - first] = False
    return mask


def check_positions(deleted: Positions, record_count: int, path: str) -> None:
    """Refuse deletes of rows that a file does not have: something is not what it seems."""
    if len(deleted) and int(deleted[-1]) >= record_count:
        raise RowsCorrupt(
            f"A delete takes row {int(deleted[-1])} from {path}, which has {record_count} rows."
        )
