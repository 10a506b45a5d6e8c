"""The engine `rewrite` on objects: the same rows, sent whole and proven, and nothing left here."""

from __future__ import annotations

import errno
import hashlib
import io
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import NoCredentialsError
from botocore.response import StreamingBody
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem
from tests.unit.parquet.fake_s3 import FakeS3, error
from urllib3.exceptions import ProtocolError

from neve.model.errors import ParquetError
from neve.model.facts import DeleteKind
from neve.model.policy import Engine
from neve.model.rewrite import (
    DeleteDetails,
    RewriteTask,
    RowFingerprints,
    SpliceRequirements,
    TableLayout,
    TaskInput,
    TaskResult,
)
from neve.parquet.assembly import files as assembled
from neve.rows.deletes import DELETE_FILE_PATH, DELETE_FILE_POS
from neve.rows.vectors import write_puffin
from neve.spark.rewrite import files
from neve.spark.rewrite.task import run_task
from neve.storage import arrow, s3_upload
from neve.storage.s3_upload import NO_CONDITION, READ_BACK

ROWS = 1000
SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": False, "type": "long"},
        {"id": 2, "name": "text", "required": False, "type": "string"},
    ],
}


def numbered(id_: int, name: str, of: pa.DataType) -> pa.Field:
    return pa.field(name, of, metadata={"PARQUET:field_id": str(id_)})


FILE = pa.schema([numbered(1, "id", pa.int64()), numbered(2, "text", pa.string())])
KEYS = pa.schema([numbered(1, "id", pa.int64())])
POSITIONS = pa.schema(
    [
        numbered(DELETE_FILE_PATH, "file_path", pa.string()),
        numbered(DELETE_FILE_POS, "pos", pa.int64()),
    ]
)


@dataclass
class Bucket:
    """Objects of a store, which is a fake or Arrow's own on a folder."""

    folder: Path
    root: str
    client: FakeS3 | None = None
    upload_options: dict[str, str] = field(default_factory=dict)
    arrow_settings: dict[str, str] = field(default_factory=dict)
    refusal: str | None = None

    def s3_client(self) -> FakeS3 | None:
        return self.client

    def put(self, name: str, data: bytes) -> str:
        if self.client is not None:
            self.client.put(name, data)
        else:
            (self.folder / "b" / name).write_bytes(data)
        return f"{self.root}/{name}"

    def get(self, name: str) -> bytes:
        if self.client is not None:
            return self.client.data(name)
        return (self.folder / "b" / name).read_bytes()

    def names(self) -> set[str]:
        if self.client is not None:
            return set(self.client.objects)
        return {path.name for path in (self.folder / "b").iterdir()}

    def put_table(self, name: str, table: pa.Table) -> tuple[str, int]:
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, row_group_size=100)
        data = sink.getvalue().to_pybytes()
        return self.put(name, data), len(data)

    def source(self, number: int) -> TaskInput:
        ids = list(range(number * ROWS, (number + 1) * ROWS))
        table = pa.table([ids, [f"t{n}" for n in ids]], schema=FILE)
        return TaskInput(*self.put_table(f"{number}.parquet", table), ROWS, 5)

    def read(self, name: str) -> list[int]:
        ids: list[int] = pq.read_table(pa.BufferReader(self.get(name)))["id"].to_pylist()
        return ids


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where objects are, and what Spark gives a task to write to."""
    (tmp_path / "b").mkdir()
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / 'scratch'},/elsewhere")
    return tmp_path


@pytest.fixture
def s3(folder) -> Bucket:
    return Bucket(folder, "s3://b", FakeS3(min_part_bytes=5 * 2**20))


@pytest.fixture(params=["s3", "gs"])
def bucket(request, folder, monkeypatch) -> Bucket:
    if request.param == "s3":
        bucket: Bucket = request.getfixturevalue("s3")
        return bucket
    store = SubTreeFileSystem(str(folder), LocalFileSystem())
    monkeypatch.setattr(arrow, "file_system", lambda scheme, authority, settings: store)
    return Bucket(folder, "gs://b")


def run(
    bucket: Bucket, *inputs: TaskInput, deletes: tuple[DeleteDetails, ...] = (), outputs: int = 1
) -> TaskResult:
    names = tuple((f"{bucket.root}/new-{n}", f"{bucket.root}/next-{n}") for n in range(outputs))
    task = RewriteTask(0, inputs, deletes, names, (Engine.REWRITE,))
    order = json.dumps({"order-id": 0, "fields": []})
    layout = TableLayout(2, json.dumps(SCHEMA), order, {})
    wanted = SpliceRequirements((), None, False, 1, layout)
    result = run_task(task, wanted, bucket, 0)
    assert list((bucket.folder / "scratch").iterdir()) == []
    return result


@pytest.mark.promise(2)
def test_objects_are_rewritten_into_one_and_nothing_stays_on_the_executor(bucket) -> None:
    result = run(bucket, bucket.source(0), bucket.source(1), bucket.source(2))

    (file,) = result.files
    assert (file.path, file.rows_in, file.rows_out) == (f"{bucket.root}/new-0", 3000, 3000)
    assert bucket.read("new-0") == list(range(3000))
    assert file.size_bytes == len(bucket.get("new-0"))
    assert isinstance(file.proof, RowFingerprints)
    assert file.proof.problem is None
    assert [each.path for each in file.ranges] == [f"{bucket.root}/{n}.parquet" for n in range(3)]
    if bucket.client is not None:
        # Three sources; a look at the name, begin, a part, complete; the new object's end.
        assert file.requests == 3 + 4 + 1


def test_deletes_of_every_kind_are_read_from_the_store(bucket) -> None:
    sources = [bucket.source(number) for number in range(3)]
    pairs = pa.table([[sources[0].path] * 2, [0, 7]], schema=POSITIONS)
    by_position = DeleteDetails(
        *(path := bucket.put_table("p", pairs))[:1], DeleteKind.POSITION, "parquet", path[1], 2, 5
    )
    keys = bucket.put_table("e", pa.table([[1001, 2999]], schema=KEYS))
    by_key = DeleteDetails(
        keys[0], DeleteKind.EQUALITY, "parquet", keys[1], 2, 6, None, equality_ids=(1,)
    )
    data, written = write_puffin({sources[2].path: np.array([5, 6], dtype=np.int64)}, "test")
    by_vector = DeleteDetails(
        bucket.put("v", b"x" * 100 + data),
        DeleteKind.DELETION_VECTOR,
        "puffin",
        len(data) + 100,
        2,
        7,
        sources[2].path,
        content_offset=written[0].offset + 100,
        content_size_bytes=written[0].length,
    )

    (file,) = run(bucket, *sources, deletes=(by_position, by_key, by_vector)).files

    gone = {0, 7, 1001, 2999, 2005, 2006}
    assert (file.rows_deleted, file.rows_out) == (6, 2994)
    assert bucket.read("new-0") == [n for n in range(3000) if n not in gone]


def test_every_output_is_sent_by_its_own_name(bucket) -> None:
    result = run(bucket, *(bucket.source(number) for number in range(4)), outputs=2)

    assert [file.path for file in result.files] == [f"{bucket.root}/new-{n}" for n in range(2)]
    assert bucket.read("new-0") + bucket.read("new-1") == list(range(4000))


def test_a_name_that_is_taken_is_not_replaced(bucket) -> None:
    bucket.put("new-0", b"somebody else's")

    with pytest.raises(ParquetError, match="exists already"):
        run(bucket, bucket.source(0), bucket.source(1))

    assert bucket.get("new-0") == b"somebody else's"
    assert list((bucket.folder / "scratch").iterdir()) == []


def test_a_source_of_another_size_is_no_source(bucket) -> None:
    with pytest.raises(ParquetError, match="its manifest says 5"):
        run(bucket, replace(bucket.source(0), size_bytes=5))


def test_a_damaged_source_is_refused_by_its_own_name(bucket) -> None:
    source = bucket.source(0)
    data = bucket.get("0.parquet")
    bucket.put("0.parquet", data[:-6] + b"\xff\xff" + data[-4:])

    result = run(bucket, source)

    assert f"{bucket.root}/0.parquet" in str(result.refused)
    assert str(bucket.folder) not in str(result.refused)


def test_a_disk_without_room_leaves_the_group_to_iceberg(bucket, monkeypatch) -> None:
    usage = files.shutil.disk_usage(bucket.folder)
    monkeypatch.setattr(files.shutil, "disk_usage", lambda _: usage._replace(free=1000))

    result = run(bucket, bucket.source(0), bucket.source(1))

    assert "of its executor's disk" in str(result.refused)
    assert bucket.names() == {"0.parquet", "1.parquet"}


@pytest.mark.promise(2)
def test_other_bytes_in_the_store_than_were_sent_are_found(bucket, monkeypatch) -> None:
    if bucket.client is not None:
        # A store whose ETags say nothing, so that the object is read back.
        bucket.client.digest = lambda data: "opaque" + hashlib.md5(data).hexdigest()[:4]
    sent = (s3_upload if bucket.client else arrow).pieces_of
    flip = "S3Reader" if bucket.client else "StoreReader"

    def flipped(reader):
        for piece in sent(reader):
            yield bytes([piece[0] ^ 1]) + piece[1:] if type(reader).__name__ == flip else piece

    monkeypatch.setattr(s3_upload if bucket.client else arrow, "pieces_of", flipped)

    result = run(bucket, bucket.source(0), bucket.source(1))

    assert "other bytes than were sent" in str(result.refused)
    assert bucket.names() == {"0.parquet", "1.parquet"}


def test_an_object_without_a_digest_is_read_back(s3) -> None:
    s3.client.digest = lambda data: "opaque" + hashlib.md5(data).hexdigest()[:4]

    (file,) = run(s3, s3.source(0), s3.source(1)).files

    assert file.notes == (READ_BACK,)
    assert s3.read("new-0") == list(range(2000))


def test_a_store_without_conditions_is_asked_before(s3) -> None:
    s3.client.is_conditional = False

    (file,) = run(s3, s3.source(0), s3.source(1)).files

    assert file.notes == (NO_CONDITION,)


@pytest.mark.parametrize("request_", ["upload_part", "complete_multipart_upload"])
def test_a_failed_upload_leaves_neither_object_nor_parts(s3, request_) -> None:
    s3.client.inject(request_, error("AccessDenied", 403))

    with pytest.raises(ParquetError, match="AccessDenied"):
        run(s3, s3.source(0), s3.source(1))

    assert s3.names() == {"0.parquet", "1.parquet"}
    assert s3.client.uploads == {}
    assert list((s3.folder / "scratch").iterdir()) == []


def test_a_completion_whose_answer_is_lost_is_found_again(s3) -> None:
    s3.client.inject("complete_multipart_upload", error("InternalError", 500), after=True)

    (file,) = run(s3, s3.source(0), s3.source(1)).files

    assert s3.read("new-0") == list(range(2000))
    assert file.rows_out == 2000


def test_a_source_that_is_replaced_between_two_pieces_is_found(s3, monkeypatch) -> None:
    source = s3.source(0)
    monkeypatch.setattr(files, "PIECE_BYTES", source.size_bytes // 2)
    s3.client.inject("get_object", lambda _: s3.put("0.parquet", b"another"), after=True)

    with pytest.raises(ParquetError, match="changed while"):
        run(s3, source)


def test_new_objects_get_what_the_table_asks_for(s3) -> None:
    s3.upload_options["StorageClass"] = "STANDARD_IA"

    run(s3, s3.source(0), s3.source(1))

    (begun,) = s3.client.called("create_multipart_upload")
    assert begun["StorageClass"] == "STANDARD_IA"


def test_vectors_are_read_without_the_file_around_them(bucket) -> None:
    source = bucket.source(0)
    data, written = write_puffin({source.path: np.array([3], dtype=np.int64)}, "test")
    vector = DeleteDetails(
        bucket.put("v", data),
        DeleteKind.DELETION_VECTOR,
        "puffin",
        len(data),
        1,
        7,
        source.path,
        content_offset=written[0].offset,
        content_size_bytes=written[0].length,
    )

    run(bucket, source, deletes=(vector,))

    if bucket.client is not None:
        ranges = [one["Range"] for one in bucket.client.called("get_object") if one["Key"] == "v"]
        first, last = written[0].offset, written[0].offset + written[0].length - 1
        assert ranges == [f"bytes={first}-{last}"]


def by_position(bucket: Bucket, source: TaskInput) -> DeleteDetails:
    pairs = pa.table([[source.path] * 2, [0, 7]], schema=POSITIONS)
    path, size_bytes = bucket.put_table("p", pairs)
    return DeleteDetails(path, DeleteKind.POSITION, "parquet", size_bytes, 2, 5)


def by_key(bucket: Bucket) -> DeleteDetails:
    path, size_bytes = bucket.put_table("e", pa.table([[1, 2]], schema=KEYS))
    return DeleteDetails(
        path, DeleteKind.EQUALITY, "parquet", size_bytes, 2, 6, None, equality_ids=(1,)
    )


def test_a_name_that_only_iceberg_reaches_does_not_become_a_file_of_this_machine(
    s3, monkeypatch
) -> None:
    sources = [s3.source(0), s3.source(1)]
    monkeypatch.setattr(files, "local_path", lambda location: str(s3.folder / "here"))
    s3.root = "s3a://b"

    result = run(s3, *sources)

    assert "s3a://b/new-0 lies where only Iceberg" in str(result.refused)
    assert not (s3.folder / "here").exists()


def test_deletes_that_only_iceberg_reaches_leave_the_group_to_it(s3) -> None:
    source = s3.source(0)
    elsewhere = replace(by_position(s3, source), path="s3a://b/p")

    result = run(s3, source, deletes=(elsewhere,))

    assert "s3a://b/p lies where only Iceberg" in str(result.refused)


@pytest.mark.parametrize("name", ["p", "e"])
def test_damaged_deletes_are_refused_by_their_own_name(bucket, name) -> None:
    source = bucket.source(0)
    delete = by_position(bucket, source) if name == "p" else by_key(bucket)
    bucket.put(name, b"x" * delete.size_bytes)

    result = run(bucket, source, deletes=(delete,))

    assert f"{bucket.root}/{name} cannot be read" in str(result.refused)


def test_a_source_whose_keys_cannot_be_read_is_refused_by_its_own_name(bucket) -> None:
    source, delete = bucket.source(0), by_key(bucket)
    data = bucket.get("0.parquet")
    bucket.put("0.parquet", data[:4] + b"\xff" * 600 + data[604:])

    result = run(bucket, source, deletes=(delete,))

    assert f"{bucket.root}/0.parquet cannot be read" in str(result.refused)


@pytest.mark.parametrize("step", ["write_all", "copy_range", "publish"])
def test_a_disk_that_is_full_in_between_leaves_the_group_to_iceberg(
    bucket, monkeypatch, step
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(assembled, step, full)

    result = run(bucket, bucket.source(0), bucket.source(1))

    assert "disk does not take objects: No space left" in str(result.refused)
    assert bucket.names() == {"0.parquet", "1.parquet"}


def test_a_disk_without_room_for_a_folder_leaves_the_group_to_iceberg(bucket, monkeypatch) -> None:
    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.tempfile, "mkdtemp", full)

    assert "No space left" in str(run(bucket, bucket.source(0)).refused)


def test_a_new_file_that_is_not_what_was_written_is_called_by_its_name(bucket, monkeypatch) -> None:
    written = assembled.read_footer
    monkeypatch.setattr(assembled, "read_footer", lambda r: replace(written(r), rows=1))

    result = run(bucket, bucket.source(0), bucket.source(1))

    assert f"{bucket.root}/new-0" in str(result.refused)
    assert str(bucket.folder) not in str(result.refused)


@pytest.mark.parametrize("why", [NoCredentialsError(), error("AccessDenied", 403)])
def test_a_client_without_the_credentials_leaves_the_group_to_iceberg(s3, why) -> None:
    s3.client.inject("get_object", why)

    result = run(s3, s3.source(0))

    assert "does not get through: s3://b/0.parquet" in str(result.refused)


class BrokenOff:
    """A body as the client's connection hands it out."""

    def read(self, amount: int | None = None) -> bytes:
        raise ProtocolError("Connection broken")

    def close(self) -> None:
        """Nothing to give back."""


@pytest.mark.parametrize(("times", "is_read"), [(2, True), (3, False)])
def test_answers_that_break_off_are_asked_for_again(s3, times, is_read) -> None:
    def cut(answer) -> None:
        answer["Body"] = StreamingBody(BrokenOff(), answer["ContentLength"])

    s3.client.inject("get_object", cut, after=True, times=times)

    result = run(s3, s3.source(0))

    assert [file.rows_out for file in result.files] == ([ROWS] if is_read else [])
    assert is_read or "the answers broke off" in str(result.refused)


@pytest.mark.parametrize("pieces", [1, 3])
def test_other_bytes_than_the_store_has_are_found(s3, monkeypatch, pieces) -> None:
    source = s3.source(0)
    monkeypatch.setattr(files, "PIECE_BYTES", source.size_bytes // pieces + 1)

    def flip(answer) -> None:
        data = bytearray(answer["Body"].read())
        data[10] ^= 1
        answer["Body"] = StreamingBody(io.BytesIO(bytes(data)), len(data))

    s3.client.inject("get_object", flip, after=True)

    result = run(s3, source)

    assert "s3://b/0.parquet came with other bytes" in str(result.refused)


def test_an_etag_under_keys_of_ones_own_is_no_digest_of_a_source(s3) -> None:
    source = s3.source(0)
    data, _ = s3.client.objects["0.parquet"]
    s3.client.objects["0.parquet"] = (data, "0" * 32)

    def under_key(answer) -> None:
        answer["ServerSideEncryption"] = "aws:kms"

    s3.client.inject("get_object", under_key, after=True)

    assert [file.rows_out for file in run(s3, source).files] == [ROWS]
