"""Which rows of a task's inputs are deleted, by position, whatever kind of delete says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neve.model.errors import RowsCorrupt, RowsUnsupported
from neve.model.facts import DeleteKind
from neve.model.rewrite import DeleteDetails, TaskInput
from neve.rows.arrow import field_id
from neve.rows.deletes import check_positions, merged, read_position_deletes
from neve.rows.equality import ColumnRange, EqualityDeletes, collect_deletes
from neve.rows.evolve import evolve
from neve.rows.roaring import Positions
from neve.rows.schema import Schema
from neve.rows.vectors import read_vector
from neve.spark.rewrite.rows.layout import RowLayout
from neve.spark.rewrite.rows.source import FileRows, OpenedSource

#: Types whose bounds in footers are ordered as their values are, by all writers.
_RULED_OUT_BY_BOUNDS: Final = ("int", "long", "date", "string")
_ORDERED: Final = (pa.types.is_int32, pa.types.is_int64, pa.types.is_date32, pa.types.is_string)
_NONE: Final = np.empty(0, dtype=np.int64)

#: Opens a file for pyarrow; reads a range of one.
OpenFile = Callable[[str], Any]
ReadRange = Callable[[str, int, int], bytes]


class Deletes:
    """The deletes of a task. What they take from each input is found out once."""

    def __init__(
        self,
        layout: RowLayout,
        deletes: Sequence[DeleteDetails],
        open_file: OpenFile,
        read_range: ReadRange,
    ) -> None:
        self._layout = layout
        self._deletes = deletes
        self._open_file = open_file
        self._read_range = read_range

    def positions(self, inputs: Sequence[TaskInput]) -> list[Positions]:
        """For each input the positions of its deleted rows, ascending, each once."""
        found: dict[str, list[Positions]] = defaultdict(list)
        reaches = [
            (delete, {one.path for one in inputs if applies(delete, one)})
            for delete in self._deletes
        ]
        with_vector = {
            path
            for delete, reached in reaches
            if delete.kind is DeleteKind.DELETION_VECTOR
            for path in reached
        }
        for delete, reached in reaches:
            if delete.kind is DeleteKind.POSITION:
                # A vector takes the place of all of them, whatever its writer left out of it.
                reached -= with_vector
            if delete.kind is DeleteKind.DELETION_VECTOR and reached:
                if delete.referenced_path is None:
                    raise RowsCorrupt(f"A vector in {delete.path} does not say whose it is.")
                found[delete.referenced_path].append(self._vector(delete))
            elif delete.kind is DeleteKind.POSITION and reached:
                source = self._open_file(delete.path)
                with _decoding(delete.path):
                    of_file = read_position_deletes(source, delete.format, reached)
                for path, positions in of_file.items():
                    found[path].append(positions)
        for keys in self._keys():
            for one in inputs:
                found[one.path].append(self._by_keys(one, keys))
        answers = [merged(found[one.path]) for one in inputs]
        for one, positions in zip(inputs, answers, strict=True):
            check_positions(positions, one.record_count, one.path)
        return answers

    def _vector(self, delete: DeleteDetails) -> Positions:
        if delete.content_offset is None or delete.content_size_bytes is None:
            raise RowsCorrupt(f"The manifest does not say where in {delete.path} a vector lies.")
        blob = self._read_range(delete.path, delete.content_offset, delete.content_size_bytes)
        return read_vector(blob, delete.record_count)

    def _keys(self) -> Iterator[EqualityDeletes]:
        """One table of keys for each set of columns."""
        by_columns: dict[tuple[int, ...], list[DeleteDetails]] = defaultdict(list)
        for delete in self._deletes:
            if delete.kind is DeleteKind.EQUALITY:
                by_columns[tuple(sorted(delete.equality_ids))].append(delete)
        for field_ids, deletes in by_columns.items():
            if not field_ids:
                raise RowsCorrupt(f"{deletes[0].path} does not say which columns it compares.")
            yield collect_deletes(self._layout.schema, field_ids, map(self._read_keys, deletes))

    def _read_keys(self, delete: DeleteDetails) -> tuple[Any, int]:
        if delete.format != "parquet":
            raise RowsUnsupported(
                f"Equality deletes in {delete.format} files are not read natively."
            )
        chosen = self._layout.schema.select(delete.equality_ids)
        opened = self._open_file(delete.path)
        with _decoding(delete.path):
            table = pq.ParquetFile(opened).read(use_threads=False)
        _refuse_keys_misread(table.schema, chosen, delete.path)
        return evolve(table, chosen), delete.data_sequence_number

    def _by_keys(self, one: TaskInput, keys: EqualityDeletes) -> Positions:
        number = one.data_sequence_number
        if not len(keys.sequence_numbers) or int(keys.sequence_numbers.max()) <= number:
            return _NONE
        source = OpenedSource(FileRows(self._layout, one), self._open_file(one.path))
        field_ids = [field.id for field in keys.schema.fields]
        found = [_NONE]
        with _decoding(one.path):
            names = source.kind.names
            columns = [names[id_] for id_ in field_ids if id_ in names]
            _refuse_values_misread(source.file.schema_arrow, columns, one.path)
            for ordinal, first_row, _ in source.row_groups():
                if keys.may_hold(_ranges(source.file, ordinal, keys), number):
                    rows = source.rows.columns(source, ordinal, first_row, field_ids)
                    found.append(np.flatnonzero(keys.deleted(rows, number)) + first_row)
        return np.concatenate(found)


def _refuse_keys_misread(found: Any, wanted: Schema, path: str) -> None:
    """Refuse keys that Iceberg's reader of deletes takes for others, and so finds in no row."""
    names = {field.id: field.type.name for field in wanted.fields}
    by_id = {id_: field for field in found if (id_ := field_id(field)) is not None}
    if not by_id:
        raise RowsUnsupported(f"{path} has no field ids, and deletes are read by no name mapping.")
    for id_ in names.keys() & by_id.keys():
        is_uuid = isinstance(by_id[id_].type, pa.BaseExtensionType)
        if (names[id_] == "uuid") != is_uuid or pa.types.is_uint32(by_id[id_].type):
            raise _other_keys(by_id[id_], path)


def _refuse_values_misread(found: Any, columns: Iterable[str], path: str) -> None:
    """Refuse key columns of data files in which Spark sees other values than their footers say."""
    for field in map(found.field, columns):
        kind = field.type
        if pa.types.is_uint32(kind) or (pa.types.is_timestamp(kind) and kind.unit in ("s", "ms")):
            raise _other_keys(field, path)


def _other_keys(field: Any, path: str) -> RowsUnsupported:
    return RowsUnsupported(
        f"Equality deletes are compared by column {field.name!r}, which is {field.type} in {path}: "
        f"Iceberg's reader sees other values there."
    )


@contextmanager
def _decoding(path: str) -> Iterator[None]:
    """Arrow does not say which file it cannot read, or calls it by where it was brought."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise RowsCorrupt(f"{path} cannot be read as Parquet ({type(error).__name__}).") from error


def applies(delete: DeleteDetails, one: TaskInput) -> bool:
    """Whether a delete of the file's own partition takes rows from it, by sequence number."""
    if delete.referenced_path is not None and delete.referenced_path != one.path:
        return False
    if delete.kind is DeleteKind.EQUALITY:
        return delete.data_sequence_number > one.data_sequence_number
    return delete.data_sequence_number >= one.data_sequence_number


def _ranges(file: Any, ordinal: int, keys: EqualityDeletes) -> dict[int, ColumnRange]:
    """What the footer says of the key columns in a row group, where it can be believed."""
    group, schema = file.metadata.row_group(ordinal), file.schema_arrow
    places = {file.schema.column(at).path: at for at in range(group.num_columns)}
    found = {}
    for field in keys.schema.fields:
        columns = [each for each in schema if field_id(each) == field.id]
        if len(columns) != 1 or field.type.name not in _RULED_OUT_BY_BOUNDS:
            continue
        at = places.get(columns[0].name)
        if at is not None and any(check(columns[0].type) for check in _ORDERED):
            found[field.id] = _range(group.column(at).statistics)
    return found


def _range(statistics: Any) -> ColumnRange:
    if statistics is None:
        return ColumnRange()
    nulls = statistics.null_count if statistics.has_null_count else None
    try:
        if statistics.has_min_max:
            return ColumnRange(statistics.min, statistics.max, nulls)
    except ValueError:
        # A bound that was cut in the middle of a character.
        pass
    return ColumnRange(null_count=nulls)
