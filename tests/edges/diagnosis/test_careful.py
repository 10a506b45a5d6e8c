"""Avro files made to harm a reader: refused in time, and within memory."""

from __future__ import annotations

import json
import zlib

import pytest
from pyiceberg.avro.encoder import BinaryEncoder
from pyiceberg.io.pyarrow import PyArrowFileIO

from neve.catalog import checked_avro as careful
from neve.catalog.checked_avro import Damaged, damage_explained
from neve.catalog.manifest_lists import read_contents, read_list
from neve.model.integrity import ManifestLine

pytestmark = pytest.mark.promise(34)

SYNC = b"0123456789abcdef"
PATH = {"name": "manifest_path", "type": "string", "field-id": 500}
NOTHING = {"name": "x", "type": {"type": "array", "items": "null", "element-id": 7}, "field-id": 8}


def write(path, fields, block, *, records=1, codec="null"):
    schema = json.dumps({"type": "record", "name": "r", "fields": fields})
    with path.open("wb") as out:
        encoder = BinaryEncoder(out)
        out.write(b"Obj\x01")
        encoder.write_int(2)
        for key, value in (("avro.schema", schema), ("avro.codec", codec)):
            encoder.write_utf8(key)
            encoder.write_utf8(value)
        encoder.write_int(0)
        out.write(SYNC)
        encoder.write_int(records)
        encoder.write_bytes(block)
        out.write(SYNC)
    return str(path)


def why(read):
    with pytest.raises(Damaged) as damage, damage_explained():
        read()
    return str(damage.value)


@pytest.fixture
def read(tmp_path):
    def lines(*block, **options):
        return read_list(PyArrowFileIO(), write(tmp_path / "list", *block, **options))

    return lines


def test_a_list_that_is_right_is_read(read):
    (line,) = read([PATH], b"\x02a")

    assert line == ManifestLine("a", 0, False, 0, 0, 0)


def test_lists_of_nothing_without_end(read):
    assert why(lambda: read([PATH, NOTHING], b"\x02a" + b"\xfe" * 8 + b"\x01\x00")) == (
        "its schema has lists of nothing"
    )


def test_a_number_without_end(read):
    assert why(lambda: read([PATH], b"\xff" * 1_000_000)) == "a number in it has no end"


@pytest.mark.parametrize("block", [b"\x02", b"\xfe\xff\xff\xff\x0fa", b"\x02ab"])
def test_lengths_that_lie(read, block):
    assert why(lambda: read([PATH], block))


def test_more_records_than_bytes(read):
    said = why(lambda: read([PATH], b"\x02a", records=1_000_000_000))

    assert said == "a block of 2 bytes claims 1000000000 records"


def test_a_block_that_unpacks_without_end(read, monkeypatch):
    monkeypatch.setattr(careful, "MAX_FILE_BYTES", 10_000)
    packed = zlib.compress(bytes(1_000_000))[2:-4]

    assert why(lambda: read([PATH], packed, codec="deflate")) == (
        "unpacked it is over the limit of 10000 bytes"
    )


def test_a_device_is_never_read():
    line = ManifestLine("/dev/zero", 0, False, 0, 0, 0)

    assert why(lambda: read_contents(PyArrowFileIO(), line)) == "it is not a file"
