"""The inputs of a task with their footers, their deleted rows, and what is copied of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from neve.model.errors import ParquetCorrupt, ParquetError, RowsUnsupported
from neve.model.facts import DeleteKind
from neve.model.rewrite import DeleteDetails, TaskInput
from neve.parquet.assembly.columns import MappedIds, columns_with_ids
from neve.parquet.assembly.source import AssemblySource, SourceGroup, load_assembly_source
from neve.rows.roaring import Positions
from neve.spark.rewrite.files import TaskFiles
from neve.spark.rewrite.inputs import TaskInputs
from neve.spark.rewrite.rows.deleted import Deletes
from neve.spark.rewrite.rows.layout import RowLayout, row_layout
from neve.spark.rewrite.rows.source import LINEAGE, FileRows, OpenedSource, mapped_ids

#: Where Arrow's writers note the types that they had in memory.
ARROW_SCHEMA: Final = b"ARROW:schema"


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything that is known of the inputs before a file is written, one entry for each."""

    layout: RowLayout
    files: TaskFiles
    inputs: Sequence[TaskInput]
    deleted: Sequence[Positions]
    assembly: Sequence[AssemblySource]

    def rows(self, number: int) -> FileRows:
        """How the rows of an input are read."""
        return FileRows(self.layout, self.inputs[number])

    def open(self, number: int, dictionaries: frozenset[int] = frozenset()) -> OpenedSource:
        """An input as pyarrow reads it, some columns as dictionaries."""
        source = self.assembly[number]
        raw = source.schema.raw
        names = tuple(
            column.path[0]
            for column in columns_with_ids(raw, source.mapped_ids)
            if column.field_id in dictionaries and len(column.levels) == 1
        )
        # All that Arrow makes its schema of.
        hints = tuple(value for key, value in source.key_values if key == ARROW_SCHEMA)
        return OpenedSource(
            self.rows(number),
            self.files.local(self.inputs[number].path),
            dictionaries=names,
            schema_key=(raw, hints, names),
        )

    def open_written(self, path: str) -> OpenedSource:
        """A new file by its path here: it holds all columns, row ids too, and no delete applies."""
        return self._new(path, path)

    def open_encoded(self, data: bytes) -> OpenedSource:
        """Some columns of a new file, as they were just encoded."""
        return self._new("what was encoded", pa.BufferReader(data))

    def _new(self, path: str, opened: Any) -> OpenedSource:
        return OpenedSource(FileRows(self.layout, TaskInput(path, 0), is_new=True), opened)

    def live_rows(self, number: int) -> int:
        """Rows that are left of an input."""
        return self.inputs[number].record_count - len(self.deleted[number])

    def live_bytes(self, number: int) -> int:
        """About the bytes that are left of an input."""
        one = self.inputs[number]
        return max(1, one.size_bytes * self.live_rows(number) // max(1, one.record_count))


def load_sources(inputs: TaskInputs) -> Sources:
    """Read footers and deletes; refuses by raising where rows are not rewritten natively."""
    asked = inputs.wanted.layout
    if asked is None:
        raise RowsUnsupported("Nobody told what rows of the table look like.")
    layout, task, files = row_layout(asked), inputs.task, inputs.files
    size_bytes = sum(one.size_bytes for one in task.inputs)
    files.fetch([one.path for one in task.inputs] + _read_whole(task.deletes), size_bytes)
    deletes = Deletes(layout, task.deletes, files.local, files.read_range)
    deleted = deletes.positions(task.inputs)
    assembly = [
        _load(layout, files, one, gone) for one, gone in zip(task.inputs, deleted, strict=True)
    ]
    return Sources(layout, files, task.inputs, deleted, assembly)


def _read_whole(deletes: Sequence[DeleteDetails]) -> list[str]:
    """Vectors of many files lie in one, of which a task needs a few ranges."""
    return [one.path for one in deletes if one.kind is not DeleteKind.DELETION_VECTOR]


def _load(
    layout: RowLayout, files: TaskFiles, one: TaskInput, deleted: Positions
) -> AssemblySource:
    with files.open(one.path) as reader:
        if reader.size_bytes != one.size_bytes:
            raise ParquetError(
                f"{one.path} has {reader.size_bytes} bytes, and its manifest says {one.size_bytes}."
            )
        source = load_assembly_source(reader)
    if source.rows != one.record_count:
        raise ParquetCorrupt(
            f"{one.path} has {source.rows} rows, and its manifest says {one.record_count}."
        )
    changed = frozenset(g.ordinal for g in source.groups if _touches(g, deleted))
    ids: MappedIds = {}
    if source.schema.without_field_id:
        ids = mapped_ids(pq.read_schema(files.local(one.path)), layout)
    # Nulls among stored row ids mean that they are inherited, which a copy would change.
    return replace(source, changed=changed, mapped_ids=ids, provided=frozenset(LINEAGE))


def _touches(group: SourceGroup, deleted: Positions) -> bool:
    start, end = np.searchsorted(deleted, [group.first_row, group.first_row + group.rows])
    return bool(end > start)
