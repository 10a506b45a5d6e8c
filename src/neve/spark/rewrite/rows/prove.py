"""A new file against its sources: all pages byte by byte, and what was encoded by its values.

What was encoded is read back at once, while the values of its sources are still in memory, and
held against a plain read of them: how the file is assembled does not enter into it. Its pages are
known by their digests from then on, and looked for in the file where its footer says they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import numpy as np

from neve.model.errors import ParquetCorrupt
from neve.model.policy import Verify
from neve.model.rewrite import FileProof, RowFingerprints, proof_unread
from neve.parquet.assembly.plan import AssemblyPlan, Part
from neve.parquet.assembly.result import AssemblyResult, SourceRange
from neve.parquet.assembly.row_group import EncodedRuns
from neve.parquet.assembly.source import AssemblySource, SourceGroup
from neve.parquet.assembly.tables import leaves_of
from neve.rows.metrics import RowMetrics, measure, measured_leaves, merge
from neve.rows.schema import Schema
from neve.rows.streams import RowStream
from neve.spark.rewrite.rows.as_read import read_as
from neve.spark.rewrite.rows.compared import Compared
from neve.spark.rewrite.rows.kept import EncodedChunk, KeptBytes, digest_of
from neve.spark.rewrite.rows.provider import LiveReads
from neve.spark.rewrite.rows.source import OpenedSource
from neve.spark.rewrite.rows.sources import Sources
from neve.spark.rewrite.rows.told import told_by_footer

#: Rows are compared so many at a time, of small files together: each call has its price.
_ROWS_AT_ONCE: Final = 128 * 1024


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found."""

    proof: FileProof
    #: Of the columns that were read.
    metrics: RowMetrics


class FileCheck:
    """Holds one new file against the inputs of its share, while it is made and afterwards."""

    def __init__(
        self,
        sources: Sources,
        share: Sequence[int],
        plan: AssemblyPlan,
        reads: LiveReads,
        verify: Verify,
    ) -> None:
        self._sources, self._share, self._plan = sources, share, plan
        self._reads, self._verify = reads, verify
        self._fields = sources.layout.fields
        self._columns = {column.field_id: column for column in plan.wanted.columns}
        self._ranges = [list(each) for each in self._expected_ranges()]
        self._both = Compared()
        self._encoded: list[dict[tuple[int, int], EncodedChunk]] = [{} for _ in plan.groups]
        self._measured: list[set[int]] = [set() for _ in plan.groups]
        self._metrics: list[RowMetrics] = []

    @property
    def decoded_ids(self) -> set[int]:
        """Top-level columns of which something was encoded, in any row group."""
        wanted = self._plan.wanted
        return {
            wanted.top_field_ids[column.top]
            for group in self._plan.groups
            for column, planned in zip(wanted.columns, group.chunks, strict=True)
            if planned.encoded
        }

    def saw(self, encoded: EncodedRuns) -> None:
        """Read back what was encoded, and hold it against the sources."""
        ids = [self._plan.wanted.top_field_ids[top] for top in encoded.tops]
        opened = self._sources.open_encoded(encoded.data)
        parts = self._plan.groups[encoded.group].parts
        for ordinal, run in enumerate(encoded.runs):
            self._compare(opened, ordinal, encoded.group, run, ids)
            self._reads.let_go(parts[slice(*run)], ids)
        if not self._verify.reads_values:
            return
        known, data = self._encoded[encoded.group], memoryview(encoded.data)
        leaves = [leaf.index for leaf in leaves_of(self._plan.wanted, encoded.tops)]
        for ordinal, (run, chunks) in enumerate(zip(encoded.runs, encoded.chunks, strict=True)):
            for leaf, chunk in chunks.items():
                start, as_read = read_as(opened.file.metadata, ordinal, leaves.index(leaf))
                if (start, as_read.length) != (chunk.start, chunk.length):
                    raise ParquetCorrupt("Arrow finds what it has encoded in another place.")
                digest = digest_of(data[chunk.start : chunk.end])
                known[leaf, run[0]] = EncodedChunk(chunk, digest, as_read)

    def finish(
        self,
        result: AssemblyResult,
        written: AssemblySource,
        footer: bytes,
        opened: OpenedSource,
        kept: KeptBytes,
    ) -> Checked:
        """Compare the whole file; one whose footer is not that of the plan is corrupt.

        Where values are not to be compared, the new file alone is read, for its statistics.
        `footer` is that of the new file, encoded.
        """
        if [one for group in self._ranges for one in group] != list(result.ranges):
            raise ParquetCorrupt("The new file accounts for its rows in another way than planned.")
        has_deletes = any(len(self._sources.deleted[number]) for number in self._share)
        measured = sorted(set(self._fields) if has_deletes else self.decoded_ids)
        groups, found_rows = iter(written.groups), 0
        for number, group in enumerate(self._plan.groups):
            rows = sum(one.output_rows for one in self._ranges[number])
            if not rows:
                continue
            ours = next(groups, None)
            if ours is None or ours.rows != rows:
                raise ParquetCorrupt("The new file has other row groups than were planned.")
            if self._verify.reads_values:
                metadata = opened.file.metadata
                mixed = kept.compare(group, ours, self._encoded[number], metadata)
                self._compare_mixed(opened, ours.ordinal, number, mixed)
            found_rows += ours.rows
            left = [id_ for id_ in measured if not self._is_told(number, id_, footer, ours)]
            for table in self._read(opened, ours.ordinal, left):
                self._metrics.append(measure(table, self._schema(left)))
        if next(groups, None) is not None:
            raise ParquetCorrupt("The new file has more row groups than were planned.")
        return Checked(self._proof(kept, found_rows), merge(self._metrics))

    def _is_told(self, number: int, id_: int, footer: bytes, ours: SourceGroup) -> bool:
        """Whether statistics of a column of a row group are known without reading it again."""
        if id_ in self._measured[number]:
            return True
        leaves = [
            (self._columns[path[-1].id], path[-1]) for path in measured_leaves([self._fields[id_]])
        ]
        told = told_by_footer(footer, ours, leaves)
        if told is not None:
            self._metrics.append(told)
        return told is not None

    def _proof(self, kept: KeptBytes, found_rows: int) -> FileProof:
        if not self._verify.reads_values:
            planned = sum(one.output_rows for group in self._ranges for one in group)
            return proof_unread(self._verify, planned, found_rows)
        told = str(self._both.expected), str(self._both.found)
        return RowFingerprints(*told, kept.planned_bytes, kept.equal_bytes)

    def _compare(
        self,
        opened: OpenedSource,
        ordinal: int,
        number: int,
        run: tuple[int, int],
        ids: Sequence[int],
    ) -> None:
        """One stretch; its statistics are those of the row group where it is all of it."""
        group, schema = self._plan.groups[number], self._schema(ids)
        expected = RowStream(map(self._live(ids), group.parts[slice(*run)]))
        place = self._ranges[number][run[0]].first_output_row
        is_whole = run == (0, len(group.parts))
        new = [id_ for id_ in ids if is_whole and id_ not in self._measured[number]]
        for table in self._read(opened, ordinal, ids):
            if self._verify.reads_values:
                self._both.add(expected.take(table.num_rows), table, schema, place)
            place += table.num_rows
            if new:
                self._metrics.append(measure(table, self._schema(new)))
        self._measured[number].update(new)
        if self._verify.reads_values:
            self._both.add_missing(expected.rest(), schema, place)

    def _compare_mixed(
        self, opened: OpenedSource, ordinal: int, number: int, leaves: set[int]
    ) -> None:
        """Chunks of pages of several kinds, as a reader of the file has them."""
        wanted, parts = self._plan.wanted, self._plan.groups[number].parts
        # One column at a time: its values of all parts are in memory.
        for top in sorted({wanted.columns[leaf].top for leaf in leaves}):
            ids = [wanted.top_field_ids[top]]
            self._compare(opened, ordinal, number, (0, len(parts)), ids)
            self._reads.let_go(parts, ids)

    def _live(self, ids: Sequence[int]) -> Any:
        """What readers see of a part of a row group."""

        def read(part: Part) -> Any:
            group = part.group
            return self._reads.rows(part.source, group.ordinal, group.first_row, group.rows, ids)

        return read

    def _read(self, opened: OpenedSource, ordinal: int, ids: Sequence[int]) -> Iterator[Any]:
        if ids:
            yield from opened.rows.batches(opened, ordinal, ids, _ROWS_AT_ONCE)

    def _schema(self, ids: Sequence[int]) -> Schema:
        return Schema(tuple(self._fields[id_] for id_ in ids))

    def _expected_ranges(self) -> Iterator[Iterator[SourceRange]]:
        """For every row group where its rows should come from, and where they should be."""
        place = 0
        for group in self._plan.groups:
            rows = [self._live_rows(part) for part in group.parts]
            places = accumulate(rows, initial=place)
            place += sum(rows)
            yield (
                SourceRange(
                    self._plan.inputs[part.source].path, part.group.first_row, part.rows, at, count
                )
                for part, at, count in zip(group.parts, places, rows, strict=False)
            )

    def _live_rows(self, part: Part) -> int:
        deleted, first = self._sources.deleted[self._share[part.source]], part.group.first_row
        start, end = np.searchsorted(deleted, [first, first + part.rows])
        return part.rows - int(end - start)
