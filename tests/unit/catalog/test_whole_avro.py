"""Avro files byte by byte: a block more or less is never a file less."""

from __future__ import annotations

import json
import zlib

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO

from neve.catalog.reachable import files_of_manifest

pytestmark = pytest.mark.promise(16, 20)

SYNC = b"0123456789abcdef"


def entry_of(name, key_id, value_id, value):
    fields = [
        {"name": "key", "type": "int", "field-id": key_id},
        {"name": "value", "type": value, "field-id": value_id},
    ]
    return {"type": "record", "name": name, "fields": fields}


def map_field(name, field_id, key_id, value_id, value):
    items = entry_of(f"k{key_id}_v{value_id}", key_id, value_id, value)
    of = {"type": "array", "items": items, "logicalType": "map"}
    return {"name": name, "type": ["null", of], "field-id": field_id}


SCHEMA = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        {"name": "status", "type": "int", "field-id": 0},
        {
            "name": "data_file",
            "field-id": 2,
            "type": {
                "type": "record",
                "name": "r2",
                "fields": [
                    {"name": "file_path", "type": "string", "field-id": 100},
                    map_field("value_counts", 109, 119, 120, "long"),
                    map_field("lower_bounds", 125, 126, 127, "bytes"),
                    {
                        "name": "split_offsets",
                        "type": ["null", {"type": "array", "items": "long", "element-id": 133}],
                        "field-id": 132,
                    },
                ],
            },
        },
    ],
}


def number(value):
    left, out = (value << 1) ^ (value >> 63), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def text(data):
    return number(len(data)) + data


def entries(parts, *, sized=False):
    """A list of parts, in two blocks; `sized` ones say how many bytes they have."""
    half, blocks = len(parts) // 2, b""
    for some in (parts[:half], parts[half:]):
        if some:
            body = b"".join(some)
            blocks += (
                number(-len(some)) + number(len(body)) if sized else number(len(some))
            ) + body
    return number(1) + blocks + number(0)


def record(path, *, sized=False, columns=3):
    counts = [number(column) + number(7 * column) for column in range(columns)]
    bounds = [number(column) + text(b"b" * column) for column in range(columns)]
    offsets = [number(4 + 1000 * column) for column in range(columns)]
    lists = b"".join(entries(parts, sized=sized) for parts in (counts, bounds, offsets))
    return number(1) + text(path.encode()) + lists


def block(*records, sync=SYNC, claims=None):
    body = zlib.compress(b"".join(records))[2:-4]
    return number(len(records) if claims is None else claims) + text(body) + sync


def header():
    meta = {b"avro.schema": json.dumps(SCHEMA).encode(), b"avro.codec": b"deflate"}
    pairs = b"".join(text(key) + text(value) for key, value in meta.items())
    return b"Obj\x01" + number(len(meta)) + pairs + number(0) + SYNC


@pytest.fixture
def read(tmp_path):
    def read(*parts):
        path = tmp_path / "manifest.avro"
        path.write_bytes(b"".join(parts))
        return list(files_of_manifest(PyArrowFileIO(), path.as_uri()))

    return read


def test_a_block_without_records_is_not_the_end(read):
    parts = [block(record("a")), block(), block(record("b"), record("c")), block()]

    assert read(header(), *parts) == ["a", "b", "c"]


@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("columns", [0, 1, 2, 300])
def test_what_is_skipped_is_skipped_exactly(read, sized, columns):
    records = [record(name, sized=sized, columns=columns) for name in "abc"]

    assert read(header(), block(*records)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "parts",
    [
        [block(record("a"), record("b"), claims=1)],
        [block(record("a"), claims=-1)],
        [block(record("a"), sync=SYNC[::-1]), block(record("b"))],
        [block(record("a")), b"\x02", SYNC],
        [block(record("a")), b"\xff" * 11, SYNC],
        [block(record("a"))[:-1]],
    ],
    ids=["more than claimed", "less than none", "out of step", "no end", "no number", "cut"],
)
def test_what_is_not_whole_is_an_error(read, parts):
    with pytest.raises(ValueError, match=r"manifest\.avro"):
        read(header(), *parts)


@pytest.mark.parametrize("length", [0, 3, 10, -16])
def test_a_header_that_is_cut_is_an_error(read, length):
    with pytest.raises(ValueError, match=r"manifest\.avro"):
        read(header()[:length])


def test_a_list_without_end_is_an_error(read):
    endless = number(1) + text(b"a") + number(1) + number(1 << 40)

    with pytest.raises(ValueError, match="claims a list"):
        read(header(), block(endless))
