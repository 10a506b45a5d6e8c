"""Row groups in several pieces: bytes between chunks are skipped, or taken along if few."""

from __future__ import annotations

import pyarrow as pa
import pytest

from neve.parquet import spans, thrift
from neve.parquet.chunks import MAX_BRIDGED_GAP_BYTES
from neve.parquet.footer import read_footer
from neve.parquet.layout import Chunk, FileMeta, Group, Meta
from neve.parquet.plan import CopyRange, PartList
from neve.parquet.splice import plan_splice
from neve.storage.readers import MemoryReader

SHAPE = {FileMeta.ROW_GROUPS: spans.Each({Group.COLUMNS: spans.Each({Chunk.META: spans.FLAT})})}
TABLE = pa.table({"a": [1, 2], "b": ["x", "y"]})
PAGE_OFFSETS = (Meta.DATA_PAGE_OFFSET, Meta.DICTIONARY_PAGE_OFFSET)


def push_second_column(data: bytes, gap: int) -> bytes:
    """The same file with `gap` bytes of something else before its second column."""
    footer = read_footer(MemoryReader(data))
    opened = spans.open_struct(footer.opened.data, 0, SHAPE)
    group = opened.children[FileMeta.ROW_GROUPS][0]
    first, second = group.children[Group.COLUMNS]
    meta = second.child(Chunk.META)
    cut = min(meta.integer(field_id) for field_id in PAGE_OFFSETS)
    changes = {
        field_id: thrift.encode_int(meta.integer(field_id) + gap) for field_id in PAGE_OFFSETS
    }
    columns = [
        thrift.encode_list_header(thrift.STRUCT, 2),
        opened.data[first.start : first.end],
        *spans.rewrite(second, {Chunk.META: b"".join(spans.rewrite(meta, changes))}),
    ]
    one = thrift.encode_list_header(thrift.STRUCT, 1)
    groups = one + b"".join(spans.rewrite(group, {Group.COLUMNS: b"".join(columns)}))
    encoded = b"".join(spans.rewrite(opened, {FileMeta.ROW_GROUPS: groups}))
    body = data[:cut] + b"?" * gap + data[cut : footer.footer_start]
    return body + encoded + len(encoded).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize("gap", [1, MAX_BRIDGED_GAP_BYTES, MAX_BRIDGED_GAP_BYTES + 1, 100_000])
def test_columns_apart_come_together(write, read, load, splice, gap: int) -> None:
    data = push_second_column(write(TABLE), gap)
    assert read(data).equals(TABLE)
    plan = plan_splice([load(data), load(data)])
    copies = [part for part in plan.parts if isinstance(part, CopyRange)]

    bridged = gap <= MAX_BRIDGED_GAP_BYTES
    assert len(copies) == (2 if bridged else 4)
    assert read(splice(data, data)).equals(pa.concat_tables([TABLE, TABLE]))


def test_neighbours_grow_together() -> None:
    parts = PartList()

    positions = [
        parts.write(b"PAR1"),
        parts.copy(0, 4, 10),
        parts.copy(0, 14, 6),
        parts.copy(0, 22, 5, max_gap_bytes=2),
        parts.copy(1, 27, 3),
        parts.write(b"ab"),
        parts.write(b"c"),
    ]
    assert positions == [0, 4, 14, 22, 27, 30, 32]
    assert [
        (part.source, part.offset, part.length) if isinstance(part, CopyRange) else part.data
        for part in parts.finish(b"end")
    ] == [b"PAR1", (0, 4, 23), (1, 27, 3), b"abc", b"end"]
    assert parts.size_bytes == 36
