"""Column chunks as Arrow understands a footer: what decides which values their bytes are.

Neve's own parser finds the bytes that are digested and copied. Whether a reader finds the same
ones, and takes them for the same values, is asked of another parser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ChunkAsRead:
    """All that a reader needs to know of a chunk but where it starts."""

    length: int
    #: Counted from the start of the chunk.
    data_offset: int
    dictionary_offset: int | None
    values: int
    uncompressed_bytes: int
    codec: str
    encodings: frozenset[str]
    #: Physical and logical type, with what belongs to them, and both numbers of levels.
    column: tuple[Any, ...]


def read_as(metadata: Any, group: int, leaf: int) -> tuple[int, ChunkAsRead]:
    """Where a chunk starts and what it is, by a pyarrow.parquet.FileMetaData."""
    chunk, column = metadata.row_group(group).column(leaf), metadata.schema.column(leaf)
    start = chunk.data_page_offset
    dictionary = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
    if dictionary is not None:
        start = min(start, dictionary)
    return start, ChunkAsRead(
        chunk.total_compressed_size,
        chunk.data_page_offset - start,
        None if dictionary is None else dictionary - start,
        chunk.num_values,
        chunk.total_uncompressed_size,
        chunk.compression,
        frozenset(chunk.encodings),
        (
            column.physical_type,
            str(column.logical_type),
            column.length,
            column.precision,
            column.scale,
            column.max_definition_level,
            column.max_repetition_level,
        ),
    )
