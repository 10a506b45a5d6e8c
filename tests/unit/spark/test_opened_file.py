"""What a task says about one file, on disk and in a store."""

from __future__ import annotations

import io
import os
import zlib
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.parquet.fake_s3 import FakeS3

from neve.model.integrity import ENCRYPTED, FileClaim, FileKind, KnownColumns
from neve.spark.opened_file import Unopened, look
from neve.storage.access import Storage

COLUMNS = KnownColumns(frozenset((1,)), has_name_mapping=False)


@dataclass
class FakeStorage:
    """A storage whose client is a fake."""

    client: FakeS3 = field(default_factory=FakeS3)
    refusal: str | None = None

    def s3_client(self):
        return self.client


def parquet(field_id="1"):
    metadata = {"PARQUET:field_id": field_id} if field_id else None
    schema = pa.schema([pa.field("a", pa.int64(), metadata=metadata)])
    sink = io.BytesIO()
    pq.write_table(pa.table([[1, 2, 3]], schema), sink)
    return sink.getvalue()


@pytest.fixture(params=["disk", "store"])
def put(request, tmp_path):
    """Bytes in a place, and what a look at them gives, as pairs of code and reason."""
    fake = FakeStorage()

    def place(data, **claimed):
        if request.param == "disk":
            path, storage = f"file:{tmp_path}/f", Storage()
            (tmp_path / "f").write_bytes(data)
        else:
            path, storage = "s3://b/f", fake
            fake.client.put("f", data)
        claim = FileClaim(path, FileKind.DATA, "PARQUET", len(data), 3)
        found = look(replace(claim, **claimed), COLUMNS, storage)
        return [(problem.code, problem.sentence) for problem in found]

    return place


def test_a_file_that_is_as_claimed(put):
    assert put(parquet()) == []


def test_files_that_are_not(put):
    assert put(parquet(), record_count=4) == [
        ("record_count_differs", "3 rows in the file, 4 in the manifest")
    ]
    assert put(parquet(None)) == [("field_ids_missing", "column a")]
    assert put(parquet("9")) == [("field_ids_unknown", "column a, id 9")]
    cut = put(parquet()[:-9], size_bytes=len(parquet()))
    assert [code for code, _ in cut] == ["size_differs", "footer_unreadable"]
    assert [code for code, _ in put(b"", size_bytes=0)] == ["footer_unreadable"]


def vector(positions=b"positions"):
    body = bytes.fromhex("d1d33964") + positions
    return len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


def test_deletion_vectors(put):
    data = b"PFA1" + vector()
    claim = {
        "kind": FileKind.DELETION_VECTOR,
        "format": "PUFFIN",
        "content_offset": 4,
        "content_bytes": len(vector()),
    }
    flipped = bytearray(data)
    flipped[-6] ^= 1

    assert put(data, **claim) == []
    assert [code for code, _ in put(bytes(flipped), **claim)] == ["vector_unreadable"]
    for offset, length in ((None, 5), (-1, 21), (4, 10**12), (5, len(vector())), (0, 12)):
        wrong = {**claim, "content_offset": offset, "content_bytes": length}
        assert [code for code, _ in put(data, **wrong)] == ["vector_unreadable"]


@pytest.mark.parametrize("format", ["ORC", "AVRO", ENCRYPTED])
def test_formats_that_are_not_opened_are_said_to_be(put, format):
    with pytest.raises(Unopened, match=f"in the format {format} only"):
        put(b"abc", format=format)


def test_files_that_are_not_there(tmp_path):
    fake = FakeStorage()
    for path, storage in ((f"{tmp_path}/gone", Storage()), ("s3://b/gone", fake)):
        (problem,) = look(FileClaim(path, FileKind.DATA, "PARQUET", 1, 1), COLUMNS, storage)
        assert (problem.code, problem.path) == ("missing", path)


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    for path in (f"{tmp_path}/pipe", str(tmp_path), f"{tmp_path}/\0"):
        (problem,) = look(FileClaim(path, FileKind.DATA, "PARQUET", 1, 1), COLUMNS, Storage())
        assert problem.code == "storage_unanswered"


def test_places_that_tasks_cannot_reach():
    refusing = FakeStorage(refusal="requests are signed by the catalog")

    for path, storage in (("gs://b/f", Storage()), ("s3://b/f", refusing)):
        with pytest.raises(Unopened):
            look(FileClaim(path, FileKind.DATA, "PARQUET", 1, 1), COLUMNS, storage)


def test_the_old_names_of_the_store():
    fake = FakeStorage()
    fake.client.put("f", parquet())

    claim = FileClaim("s3a://b/f", FileKind.DATA, "PARQUET", len(parquet()), 3)

    assert look(claim, COLUMNS, fake) == []
