"""What becomes of every column chunk, decided from footers alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet.assembly.columns import Column, by_field_id, columns_with_ids
from neve.parquet.assembly.grouping import group_parts
from neve.parquet.assembly.plan import (
    AssemblyLimits,
    AssemblyPlan,
    Kind,
    Part,
    PlannedChunk,
    PlannedGroup,
)
from neve.parquet.assembly.source import (
    DELTA_BYTE_ARRAY,
    AssemblySource,
    SourceChunk,
    SourceGroup,
    is_known_encoding,
)
from neve.parquet.assembly.wanted import WantedSchema
from neve.parquet.codecs import ARROW_CODECS, codec_number
from neve.parquet.layout import MAX_ROW_GROUPS, Physical


def plan_assembly(
    sources: Sequence[AssemblySource], wanted: WantedSchema, limits: AssemblyLimits
) -> AssemblyPlan:
    """Plan one file with the rows of all sources; raises ParquetUnsupported where none can be."""
    if limits.needs_bloom_filters:
        raise ParquetUnsupported("The table wants bloom filters, which are not assembled.")
    matches: dict[object, _Match] = {}
    parts = []
    for index, source in enumerate(sources):
        key = (source.schema.raw, tuple(source.mapped_ids.items()), source.provided)
        if key not in matches:
            matches[key] = _match(source, wanted)
        for group in source.groups:
            parts.append(_part(index, source, group, matches[key], wanted))
    usual = _usual_codec(sources) if limits.only_codec is None else codec_number(limits.only_codec)
    groups = [
        _plan_group(group, sources, wanted, limits, usual) for group in group_parts(parts, limits)
    ]
    if len(groups) > MAX_ROW_GROUPS:
        raise ParquetUnsupported(f"{len(groups)} row groups are more than a file can number.")
    return AssemblyPlan(wanted, tuple(sources), tuple(groups))


@dataclass(frozen=True, slots=True)
class _Match:
    """Where a file keeps the wanted columns."""

    #: For every wanted leaf the number of the source's leaf, if its values are as wanted.
    leaves: tuple[int | None, ...]
    left_out: tuple[int, ...]


def _match(source: AssemblySource, wanted: WantedSchema) -> _Match:
    without_id = source.schema.without_field_id
    if without_id and not source.mapped_ids:
        raise ParquetUnsupported(f"{source.path}: column {without_id[0]} has no field id.")
    columns = columns_with_ids(source.schema.raw, source.mapped_ids)
    found = by_field_id(columns, source.path)
    leaves: list[int | None] = []
    for column in wanted.columns:
        there = found.pop(column.field_id or 0, None)
        if there is not None and there.value.physical == Physical.INT96:
            raise ParquetUnsupported(f"{source.path} keeps {there.name} in INT96.")
        same = there is not None and _same(there, column) and column.field_id not in source.provided
        leaves.append(there.index if there is not None and same else None)
    known = {column.field_id for column in wanted.columns}
    left_out = [column.index for column in columns if column.field_id not in known]
    return _Match(tuple(leaves), tuple(left_out))


def _same(source: Column, wanted: Column) -> bool:
    return source.levels == wanted.levels and wanted.value.holds(source.value)


def _part(
    index: int, source: AssemblySource, group: SourceGroup, match: _Match, wanted: WantedSchema
) -> Part:
    chunks = tuple(None if leaf is None else group.chunks[leaf] for leaf in match.leaves)
    for column, chunk in zip(wanted.columns, chunks, strict=True):
        if chunk is None:
            continue
        counted = chunk.values == group.rows
        if not counted and (column.max_repetition_level == 0 or chunk.values < group.rows):
            raise ParquetCorrupt(
                f"{source.path}: column {column.name} has {chunk.values} values in "
                f"{group.rows} rows."
            )
    return Part(
        source=index,
        group=group,
        changed=group.ordinal in source.changed,
        chunks=chunks,
        left_out_bytes=sum(group.chunks[leaf].length for leaf in match.left_out),
    )


def _plan_group(
    parts: tuple[Part, ...],
    sources: Sequence[AssemblySource],
    wanted: WantedSchema,
    limits: AssemblyLimits,
    usual_codec: int | None,
) -> PlannedGroup:
    chunks = tuple(
        _plan_chunk(parts, sources, column, limits, usual_codec) for column in wanted.columns
    )
    provided: list[set[int]] = [set() for _ in wanted.arrow]
    for column in wanted.columns:
        provided[column.top].update(
            number
            for number, part in enumerate(parts)
            if limits.values_are_provided or part.changed or part.chunks[column.index] is None
        )
    return PlannedGroup(parts, chunks, tuple(frozenset(numbers) for numbers in provided))


def _plan_chunk(
    parts: Sequence[Part],
    sources: Sequence[AssemblySource],
    column: Column,
    limits: AssemblyLimits,
    usual_codec: int | None,
) -> PlannedChunk:
    chunks = [None if part.changed else part.chunks[column.index] for part in parts]
    dictionary = _prefers_dictionary(parts, column)
    everything = ((0, len(parts)),)
    only = codec_number(limits.only_codec) if limits.only_codec else None
    if len(parts) == 1:
        why = _why_not_copied(parts[0], column, only)
        if why is None:
            return PlannedChunk(Kind.COPIED, "as it is in one source")
        return PlannedChunk(Kind.ENCODED, why, everything, usual_codec, dictionary)
    codec = _common_codec(chunks) if only is None else only
    kept = [
        chunk is not None and _can_join(chunk, column, codec, sources[part.source])
        for part, chunk in zip(parts, chunks, strict=True)
    ]
    why = _why_not_joined(parts, column, kept, limits)
    if why is not None:
        return PlannedChunk(Kind.ENCODED, why, everything, usual_codec, dictionary)
    runs = _runs(kept)
    if runs and codec not in ARROW_CODECS:
        return PlannedChunk(
            Kind.ENCODED, "nothing is written with its codec", everything, usual_codec
        )
    reason = "pages without a dictionary" if not runs else "pages, and what had to be encoded"
    return PlannedChunk(Kind.JOINED, reason, runs, codec)


def _why_not_copied(part: Part, column: Column, only_codec: int | None) -> str | None:
    chunk = part.chunks[column.index]
    if part.changed:
        return "rows of it are removed or changed"
    if chunk is None:
        return "no source has it as wanted"
    if only_codec is not None and chunk.codec != only_codec:
        return "the table wants another codec"
    return None


def _can_join(
    chunk: SourceChunk, column: Column, codec: int | None, source: AssemblySource
) -> bool:
    if chunk.has_dictionary or chunk.codec != codec:
        return False
    if not all(is_known_encoding(encoding) for encoding in chunk.encodings):
        return False
    if DELTA_BYTE_ARRAY in chunk.encodings and not source.prefixes_right:
        return False
    # Rows of nested columns are counted in their levels, which are compressed with the values.
    return column.max_repetition_level == 0 or chunk.codec in ARROW_CODECS


def _why_not_joined(
    parts: Sequence[Part], column: Column, kept: Sequence[bool], limits: AssemblyLimits
) -> str | None:
    rows = sum(part.rows for part in parts)
    joined = [part for part, keep in zip(parts, kept, strict=True) if keep]
    losing = sum(
        part.rows
        for part, keep in zip(parts, kept, strict=True)
        if not keep and _gains_by_dictionary(part, column)
    )
    if not joined:
        return "no two sources share a dictionary or have pages without one"
    if losing > rows * limits.max_plain_share:
        return "its dictionaries differ"
    taken = [chunk for part in joined if (chunk := part.chunks[column.index]) is not None]
    # What is encoded between joined pages becomes a page, too.
    pages = sum(chunk.data_pages or 1 for chunk in taken) + len(_runs(kept))
    if sum(chunk.length for chunk in taken) < pages * limits.min_page_bytes:
        return f"its pages are smaller than {limits.min_page_bytes} bytes"
    return None


def _gains_by_dictionary(part: Part, column: Column) -> bool:
    chunk = part.chunks[column.index]
    return chunk is not None and chunk.dictionary_pays


def _prefers_dictionary(parts: Sequence[Part], column: Column) -> bool:
    """Whether most rows gain by a dictionary; a column that is new mostly has one value."""
    wanting = sum(
        part.rows
        for part in parts
        if part.chunks[column.index] is None or _gains_by_dictionary(part, column)
    )
    return 2 * wanting >= sum(part.rows for part in parts)


def _common_codec(chunks: Sequence[SourceChunk | None]) -> int | None:
    """The codec of most bytes: pages of one chunk share theirs."""
    return _codec_of_most(chunk for chunk in chunks if chunk and not chunk.has_dictionary)


def _usual_codec(sources: Sequence[AssemblySource]) -> int | None:
    """That of most bytes, which the table did not ask to change; None where nobody writes it."""
    codec = _codec_of_most(
        chunk for source in sources for group in source.groups for chunk in group.chunks
    )
    return codec if codec in ARROW_CODECS else None


def _codec_of_most(chunks: Iterable[SourceChunk]) -> int | None:
    sizes: Counter[int] = Counter()
    for chunk in chunks:
        sizes[chunk.codec] += chunk.length
    best = sizes.most_common(1)
    return best[0][0] if best else None


def _runs(kept: Sequence[bool]) -> tuple[tuple[int, int], ...]:
    """The stretches of parts that are not kept."""
    runs: list[tuple[int, int]] = []
    for number, keep in enumerate(kept):
        if keep:
            continue
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return tuple(runs)
