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
from neve.parquet.assembly.source import AssemblySource, SourceGroup
from neve.rows.arrow import arrow_field
from neve.rows.deletes import live_mask
from neve.rows.fingerprint import Fingerprint, fingerprint
from neve.rows.metrics import RowMetrics, measure, merge
from neve.rows.sameness import surely_equal
from neve.rows.schema import Field, Schema, Type
from neve.rows.streams import RowStream
from neve.rows.vectors import ROW_POSITION
from neve.spark.rewrite.rows.kept import KeptBytes
from neve.spark.rewrite.rows.source import OpenedSource
from neve.spark.rewrite.rows.sources import Sources

#: Rows are compared so many at a time, of small files together: each call has its price.
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
        self._fields = sources.layout.fields
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
        measured = sorted(set(self._fields) if has_deletes else self.decoded_ids)
        both, parts, found_rows = _Both(), [], 0
        groups = iter(written.groups)
        for group, ranges in self._groups():
            ours = next(groups, None)
            rows = sum(one.output_rows for one in ranges)
            if ours is None or ours.rows != rows:
                raise ParquetCorrupt("The new file has other row groups than were planned.")
            if verify.reads_values:
                kept.compare(group, ours)
            found_rows += ours.rows
            if not measured:
                continue
            ids = sorted(self._decoded(group)) if verify.reads_values else []
            schema = self._schema(ids)
            expected = RowStream(self._live(group, ranges, ids) if ids else ())
            for table in self._read(opened, ours, measured):
                if ids:
                    found = table.select([field.name for field in schema.fields])
                    both.add(expected.take(found.num_rows), found, schema)
                parts.append(measure(table, self._schema(measured, with_position=False)))
            both.add_missing(expected.rest(), schema)
        if next(groups, None) is not None:
            raise ParquetCorrupt("The new file has more row groups than were planned.")
        if not verify.reads_values:
            return Checked(proof_unread(verify, self._result.rows, found_rows), merge(parts))
        told = str(both.expected), str(both.found)
        proof = RowFingerprints(*told, kept.planned_bytes, kept.equal_bytes)
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

    def _read(self, opened: OpenedSource, ours: SourceGroup, ids: Sequence[int]) -> Iterator[Any]:
        first = ours.first_row
        for table in opened.rows.batches(opened.file, ours.ordinal, ids, _ROWS_AT_ONCE):
            yield _placed(table, first)
            first += table.num_rows

    def _open(self, number: int) -> OpenedSource:
        if self._opened is None or self._opened[0] != number:
            self._opened = number, self._sources.open(number)
        return self._opened[1]


def _placed(table: Any, first: int) -> Any:
    places = pa.array(np.arange(first, first + table.num_rows, dtype=np.int64))
    return table.append_column(arrow_field(_POSITION), places)


class _Both:
    """What is expected and what is found, so many rows of each at a time."""

    def __init__(self) -> None:
        self.expected, self.found = Fingerprint(), Fingerprint()

    def add(self, expected: Sequence[Any], found: Any, schema: Schema) -> None:
        """Rows that should be the same. Where their values are equal, counting them is enough."""
        at, is_same = 0, True
        for table in expected:
            is_same &= surely_equal(table, found.slice(at, table.num_rows), schema)
            at += table.num_rows
        if is_same and at == found.num_rows:
            self.expected += Fingerprint(at)
            self.found += Fingerprint(at)
            return
        self.found += fingerprint(found, schema)
        self.add_missing(expected, schema)

    def add_missing(self, expected: Iterable[Any], schema: Schema) -> None:
        """Rows that were not found, or not as they should be."""
        for table in expected:
            self.expected += fingerprint(table, schema)
