"""The footer of a new file."""

from __future__ import annotations

from collections.abc import Sequence

from neve.model.errors import ParquetUnsupported
from neve.parquet import thrift
from neve.parquet.agreement import encode_key_values
from neve.parquet.footer import MAX_FOOTER_BYTES
from neve.parquet.layout import MAGIC, Chunk, FileMeta, Group

_VERSION = 2
#: ColumnOrder with its only choice, the order that the type defines.
_TYPE_ORDER = thrift.encode_fields([(1, thrift.STRUCT, b"\0")])


def encode_chunk(meta: bytes, indexes: Sequence[tuple[int, int] | None]) -> bytes:
    """A ColumnChunk; `indexes` are place and length of the offset and of the column index."""
    # Where the metadata has no copy behind the pages, the format asks for 0.
    fields = [
        (Chunk.FILE_OFFSET, thrift.I64, thrift.encode_int(0)),
        (Chunk.META, thrift.STRUCT, meta),
    ]
    ids = (Chunk.OFFSET_INDEX_OFFSET, Chunk.COLUMN_INDEX_OFFSET)
    for field_id, index in zip(ids, indexes, strict=False):
        if index is not None:
            fields.append((field_id, thrift.I64, thrift.encode_int(index[0])))
            fields.append((field_id + 1, thrift.I32, thrift.encode_int(index[1])))
    return thrift.encode_fields(fields)


def encode_row_group(
    chunks: Sequence[bytes], rows: int, uncompressed_bytes: int, start: int, length: int
) -> bytes:
    """A RowGroup whose pages begin at `start`."""
    columns = thrift.encode_list_header(thrift.STRUCT, len(chunks)) + b"".join(chunks)
    return thrift.encode_fields(
        [
            (Group.COLUMNS, thrift.LIST, columns),
            (Group.TOTAL_BYTE_SIZE, thrift.I64, thrift.encode_int(uncompressed_bytes)),
            (Group.NUM_ROWS, thrift.I64, thrift.encode_int(rows)),
            (Group.FILE_OFFSET, thrift.I64, thrift.encode_int(start)),
            (Group.COMPRESSED_SIZE, thrift.I64, thrift.encode_int(length)),
        ]
    )


def encode_footer(
    raw_schema: bytes,
    columns: int,
    rows: int,
    row_groups: Sequence[bytes],
    key_values: Sequence[tuple[bytes, bytes | None]],
    created_by: bytes,
) -> bytes:
    """The footer with its length and the closing magic."""
    groups = thrift.encode_list_header(thrift.STRUCT, len(row_groups)) + b"".join(row_groups)
    orders = thrift.encode_list_header(thrift.STRUCT, columns) + _TYPE_ORDER * columns
    fields = [
        (FileMeta.VERSION, thrift.I32, thrift.encode_int(_VERSION)),
        (FileMeta.SCHEMA, thrift.LIST, raw_schema),
        (FileMeta.NUM_ROWS, thrift.I64, thrift.encode_int(rows)),
        (FileMeta.ROW_GROUPS, thrift.LIST, groups),
        (FileMeta.KEY_VALUES, thrift.LIST, encode_key_values(key_values)),
        (FileMeta.CREATED_BY, thrift.BINARY, thrift.encode_binary(created_by)),
        (FileMeta.COLUMN_ORDERS, thrift.LIST, orders),
    ]
    metadata = thrift.encode_fields(fields)
    if len(metadata) > MAX_FOOTER_BYTES:
        raise ParquetUnsupported(f"The new footer of {len(metadata)} bytes would be too long.")
    return metadata + len(metadata).to_bytes(4, "little") + MAGIC
