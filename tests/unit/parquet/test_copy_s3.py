"""A splice inside a store: the same bytes, never half visible, and honest about its proof."""

from __future__ import annotations

import io
import threading
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ReadTimeoutError
from tests.unit.parquet.fake_s3 import Answer, FakeS3, error

from neve.model.errors import ParquetCorrupt, ParquetError
from neve.parquet import copy_s3, remote
from neve.parquet.copy_s3 import NO_COPIES, RemoteSplice, splice_in_s3
from neve.parquet.footer import FIRST_READ_BYTES
from neve.parquet.indexes import load_source
from neve.parquet.plan import SplicePlan
from neve.parquet.remote import UploadPlan, plan_through_client, plan_upload
from neve.parquet.splice import plan_splice
from neve.storage.s3 import S3Reader, S3Store
from neve.storage.s3_upload import NO_CONDITION, READ_BACK

TARGET = "s3://b/new"
SMALL, LARGE = 100, 1_000


def file_of(rows: int) -> bytes:
    sink = io.BytesIO()
    table = pa.table({"a": pa.array(range(rows), pa.int64())})
    pq.write_table(table, sink, use_dictionary=False, compression="none", write_page_index=True)
    return sink.getvalue()


class Bench:
    """Files in a store, and a splice of them that is planned but not made."""

    def __init__(self, client: FakeS3, *rows: int) -> None:
        self.client = client
        self.store = S3Store(client)
        for number, count in enumerate(rows):
            client.put(f"source-{number}", file_of(count))
        self.readers = [
            S3Reader(self.store, f"s3://b/source-{number}") for number in range(len(rows))
        ]
        self.plan: SplicePlan = plan_splice([load_source(reader) for reader in self.readers])
        self.upload: UploadPlan = plan_upload(
            self.plan, min_part_bytes=client.min_part_bytes, max_part_bytes=100_000
        )

    def splice(self, **options: Any) -> RemoteSplice:
        return splice_in_s3(self.plan, self.upload, self.store, TARGET, self.readers, **options)

    @property
    def rows(self) -> int:
        return pq.read_table(io.BytesIO(self.client.data("new"))).num_rows

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left of a splice, visible or not."""
        return not self.client.uploads and "new" not in self.client.objects


@pytest.fixture
def client() -> FakeS3:
    return FakeS3()


@pytest.fixture
def bench(client: FakeS3) -> Bench:
    return Bench(client, LARGE, LARGE, SMALL, LARGE)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let uploads through the client have parts as small as the fake store allows."""
    monkeypatch.setattr(remote, "_GATHER_BYTES", 1_000)
    through_client = partial(plan_through_client, min_part_bytes=1_000)
    monkeypatch.setattr(copy_s3, "plan_through_client", through_client)


def test_the_store_makes_the_planned_file(bench: Bench, client: FakeS3) -> None:
    done = bench.splice()

    assert (done.result.path, done.result.rows, bench.rows) == (TARGET, 3_100, 3_100)
    assert done.result.size_bytes == len(client.data("new"))
    assert (done.notes, done.upload, done.was_read_back) == ((), bench.upload, False)
    assert not client.uploads


def test_only_small_pieces_pass_through_the_client(client: FakeS3) -> None:
    bench = Bench(client, *[LARGE] * 8)
    opened = bench.store.counts.bytes_read
    bench.splice()

    counts = bench.store.counts
    assert (counts.copies, counts.puts, counts.heads, counts.posts) == (8, 1, 1, 2)
    assert bench.upload.read_bytes < 0.02 * bench.plan.copied_bytes
    assert counts.bytes_sent == bench.upload.parts[-1].length
    # The sources were opened by one read each; afterwards the new file was, and samples.
    assert counts.gets == 8 + 2 + 4
    assert counts.bytes_read - opened <= FIRST_READ_BYTES + 4 + 4 * 4096


def test_the_checksum_stands_for_the_parts_as_completed(bench: Bench, client: FakeS3) -> None:
    done = bench.splice()

    (completed,) = client.called("complete_multipart_upload")
    etags = [part["ETag"].strip('"') for part in completed["MultipartUpload"]["Parts"]]
    assert done.result.checksum == zlib.crc32(",".join(etags).encode())


def test_a_checksum_that_is_asked_for_is_of_the_bytes(bench: Bench, client: FakeS3) -> None:
    done = bench.splice(verify="checksum")

    copied, at = 0, 0
    for part in bench.plan.parts:
        if hasattr(part, "source"):
            copied = zlib.crc32(client.data("new")[at : at + part.length], copied)
        at += part.length
    assert (done.result.checksum, done.was_read_back, done.notes) == (copied, True, ())


def test_options_go_with_the_new_object(bench: Bench, client: FakeS3) -> None:
    bench.splice(options={"StorageClass": "STANDARD_IA"})

    assert client.called("create_multipart_upload") == [
        {"Key": "new", "StorageClass": "STANDARD_IA"}
    ]


def test_an_existing_object_is_refused_before_anything_is_begun(
    bench: Bench, client: FakeS3
) -> None:
    client.put("new", b"precious")

    with pytest.raises(ParquetError, match="exists already"):
        bench.splice()
    assert client.data("new") == b"precious"
    assert not client.called("create_multipart_upload")


@pytest.mark.parametrize("is_conditional", [True, False])
def test_an_object_that_appears_meanwhile_is_not_replaced(
    bench: Bench, client: FakeS3, is_conditional: bool
) -> None:
    client.is_conditional = is_conditional
    client.inject("complete_multipart_upload", lambda _: client.put("new", b"precious"), times=1)

    with pytest.raises(ParquetError, match="exists already"):
        bench.splice()
    assert client.data("new") == b"precious"
    assert not client.uploads


def test_a_store_without_conditions_is_used_knowingly(bench: Bench, client: FakeS3) -> None:
    client.is_conditional = False

    assert bench.splice().notes == (NO_CONDITION,)
    assert bench.rows == 3_100


def test_a_name_that_cannot_be_looked_up_needs_a_store_with_conditions(
    bench: Bench, client: FakeS3
) -> None:
    client.inject("head_object", error("403", 403), times=2)
    client.is_conditional = False

    with pytest.raises(ParquetError, match="exists already"):
        bench.splice()
    assert bench.is_clean


@pytest.mark.parametrize("number", [0, 2])
def test_a_source_that_changed_is_refused(bench: Bench, client: FakeS3, number: int) -> None:
    for reader in bench.readers:
        reader.forget_tail()
    client.put(f"source-{number}", file_of(LARGE + 1))

    with pytest.raises(ParquetError, match=f"source-{number} changed"):
        bench.splice()
    assert bench.is_clean


@pytest.mark.parametrize(
    ("operation", "failure"),
    [
        ("upload_part_copy", error("SlowDown", 503)),
        ("upload_part_copy", error("NoSuchKey", 404)),
        ("upload_part", error("BadDigest", 400)),
        ("upload_part", ReadTimeoutError(endpoint_url="x")),
        ("complete_multipart_upload", error("InternalError", 500)),
        ("complete_multipart_upload", error("EntityTooSmall", 400)),
        ("complete_multipart_upload", ReadTimeoutError(endpoint_url="x")),
    ],
)
def test_a_failure_leaves_nothing_and_keeps_its_cause(
    bench: Bench, client: FakeS3, operation: str, failure: Exception
) -> None:
    client.inject(operation, failure)

    with pytest.raises(ParquetError, match=operation) as caught:
        bench.splice()
    assert caught.value.__cause__ is failure
    assert bench.is_clean


def test_an_interruption_leaves_nothing(bench: Bench, client: FakeS3) -> None:
    def interrupt(_: Answer) -> None:
        raise KeyboardInterrupt

    client.inject("complete_multipart_upload", interrupt)

    with pytest.raises(KeyboardInterrupt):
        bench.splice()
    assert bench.is_clean


def test_an_upload_that_cannot_be_aborted_is_told_with_the_first_error(
    bench: Bench, client: FakeS3
) -> None:
    client.inject("upload_part", error("SlowDown", 503))
    client.inject("abort_multipart_upload", error("AccessDenied", 403))

    with pytest.raises(ParquetError, match="SlowDown") as caught:
        bench.splice()
    assert caught.value.__notes__ == [
        "The upload was not aborted. s3://b/new: the store answered abort_multipart_upload with "
        "AccessDenied."
    ]


@pytest.mark.parametrize(
    "failure",
    [
        ReadTimeoutError(endpoint_url="x"),
        error("PreconditionFailed", 412),
        error("NoSuchUpload", 404),
    ],
)
def test_a_completion_whose_answer_is_lost_is_recognised(
    bench: Bench, client: FakeS3, failure: Exception
) -> None:
    client.inject("complete_multipart_upload", failure, after=True)

    done = bench.splice()

    assert (done.result.rows, bench.rows) == (3_100, 3_100)
    assert done.result.checksum is not None


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-9] + b"X" * 9])
def test_a_file_that_is_not_as_planned_is_deleted_again(
    bench: Bench, client: FakeS3, damage: Callable[[bytes], bytes]
) -> None:
    def spoil(_: Answer) -> None:
        data, etag = client.objects["new"]
        client.objects["new"] = (damage(data), etag)

    client.inject("complete_multipart_upload", spoil, after=True)

    with pytest.raises(ParquetCorrupt):
        bench.splice()
    assert bench.is_clean


def test_an_object_that_took_the_place_of_ours_is_left_alone(bench: Bench, client: FakeS3) -> None:
    client.inject("complete_multipart_upload", lambda _: client.put("new", b"precious"), after=True)

    with pytest.raises(ParquetError, match="replaced by another object"):
        bench.splice()
    assert client.data("new") == b"precious"


def test_a_store_that_copies_another_range_is_caught(bench: Bench, client: FakeS3) -> None:
    def shift(parameters: Answer) -> None:
        first, last = map(int, parameters["CopySourceRange"][6:].split("-"))
        parameters["CopySourceRange"] = f"bytes={first + 1}-{last + 1}"

    client.inject("upload_part_copy", lambda _: None)
    client.inject("upload_part_copy", shift)

    with pytest.raises(ParquetCorrupt, match="other bytes than its sources"):
        bench.splice()
    assert bench.is_clean


def test_a_completion_that_nobody_can_tell_about_is_the_error_that_counts(
    bench: Bench, client: FakeS3
) -> None:
    client.inject("head_object", lambda _: None)
    client.inject("head_object", error("SlowDown", 503))
    client.inject("complete_multipart_upload", error("InternalError", 500))

    with pytest.raises(ParquetError, match="InternalError") as caught:
        bench.splice()
    assert caught.value.__notes__ == ["s3://b/new: the store answered head_object with SlowDown."]


def test_etags_that_are_no_digests_cost_a_second_look(client: FakeS3) -> None:
    client.digest = lambda data: f"opaque-{zlib.crc32(data)}"
    bench = Bench(client, LARGE, LARGE)

    done = bench.splice()

    assert (done.notes, done.was_read_back) == ((READ_BACK,), True)
    assert done.result.checksum is not None


def test_the_second_look_finds_what_was_copied_wrongly(client: FakeS3) -> None:
    client.digest = lambda data: f"opaque-{len(data)}"
    bench = Bench(client, LARGE, LARGE)

    def spoil(_: Answer) -> None:
        data, etag = client.objects["new"]
        client.objects["new"] = (data[:100] + b"X" + data[101:], etag)

    client.inject("complete_multipart_upload", spoil, after=True)

    with pytest.raises(ParquetCorrupt, match="other bytes than its sources"):
        bench.splice()
    assert bench.is_clean


def test_etags_under_a_key_of_ones_own_are_opaque_and_accepted() -> None:
    client = FakeS3(kms=True)
    client.digest = lambda data: f"kms-{zlib.crc32(data)}"
    bench = Bench(client, LARGE, LARGE)

    done = bench.splice()

    assert (done.notes, done.was_read_back) == ((), False)
    assert done.result.checksum is not None


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("code", ["NotImplemented", "MethodNotAllowed"])
def test_a_store_that_does_not_copy_is_sent_everything(
    bench: Bench, client: FakeS3, code: str
) -> None:
    client.inject("upload_part_copy", error(code, 501), times=10)

    done = bench.splice()

    assert done.notes == (NO_COPIES,)
    assert done.upload.read_bytes == bench.plan.copied_bytes
    assert bench.store.counts.puts > 10
    assert (bench.rows, client.uploads) == (3_100, {})


@pytest.mark.usefixtures("small_parts")
def test_memory_for_bytes_in_flight_is_bounded(
    bench: Bench, client: FakeS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.inject("upload_part_copy", error("NotImplemented", 501), times=10)
    for reader in bench.readers:
        reader.forget_tail()
    lock, held, most = threading.Lock(), 0, 0
    read_at, send_part = S3Reader.read_at, S3Store.send_part

    def reading(self: S3Reader, offset: int, length: int) -> bytes:
        nonlocal held, most
        with lock:
            # What is read after the upload checks the new object.
            held += length if self.path != TARGET else 0
            most = max(most, held)
        return read_at(self, offset, length)

    def sending(self: S3Store, path: str, upload_id: str, number: int, data: bytes) -> Any:
        nonlocal held
        part = send_part(self, path, upload_id, number, data)
        with lock:
            held -= len(data)
        return part

    monkeypatch.setattr(S3Reader, "read_at", reading)
    monkeypatch.setattr(S3Store, "send_part", sending)
    bench.splice()

    # Three parts, each shorter than twice the smallest.
    assert 0 < most < 3 * 2_000


def test_files_that_are_all_small_are_gathered(client: FakeS3) -> None:
    bench = Bench(client, *[SMALL] * 5)

    done = bench.splice()

    assert done.upload.copied_bytes == 0
    assert (bench.store.counts.copies, bench.rows) == (0, 500)
    assert done.result.checksum is not None
