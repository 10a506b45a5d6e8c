"""The values of what is encoded in one output row group, as Arrow has them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet.assembly.columns import Column
from neve.parquet.assembly.gather import gather
from neve.parquet.assembly.pieces import Piece
from neve.parquet.assembly.plan import PlannedGroup
from neve.parquet.assembly.provide import ColumnProvider, SourceRows
from neve.parquet.assembly.wanted import WantedSchema


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """Values of some parts behind each other, and where each begins."""

    places: Mapping[int, int]
    values: Any


class GroupValues:
    """Some top-level columns of a row group, gathered from the sources or provided."""

    def __init__(
        self,
        group: PlannedGroup,
        wanted: WantedSchema,
        provider: ColumnProvider,
        source_rows: Callable[[int], SourceRows],
        piece: Callable[[int, int], Piece],
        needed: Mapping[int, Set[int]],
    ) -> None:
        """`needed` are the columns, each with the parts of which values are needed."""
        self._group = group
        self._wanted = wanted
        self._provider = provider
        self._source_rows = source_rows
        self._piece = piece
        #: Rows of every part in the new file.
        self.rows = [part.rows for part in group.parts]
        #: For each top-level column the stretch of values that each part lies in.
        self._stretches: dict[int, dict[int, _Stretch]] = defaultdict(dict)
        self._provide(needed)
        self._gather(needed)

    def table(self, run: tuple[int, int], tops: Sequence[int]) -> Any:
        """The columns of a stretch of parts, in the wanted types or as dictionaries of them."""
        columns = [self._column(top, run) for top in tops]
        fields = [
            self._wanted.arrow.field(top).with_type(column.type)
            for top, column in zip(tops, columns, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    def _provide(self, needed: Mapping[int, Set[int]]) -> None:
        wants = {}
        for number in range(len(self._group.parts)):
            own = [top for top, parts in needed.items() if number in parts]
            own = [top for top in own if number in self._group.provided[top]]
            if own:
                wants[number] = tuple(own)
        for parts in self._calls(wants):
            self._ask(parts, wants[parts[0]])

    def _calls(self, wants: dict[int, tuple[int, ...]]) -> Iterator[list[int]]:
        """Parts that are asked for together: neighbours that want the same and are unchanged."""
        call: list[int] = []
        for number, tops in wants.items():
            alone = self._group.parts[number].changed
            if call and (
                alone
                or number != call[-1] + 1
                or tops != wants[call[0]]
                or self._group.parts[call[0]].changed
            ):
                yield call
                call = []
            call.append(number)
        if call:
            yield call

    def _ask(self, parts: Sequence[int], tops: Sequence[int]) -> None:
        ids = [self._wanted.top_field_ids[top] for top in tops]
        asked = [self._source_rows(number) for number in parts]
        try:
            table = self._provider.columns(asked, ids)
        except (pa.ArrowException, OSError) as error:
            raise ParquetCorrupt(f"{asked[0].path} cannot be decoded: {error}.") from error
        rows = sum(part.rows for part in asked)
        removed = rows - table.num_rows
        if table.num_columns != len(tops) or removed < 0 or (removed and not asked[0].changed):
            raise ParquetCorrupt(
                f"{table.num_rows} rows were provided where {asked[0].path} has {rows}."
            )
        if asked[0].changed:
            self.rows[parts[0]] = table.num_rows
        self._keep(parts, tops, table.columns)

    def _gather(self, needed: Mapping[int, Set[int]]) -> None:
        tops_of: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for top, parts in needed.items():
            tops_of[tuple(sorted(parts - self._group.provided[top]))].append(top)
        for own, alike in tops_of.items():
            if not own:
                continue
            leaves = leaves_of(self._wanted, alike)
            pieces = [[self._piece(number, leaf.index) for leaf in leaves] for number in own]
            keep = {leaf.name for leaf in leaves if self._group.chunks[leaf.index].dictionary}
            table = gather(pieces, self._wanted.part(tuple(alike)), leaves, keep)
            self._keep(own, alike, table.columns)

    def _keep(self, parts: Sequence[int], tops: Sequence[int], columns: Sequence[Any]) -> None:
        starts = accumulate((self.rows[number] for number in parts), initial=0)
        places = dict(zip(parts, starts, strict=False))
        for top, column in zip(tops, columns, strict=True):
            self._stretches[top].update(dict.fromkeys(parts, _Stretch(places, column)))

    def _column(self, top: int, run: tuple[int, int]) -> Any:
        chunks: list[Any] = []
        stretches = self._stretches[top]
        number = run[0]
        while number < run[1]:
            stretch = stretches[number]
            start, rows = stretch.places[number], 0
            while number < run[1] and stretches[number] is stretch:
                rows += self.rows[number]
                number += 1
            chunks += stretch.values.slice(start, rows).chunks
        return _as_one_type(chunks, self._wanted.arrow.field(top))


def _as_one_type(chunks: list[Any], field: Any) -> Any:
    types = {chunk.type for chunk in chunks}
    try:
        if len(types) == 1 and pa.types.is_dictionary(chunks[0].type):
            return pa.chunked_array(chunks).unify_dictionaries()
        return pa.chunked_array([_cast(chunk, field.type) for chunk in chunks], type=field.type)
    except (pa.ArrowException, NotImplementedError) as error:
        raise ParquetUnsupported(
            f"Column {field.name} is not of the wanted type: {error}."
        ) from error


def _cast(chunk: Any, wanted: Any) -> Any:
    if pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    return chunk if chunk.type == wanted else chunk.cast(wanted)


def leaves_of(wanted: WantedSchema, tops: Sequence[int]) -> list[Column]:
    """The leaves of some top-level columns, in order."""
    return [column for column in wanted.columns if column.top in tops]
