"""A new file against its sources: kept pages byte by byte, everything else by its values.

What is expected is told by the plan and by a plain read of the sources, and what is there by the
new file alone: its footer, its bytes, its values. How it was made does not enter into either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from neve.model.errors import ParquetCorrupt
from neve.model.policy import Verify
from neve.model.rewrite import FileProof, RowFingerprints, proof_unread
from neve.parquet.assembly.plan import AssemblyPlan, PlannedGroup
from neve.parquet.assembly.result import AssemblyResult, SourceRange
from neve.parquet.assembly.source import AssemblySource
from neve.rows.arrow import arrow_field
from neve.rows.deletes import live_mask
from neve.rows.fingerprint import Fingerprint, fingerprint
from neve.rows.metrics import RowMetrics, measure, merge
from neve.rows.schema import Field, Schema, Type
from neve.rows.vectors import ROW_POSITION
from neve.spark.rewrite.rows.kept import KeptBytes
from neve.spark.rewrite.rows.source import OpenedSource
from neve.spark.rewrite.rows.sources import Sources

#: Rows of small files are hashed together: each call has its price.
_ROWS_AT_ONCE: Final = 128 * 1024
#: Values are hashed with their place, so that they cannot change places with each other.
_POSITION: Final = Field(ROW_POSITION, "_pos", True, Type("long"))


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found."""

    proof: FileProof
    #: Of the columns that were read.
    metrics: RowMetrics


class FileCheck:
    """Holds one new file against the inputs of its share."""

    def __init__(
        self, sources: Sources, share: Sequence[int], plan: AssemblyPlan, result: AssemblyResult
    ) -> None:
        self._sources, self._share, self._plan, self._result = sources, share, plan, result
        self._fields = {field.id: field for field in sources.layout.stored.fields}
        self._opened: tuple[int, OpenedSource] | None = None

    @property
    def decoded_ids(self) -> set[int]:
        """Top-level columns of which something was encoded, in any row group."""
        return {id_ for group in self._plan.groups for id_ in self._decoded(group)}

    def run(
        self, written: AssemblySource, opened: OpenedSource, kept: KeptBytes, verify: Verify
    ) -> Checked:
        """Compare; a file whose footer is not that of the plan is corrupt.

        Where values are not to be compared, the new file alone is read, for its statistics.
        """
        has_deletes = any(len(self._sources.deleted[number]) for number in self._share)
        measured = set(self._fields) if has_deletes else self.decoded_ids
        expected, found, parts, found_rows = Fingerprint(), Fingerprint(), [], 0
        groups = iter(written.groups)
        for group, ranges in self._groups():
            ours = next(groups, None)
            rows = sum(one.output_rows for one in ranges)
            if ours is None or ours.rows != rows:
                raise ParquetCorrupt("The new file has other row groups than were planned.")
            if verify.reads_values:
                kept.compare(group, ours)
            found_rows += ours.rows
            ids = sorted(self._decoded(group)) if verify.reads_values else []
            if ids:
                expected += _sum(self._live(group, ranges, ids), self._schema(ids))
            for table in self._read(opened, ours.ordinal, ours.first_row, measured):
                if ids:
                    names = [self._fields[id_].name for id_ in ids]
                    found += _sum([table.select([*names, _POSITION.name])], self._schema(ids))
                parts.append(measure(table, self._schema(sorted(measured), with_position=False)))
        if next(groups, None) is not None:
            raise ParquetCorrupt("The new file has more row groups than were planned.")
        if not verify.reads_values:
            return Checked(proof_unread(verify, self._result.rows, found_rows), merge(parts))
        proof = RowFingerprints(str(expected), str(found), kept.planned_bytes, kept.equal_bytes)
        return Checked(proof, merge(parts))

    def _groups(self) -> Iterator[tuple[PlannedGroup, list[SourceRange]]]:
        """Row groups that have rows, with the account of where those come from."""
        ranges = iter(self._result.ranges)
        for group in self._plan.groups:
            own = [next(ranges) for _ in group.parts]
            if sum(one.output_rows for one in own):
                yield group, own

    def _decoded(self, group: PlannedGroup) -> set[int]:
        wanted = self._plan.wanted
        leaves = zip(wanted.columns, group.chunks, strict=True)
        tops = {column.top for column, planned in leaves if planned.encoded}
        return {wanted.top_field_ids[top] for top in tops}

    def _schema(self, ids: Sequence[int], *, with_position: bool = True) -> Schema:
        fields = tuple(self._fields[id_] for id_ in ids)
        return Schema((*fields, _POSITION) if with_position else fields)

    def _live(
        self, group: PlannedGroup, ranges: Sequence[SourceRange], ids: Sequence[int]
    ) -> Iterator[Any]:
        """What readers see of the sources, with the places that it should have now."""
        for part, one in zip(group.parts, ranges, strict=True):
            number = self._share[part.source]
            source = self._open(number)
            table = source.rows.columns(source.file, part.group.ordinal, one.first_row, ids)
            deleted = self._sources.deleted[number]
            if len(deleted):
                table = table.filter(pa.array(live_mask(deleted, one.first_row, one.rows)))
            yield _placed(table, one.first_output_row)

    def _read(
        self, opened: OpenedSource, ordinal: int, first_row: int, ids: Iterable[int]
    ) -> Iterator[Any]:
        chosen = sorted(ids)
        if chosen:
            table = opened.rows.columns(opened.file, ordinal, first_row, chosen)
            yield _placed(table, first_row)

    def _open(self, number: int) -> OpenedSource:
        if self._opened is None or self._opened[0] != number:
            self._opened = number, self._sources.open(number)
        return self._opened[1]


def _placed(table: Any, first: int) -> Any:
    places = pa.array(np.arange(first, first + table.num_rows, dtype=np.int64))
    return table.append_column(arrow_field(_POSITION), places)


def _sum(tables: Iterable[Any], schema: Schema) -> Fingerprint:
    total = Fingerprint()
    for table in _batched(tables):
        total += fingerprint(table, schema)
    return total


def _batched(tables: Iterable[Any]) -> Iterator[Any]:
    waiting: list[Any] = []
    rows = 0
    for table in tables:
        if waiting and (rows >= _ROWS_AT_ONCE or table.schema != waiting[0].schema):
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, rows = [], 0
        waiting.append(table)
        rows += table.num_rows
    if len(waiting) == 1:
        yield waiting[0]
    elif waiting:
        yield pa.concat_tables(waiting).combine_chunks()
