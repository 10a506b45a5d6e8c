"""The plan of a file made of the row groups of others: which bytes come from where.

Nothing inside a page, nor in a column index or a bloom filter, knows its position in the file, so
these are copied as they are. Positions are in the footer and in offset indexes; those few are
written again. The plan is data: a list of parts in the order of the new file, each a range of a
source or a few literal bytes, which any executor (a kernel copy, a stream, an object store's
server-side copy) can carry out without knowing Parquet.

    PAR1 | row groups, source by source | per row group: column indexes, offset indexes, filters
         | footer, its length, PAR1
"""

from __future__ import annotations

from collections.abc import Sequence

from neve.model.errors import ParquetUnsupported
from neve.parquet import spans, thrift
from neve.parquet.agreement import Agreement, agree, encode_key_values
from neve.parquet.chunks import MAX_BRIDGED_GAP_BYTES, RowGroup, open_chunks
from neve.parquet.footer import MAX_FOOTER_BYTES
from neve.parquet.indexes import Source
from neve.parquet.layout import EXTENSION_ID, MAGIC, MAX_ROW_GROUPS, FileMeta, Group
from neve.parquet.moves import Extent, Indexes, move_chunk, move_indexes, shift_of
from neve.parquet.plan import PartList, SourceFile, SplicePlan


def plan_splice(
    sources: Sequence[Source], *, keep_page_index: bool = True, keep_bloom_filters: bool = True
) -> SplicePlan:
    """Plan one file with the row groups of all sources, in order."""
    agreement = agree([source.footer for source in sources])
    count = sum(len(source.footer.filled_row_groups) for source in sources)
    if count > MAX_ROW_GROUPS:
        raise ParquetUnsupported(f"{count} row groups are more than a file can number.")
    parts = PartList()
    parts.write(MAGIC)
    placed = _place_data(sources, parts)
    keep = Indexes(page_index=keep_page_index, bloom_filters=keep_bloom_filters)
    groups = [
        _move_row_group(sources[index], index, group, extents, ordinal, parts, keep)
        for ordinal, (index, group, extents) in enumerate(placed)
    ]
    rows = sum(source.footer.rows for source in sources)
    finished = parts.finish(_footer(agreement, rows, groups))
    return SplicePlan(
        sources=tuple(SourceFile(s.footer.path, s.footer.size_bytes) for s in sources),
        parts=finished,
        size_bytes=parts.size_bytes,
        rows=rows,
        row_groups=count,
        split_offsets=tuple(_new_start(group, extents) for _, group, extents in placed),
        notes=agreement.notes,
    )


def _place_data(
    sources: Sequence[Source], parts: PartList
) -> list[tuple[int, RowGroup, tuple[Extent, ...]]]:
    placed = []
    for index, source in enumerate(sources):
        for group in source.footer.filled_row_groups:
            extents = tuple(
                Extent(
                    start, end, parts.copy(index, start, end - start, MAX_BRIDGED_GAP_BYTES) - start
                )
                for start, end in group.extents
            )
            placed.append((index, group, extents))
    return placed


def _new_start(group: RowGroup, extents: Sequence[Extent]) -> int:
    return group.split_offset + shift_of(group.split_offset, extents)


def _move_row_group(
    source: Source,
    source_index: int,
    group: RowGroup,
    extents: Sequence[Extent],
    ordinal: int,
    parts: PartList,
    keep: Indexes,
) -> bytes:
    opened = source.footer.open_row_group(group)
    chunks = open_chunks(opened)
    indexes = move_indexes(source, source_index, chunks, extents, parts, keep)
    columns = [thrift.encode_list_header(thrift.STRUCT, len(chunks))]
    for chunk, places in zip(chunks, indexes, strict=True):
        columns += move_chunk(chunk, extents, places)
    changes: dict[int, bytes | None] = {Group.COLUMNS: b"".join(columns)}
    if opened.has(Group.FILE_OFFSET):
        # Some writers had it wrong; what the format asks for is where the first page is.
        changes[Group.FILE_OFFSET] = thrift.encode_int(_new_start(group, extents))
    if opened.has(Group.ORDINAL):
        changes[Group.ORDINAL] = thrift.encode_int(ordinal)
    if opened.has(EXTENSION_ID):
        changes[EXTENSION_ID] = None
    return b"".join(spans.rewrite(opened, changes))


def _footer(agreement: Agreement, rows: int, groups: Sequence[bytes]) -> bytes:
    group_list = thrift.encode_list_header(thrift.STRUCT, len(groups)) + b"".join(groups)
    fields = [
        (FileMeta.VERSION, thrift.I32, thrift.encode_int(agreement.version)),
        (FileMeta.SCHEMA, thrift.LIST, agreement.raw_schema),
        (FileMeta.NUM_ROWS, thrift.I64, thrift.encode_int(rows)),
        (FileMeta.ROW_GROUPS, thrift.LIST, group_list),
        *agreement.other_fields,
    ]
    if agreement.key_values:
        pairs = encode_key_values(agreement.key_values)
        fields.append((FileMeta.KEY_VALUES, thrift.LIST, pairs))
    if agreement.created_by is not None:
        created_by = thrift.encode_binary(agreement.created_by)
        fields.append((FileMeta.CREATED_BY, thrift.BINARY, created_by))
    metadata = thrift.encode_fields(sorted(fields))
    if len(metadata) > MAX_FOOTER_BYTES:
        raise ParquetUnsupported(f"The new footer of {len(metadata)} bytes would be too long.")
    return metadata + len(metadata).to_bytes(4, "little") + MAGIC
