"""The remote splice against a real S3 server: what it copies itself, and what it leaves behind."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError
from pyarrow import fs
from tests.system.stack_fixtures import RunningStack

from neve.model.errors import ParquetError
from neve.model.policy import Engine
from neve.model.rewrite import (
    LeafColumn,
    RewriteTask,
    SpliceRequirements,
    StoreDigests,
    TaskInput,
    WrittenFile,
)
from neve.parquet.copy_s3 import NO_COPIES, splice_in_s3
from neve.parquet.indexes import load_source
from neve.parquet.remote import plan_upload
from neve.parquet.splice import plan_splice
from neve.spark.rewrite.task import run_task
from neve.storage import s3
from neve.storage.access import Storage, storage_of
from neve.storage.s3 import S3Reader, S3Store

COLUMNS = 4
WANTED = SpliceRequirements(
    tuple(LeafColumn(number, "long") for number in range(1, COLUMNS + 1)), None, False, 0
)
SIZES_MB = (6, 7, 8, 9, 10, 12, 6)


def random_table(megabytes: float) -> pa.Table:
    """Numbers that do not compress, so that the file is as large as asked for."""
    rows = int(megabytes * 1_000_000 / 8 / COLUMNS)
    columns = [
        pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(os.urandom(8 * rows))])
        for _ in range(COLUMNS)
    ]
    fields = [
        pa.field(f"c{number}", pa.int64(), metadata={"PARQUET:field_id": str(number)})
        for number in range(1, COLUMNS + 1)
    ]
    return pa.table(columns, schema=pa.schema(fields))


@dataclass
class Shelf:
    """A folder of a bucket that belongs to one test."""

    stack: RunningStack
    storage: Storage
    prefix: str
    sources: list[tuple[str, int]] = field(default_factory=list)
    tables: list[pa.Table] = field(default_factory=list)

    @property
    def client(self) -> Any:
        return self.storage.s3_client()

    @property
    def bucket(self) -> str:
        return str(self.stack.facts["s3"]["bucket"])

    @property
    def target(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}/new.parquet"

    def put(self, *megabytes: float) -> None:
        for size in megabytes:
            table, sink = random_table(size), io.BytesIO()
            pq.write_table(table, sink, use_dictionary=False, write_page_index=True)
            key = f"{self.prefix}/file {len(self.sources)}+ü.parquet"
            self.client.put_object(Bucket=self.bucket, Key=key, Body=sink.getvalue())
            self.sources.append((f"s3://{self.bucket}/{key}", len(sink.getvalue())))
            self.tables.append(table)

    def run(self, storage: Any = None) -> WrittenFile:
        inputs = tuple(TaskInput(*source) for source in self.sources)
        task = RewriteTask(1, inputs, (), ((self.target,),), (Engine.REMOTE_COPY,))
        result = run_task(task, WANTED, storage or self.storage, 0)
        assert result.refused is None
        (file,) = result.files
        return file

    def read(self) -> pa.Table:
        """The new object, through the endpoint."""
        facts = self.stack.facts["s3"]
        store = fs.S3FileSystem(
            endpoint_override=facts["endpoint"],
            access_key=facts["access_key"],
            secret_key=facts["secret_key"],
            region=facts["region"],
        )
        return pq.read_table(self.target.removeprefix("s3://"), filesystem=store)

    @property
    def leftovers(self) -> tuple[list[str], list[str]]:
        """Keys besides the sources, and uploads that were neither completed nor aborted."""
        listed = self.client.list_objects_v2(Bucket=self.bucket, Prefix=self.prefix)
        uploads = self.client.list_multipart_uploads(Bucket=self.bucket, Prefix=self.prefix)
        known = {path.removeprefix(f"s3://{self.bucket}/") for path, _ in self.sources}
        keys = {found["Key"] for found in listed.get("Contents", [])}
        return sorted(keys - known), [found["Key"] for found in uploads.get("Uploads", [])]


@dataclass(frozen=True)
class Meddler:
    """A storage whose client does something else for one operation."""

    inner: Storage
    operation: str
    instead: Any
    upload_options: dict[str, str] = field(default_factory=dict)
    refusal: str | None = None

    def s3_client(self) -> Any:
        client, operation, instead = self.inner.s3_client(), self.operation, self.instead

        class Client:
            def __getattr__(self, name: str) -> Any:
                return instead if name == operation else getattr(client, name)

        return Client()


@pytest.fixture
def shelf(stack: RunningStack) -> Iterator[Shelf]:
    facts = stack.facts["s3"]
    storage = storage_of(
        {
            "s3.endpoint": facts["endpoint"],
            "s3.access-key-id": facts["access_key"],
            "s3.secret-access-key": facts["secret_key"],
            "client.region": facts["region"],
            "s3.path-style-access": "true",
        }
    )
    made = Shelf(stack, storage, f"splice-{uuid.uuid4().hex[:12]}")
    yield made
    listed = made.client.list_objects_v2(Bucket=made.bucket, Prefix=made.prefix)
    for found in listed.get("Contents", []):
        made.client.delete_object(Bucket=made.bucket, Key=found["Key"])


def refuse(code: str, status: int) -> Any:
    def call(**_: Any) -> None:
        answer = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
        raise ClientError(answer, "Operation")

    return call


def test_the_store_makes_a_file_that_engines_read(shelf: Shelf) -> None:
    shelf.put(*SIZES_MB)

    report = shelf.run()

    assert (report.engine, report.notes) == (Engine.REMOTE_COPY, ())
    assert isinstance(report.proof, StoreDigests)
    expected = pa.concat_tables(shelf.tables)
    assert (report.rows_out, len(report.split_offsets)) == (expected.num_rows, len(SIZES_MB))
    assert shelf.read().equals(expected)
    path = Path(shelf.stack.facts["s3"]["data_folder"], report.path.removeprefix("s3://"))
    question = f"SELECT count(*), sum(c1::hugeint), sum(c4::hugeint) FROM '{path}'"
    same = "SELECT count(*), sum(c1::hugeint), sum(c4::hugeint) FROM expected"
    assert duckdb.sql(question).fetchall() == duckdb.sql(same).fetchall()


def test_hardly_a_byte_passes_through_the_client(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.put(*SIZES_MB)
    stores: list[S3Store] = []

    class Kept(S3Store):
        def __init__(self, client: Any) -> None:
            super().__init__(client)
            stores.append(self)

    monkeypatch.setattr(s3, "S3Store", Kept)
    report = shelf.run()

    counts = stores[0].counts
    assert (counts.copies, counts.puts, counts.posts) == (len(SIZES_MB), 1, 2)
    # Footers; then the end, the beginning and the seams of the new file, the last one in its end.
    assert counts.gets == len(SIZES_MB) + 1 + len(SIZES_MB)
    assert report.requests == counts.requests
    assert counts.bytes_read + counts.bytes_sent <= 0.01 * report.size_bytes
    assert report.bytes_through_task <= 0.001 * report.size_bytes


def test_small_files_are_gathered(shelf: Shelf) -> None:
    shelf.put(12, 1, 2, 12, 0.5, 1)

    report = shelf.run()

    assert report.engine is Engine.REMOTE_COPY
    # Three small files and two loans, so that the gathered parts have 5 MiB.
    assert 5_000_000 < report.bytes_through_task < 7_000_000
    assert shelf.read().equals(pa.concat_tables(shelf.tables))


def test_files_that_are_all_small_go_through_the_client(shelf: Shelf) -> None:
    shelf.put(*[1.5] * 8)

    report = shelf.run()

    assert report.segments == {Engine.COPY: report.bytes_through_task}
    assert shelf.read().equals(pa.concat_tables(shelf.tables))


def test_a_store_without_copies_is_sent_the_bytes(shelf: Shelf) -> None:
    shelf.put(9, 12)

    report = shelf.run(Meddler(shelf.storage, "upload_part_copy", refuse("NotImplemented", 501)))

    assert (report.engine, report.notes) == (Engine.COPY, (NO_COPIES,))
    assert report.segments == {Engine.COPY: report.bytes_through_task}
    assert shelf.read().equals(pa.concat_tables(shelf.tables))
    assert shelf.leftovers == ([f"{shelf.prefix}/new.parquet"], [])


def test_a_failed_splice_leaves_nothing(shelf: Shelf) -> None:
    shelf.put(6, 6)

    with pytest.raises(ParquetError, match="upload_part with SlowDown"):
        shelf.run(Meddler(shelf.storage, "upload_part", refuse("SlowDown", 503)))
    assert shelf.leftovers == ([], [])


def test_a_completion_whose_answer_is_lost_counts(shelf: Shelf) -> None:
    shelf.put(6, 6)
    client = shelf.client

    def complete_and_lose(**parameters: Any) -> None:
        client.complete_multipart_upload(**parameters)
        refuse("InternalError", 500)()

    report = shelf.run(Meddler(shelf.storage, "complete_multipart_upload", complete_and_lose))

    assert report.rows_out == pa.concat_tables(shelf.tables).num_rows
    assert shelf.leftovers[1] == []


def test_an_object_that_is_there_already_is_refused(shelf: Shelf) -> None:
    shelf.put(6, 6)
    key = shelf.target.removeprefix(f"s3://{shelf.bucket}/")
    shelf.client.put_object(Bucket=shelf.bucket, Key=key, Body=b"precious")

    with pytest.raises(ParquetError, match="exists already"):
        shelf.run()

    # One that appears only after the first look is refused by the store.
    with pytest.raises(ParquetError, match="exists already"):
        shelf.run(Meddler(shelf.storage, "head_object", missing_once(shelf.client)))
    body = shelf.client.get_object(Bucket=shelf.bucket, Key=key)["Body"].read()
    assert (body, shelf.leftovers[1]) == (b"precious", [])


def missing_once(client: Any) -> Any:
    answers = [refuse("404", 404), client.head_object]
    return lambda **parameters: answers.pop(0)(**parameters)


def test_a_source_that_changed_since_its_footer_was_read_is_refused(shelf: Shelf) -> None:
    shelf.put(6, 6)
    store = S3Store(shelf.client)
    readers = [S3Reader(store, path) for path, _ in shelf.sources]
    plan = plan_splice([load_source(reader) for reader in readers])
    bucket, key = shelf.sources[1][0].removeprefix("s3://").split("/", 1)
    shelf.client.put_object(Bucket=bucket, Key=key, Body=os.urandom(shelf.sources[1][1]))

    with pytest.raises(ParquetError, match="changed while it was being copied"):
        splice_in_s3(plan, plan_upload(plan), store, shelf.target, readers)
    assert shelf.leftovers == ([], [])


def test_a_source_of_another_size_than_its_manifest_says_is_refused(shelf: Shelf) -> None:
    shelf.put(6)
    path, size = shelf.sources[0]
    shelf.sources[0] = (path, size - 1)

    with pytest.raises(ParquetError, match="its manifest says"):
        shelf.run()


def test_secrets_are_not_shown(shelf: Shelf) -> None:
    facts = shelf.stack.facts["s3"]
    shelf.put(6)
    wrong = storage_of({"s3.endpoint": facts["endpoint"], "client.region": facts["region"]})
    settings = {"aws_access_key_id": "somebody", "aws_secret_access_key": "my-secret"}
    wrong = replace(wrong, settings={**wrong.settings, **settings}, path_style=True)

    with pytest.raises(ParquetError) as caught:
        shelf.run(wrong)
    said = f"{caught.value!r} {caught.value.__cause__!r} {wrong!r}"
    assert "my-secret" not in said
    assert "somebody" not in said
