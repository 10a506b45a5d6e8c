"""A task: what it refuses, how it falls down its ladder, what it reports, and its storage."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.parquet.fake_s3 import FakeS3

from neve.model.errors import ParquetCorrupt, ParquetError
from neve.model.facts import DeleteFileFacts, DeleteKind
from neve.model.policy import Engine
from neve.model.rewrite import (
    BytesCompared,
    LeafColumn,
    RewriteTask,
    SourceRange,
    SpliceRequirements,
    StoreDigests,
    TaskInput,
    TaskResult,
    WrittenFile,
)
from neve.parquet import remote
from neve.planning.engines import ENGINES
from neve.spark.rewrite import inputs, objects
from neve.spark.rewrite.task import run_task, writer_of
from neve.storage import access as storage
from neve.storage.access import storage_of
from neve.testing.facts import delete_file

WANTED = SpliceRequirements((LeafColumn(1, "long"),), None, False, 0)
SECRETS = {"s3.access-key-id": "somebody", "s3.secret-access-key": "my-secret"}


@dataclass
class FakeStorage:
    """A storage whose client is a fake."""

    client: FakeS3 = field(default_factory=lambda: FakeS3(min_part_bytes=5 * 1024 * 1024))
    upload_options: dict[str, str] = field(default_factory=dict)
    refusal: str | None = None

    def s3_client(self) -> FakeS3:
        return self.client

    def put(self, *rows: int, scheme: str = "s3") -> tuple[tuple[str, int], ...]:
        """Sources as an order names them."""
        named = []
        for number, count in enumerate(rows):
            sink = io.BytesIO()
            column = pa.field("a", pa.int64(), metadata={"PARQUET:field_id": "1"})
            table = pa.table([pa.array(np.arange(count))], schema=pa.schema([column]))
            pq.write_table(table, sink, use_dictionary=False, compression="none")
            self.client.put(f"{number}", sink.getvalue())
            named.append((f"{scheme}://b/{number}", len(sink.getvalue())))
        return tuple(named)


@pytest.fixture
def fake() -> FakeStorage:
    return FakeStorage()


STORE = (Engine.REMOTE_COPY, Engine.COPY)


def task_of(
    sources: tuple[tuple[str, int], ...],
    *,
    outputs: int = 1,
    ladder: tuple[Engine, ...] = STORE,
    root: str = "s3://b/new",
    deletes: tuple[DeleteFileFacts, ...] = (),
) -> RewriteTask:
    names = tuple(
        tuple(f"{root}-{output}-{number}" for number in range(2 * len(ladder)))
        for output in range(outputs)
    )
    return RewriteTask(7, tuple(TaskInput(*s) for s in sources), deletes, names, ladder)


def run(fake: FakeStorage, task: RewriteTask, attempt: int = 0) -> TaskResult:
    return run_task(task, WANTED, fake, attempt)


def only(result: TaskResult) -> WrittenFile:
    (file,) = result.files
    return file


def test_a_result_tells_how_the_store_made_the_file(fake: FakeStorage) -> None:
    sources = fake.put(700_000, 700_000, 10)

    result = run(fake, task_of(sources))

    file = only(result)
    assert (result.group_id, result.refused, file.path) == (7, None, "s3://b/new-0-0")
    assert (file.engine, file.inputs) == (Engine.REMOTE_COPY, (0, 1, 2))
    assert (file.rows_in, file.rows_deleted, file.rows_out) == (1_400_010, 0, 1_400_010)
    # Ten numbers of eight bytes and their page header.
    assert file.bytes_through_task == file.segments[Engine.COPY] == 151
    assert file.segments[Engine.REMOTE_COPY] > 2 * 700_000 * 8
    # Footers, a look at the name, begin, copies, a part sent, complete; end, beginning and a spot.
    assert file.requests == 3 + 1 + 1 + 2 + 1 + 1 + 3
    assert isinstance(file.proof, StoreDigests)
    assert file.proof.problem is None


def test_a_file_of_small_pieces_was_not_copied_by_the_store(fake: FakeStorage) -> None:
    file = only(run(fake, task_of(fake.put(10, 10))))

    assert file.segments == {Engine.COPY: file.bytes_through_task}


def test_an_object_goes_through_the_task_where_that_is_the_ladder(fake: FakeStorage) -> None:
    file = only(run(fake, task_of(fake.put(700_000, 10), ladder=(Engine.COPY,))))

    assert (file.engine, file.rows_out) == (Engine.COPY, 700_010)
    assert file.segments == {Engine.COPY: file.bytes_through_task}
    assert not fake.client.called("upload_part_copy")


def test_bytes_that_were_read_back_are_proven_by_that(fake: FakeStorage) -> None:
    fake.client.digest = lambda data: f"opaque-{len(data)}"

    file = only(run(fake, task_of(fake.put(700_000, 10))))

    size = sum(file.segments.values())
    assert file.proof == BytesCompared(size, size)


@pytest.mark.conformance("retried and speculative tasks", engines=("copy",))
def test_a_later_attempt_writes_its_own_name_and_reports_the_earlier(fake: FakeStorage) -> None:
    result = run(fake, task_of(fake.put(10, 10)), attempt=1)

    assert only(result).path == "s3://b/new-0-2"
    assert result.leftovers == ("s3://b/new-0-0", "s3://b/new-0-1")


def test_a_refusal_falls_to_the_next_engine_inside_the_task(
    fake: FakeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = fake.put(700_000, 700_000)
    # The store's own copies would be two parts and the footer.
    monkeypatch.setattr(remote, "MAX_PARTS", 2)

    result = run(fake, task_of(sources))

    file = only(result)
    assert (result.refused, file.engine, file.path) == (None, Engine.COPY, "s3://b/new-0-1")
    assert "An upload of 3 parts is over the limit of 2." in file.notes
    # Footers are read once for all engines of the ladder.
    opened = [call for call in fake.client.called("get_object") if "new" not in call["Key"]]
    assert len([call for call in opened if call["Range"].startswith("bytes=-")]) == 2


def test_what_an_engine_wrote_before_it_refused_is_a_leftover(
    fake: FakeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, written = objects.splice_in_s3, []

    def once(*arguments: Any, **options: Any) -> Any:
        if len(written) == 1:
            written.append(None)
            raise ParquetCorrupt("The second one came out wrong.")
        written.append(real(*arguments, **options))
        return written[-1]

    monkeypatch.setattr(objects, "splice_in_s3", once)

    result = run(fake, task_of(fake.put(10, 10), outputs=2))

    assert [file.path for file in result.files] == ["s3://b/new-0-1", "s3://b/new-1-1"]
    assert result.leftovers == ("s3://b/new-0-0",)


def test_several_outputs_share_the_inputs_and_each_is_proven(fake: FakeStorage) -> None:
    result = run(fake, task_of(fake.put(100, 100, 100, 100), outputs=2))

    assert [file.inputs for file in result.files] == [(0, 1), (2, 3)]
    assert [file.rows_out for file in result.files] == [200, 200]
    assert result.files[1].ranges == tuple(SourceRange(f"s3://b/{n}", 0, 100) for n in (2, 3))
    assert sum(file.requests for file in result.files) == len(fake.client.calls)


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_local_files_are_compared_byte_by_byte(tmp_path: Path, outputs: int) -> None:
    sources = []
    for number in range(3):
        column = pa.field("a", pa.int64(), metadata={"PARQUET:field_id": "1"})
        table = pa.table([pa.array(range(50), pa.int64())], schema=pa.schema([column]))
        pq.write_table(table, tmp_path / f"{number}.parquet")
        size = (tmp_path / f"{number}.parquet").stat().st_size
        sources.append((f"file://{tmp_path}/{number}.parquet", size))
    task = task_of(
        tuple(sources), outputs=outputs, ladder=(Engine.COPY,), root=f"file://{tmp_path}/new/f"
    )

    result = run_task(task, WANTED, storage_of({}), 0)

    assert sum(file.rows_out for file in result.files) == 150
    for file in result.files:
        size = file.segments[Engine.COPY]
        assert file.proof == BytesCompared(size, size)
    read = [pq.read_table(file.path.removeprefix("file://")) for file in result.files]
    assert pa.concat_tables(read).num_rows == 150


def test_the_stores_copy_of_local_files_is_refused_before_anything_is_read() -> None:
    task = task_of((("file:///nowhere", 1),), ladder=(Engine.REMOTE_COPY,), root="file:///new")

    assert run_task(task, WANTED, storage_of({}), 0).refused == (
        "Only S3 objects are copied by their store."
    )


def test_objects_are_not_copied_into_local_files() -> None:
    task = task_of((("s3://b/0", 1),), ladder=(Engine.COPY,), root="file:///new")

    refused = run_task(task, WANTED, storage_of({}), 0).refused

    assert refused == "s3://b/0 is an object, and the new file would be none."


def test_what_arrow_does_not_do_is_a_refusal(
    fake: FakeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object) -> None:
        raise pa.ArrowNotImplementedError("Codec type LZO not supported")

    real = writer_of(Engine.COPY)
    monkeypatch.setattr(
        "neve.spark.rewrite.task.writer_of", lambda one: real if one is Engine.COPY else write
    )

    result = run(fake, task_of(fake.put(700_000, 10)))

    why = "Arrow does not do this: Codec type LZO not supported"
    assert (only(result).engine, only(result).notes[0]) == (Engine.COPY, why)
    assert "s3://b/new-0-0" in result.leftovers


@pytest.mark.parametrize("ladder", [STORE, (Engine.COPY,)])
def test_no_engine_that_copies_takes_files_with_deletes(
    fake: FakeStorage, ladder: tuple[Engine, ...]
) -> None:
    deletes = (delete_file("d", DeleteKind.POSITION),)

    result = run(fake, task_of(fake.put(10), ladder=ladder, deletes=deletes))

    assert result.refused == "Deletes must be applied, which a copy cannot."
    assert not fake.client.calls


def test_every_engine_that_runs_in_a_task_has_a_file_of_its_name() -> None:
    for row in ENGINES:
        if row.runs_in_task:
            assert callable(writer_of(row.engine))


def test_footers_that_say_no_are_a_refusal(fake: FakeStorage) -> None:
    wanted = SpliceRequirements((LeafColumn(2, "long"),), None, False, 0)

    report = run_task(task_of(fake.put(10)), wanted, fake, 0)

    assert report.refused == "s3://b/0: column a is not in the current schema"
    assert not fake.client.called("create_multipart_upload")


def test_sources_with_another_scheme_are_refused(fake: FakeStorage) -> None:
    report = run(fake, task_of(fake.put(10, scheme="s3a")))

    assert report.refused == "s3a://b/0 is not an object of the form s3://bucket/key."


def test_a_storage_that_is_not_ours_to_write_is_refused(fake: FakeStorage) -> None:
    fake.refusal = "requests to the store are signed by the catalog"

    report = run(fake, task_of(fake.put(10)))

    assert report.refused == "s3://b/0: requests to the store are signed by the catalog."
    assert not fake.client.calls


def test_a_source_of_another_size_than_its_manifest_says_is_an_error(fake: FakeStorage) -> None:
    ((path, size),) = fake.put(10)

    with pytest.raises(ParquetError, match="its manifest says 1"):
        run(fake, task_of(((path, 1),)))
    assert size != 1


def test_many_sources_do_not_keep_their_ends(
    fake: FakeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "TAILS_KEPT", 1)
    run(fake, task_of(fake.put(10, 10)))

    # Each end, each piece of data, and the new file's end and beginning.
    assert len(fake.client.called("get_object")) == 2 + 2 + 1


def test_new_objects_are_given_what_the_table_gives_its_own() -> None:
    found = storage_of(
        {
            "s3.sse.type": "kms",
            "s3.sse.key": "key-1",
            "s3.acl": "private",
            "s3.write.storage-class": "STANDARD_IA",
            "s3.write.tags.team": "a b",
            "s3.write.tags.cost": "1",
        }
    )

    assert (found.refusal, found.upload_options) == (
        None,
        {
            "ACL": "private",
            "StorageClass": "STANDARD_IA",
            "Tagging": "cost=1&team=a+b",
            "ServerSideEncryption": "aws:kms",
            "SSEKMSKeyId": "key-1",
        },
    )


@pytest.mark.parametrize(
    ("properties", "refusal"),
    [
        ({"s3.sse.type": "none"}, None),
        ({"s3.sse.type": "s3"}, None),
        ({"s3.sse.type": "custom"}, "objects are encrypted with a key"),
        ({"s3.remote-signing-enabled": "true"}, "requests to the store are signed"),
    ],
)
def test_what_only_the_tables_own_io_can_write_is_refused(
    properties: dict[str, str], refusal: str | None
) -> None:
    found = storage_of(properties).refusal

    assert found == refusal or (found or "").startswith(refusal or "never")


def test_a_storage_travels_and_shows_no_secret() -> None:
    found = storage_of({**SECRETS, "s3.path-style-access": "true", "s3.write.tags.a": "secret"})

    assert pickle.loads(pickle.dumps(found)) == found
    assert "secret" not in repr(found)
    assert "somebody" not in repr(found)


def test_tasks_of_one_worker_share_a_client() -> None:
    storage._client.cache_clear()
    one = {**SECRETS, "client.region": "us-east-1"}

    first = storage_of(one).s3_client()

    assert storage_of(one).s3_client() is first
    assert storage_of({**one, "s3.session-token": "t"}).s3_client() is not first
    assert storage_of({**one, "s3.path-style-access": "true"}).s3_client() is not first
    storage._client.cache_clear()


def test_names_of_other_attempts_are_those_before_and_after(fake: FakeStorage) -> None:
    task = task_of(fake.put(10), outputs=2, ladder=(Engine.COPY,))

    assert task.names_before(1) == ("s3://b/new-0-0", "s3://b/new-1-0")
    assert task.names_after(0) == ("s3://b/new-0-1", "s3://b/new-1-1")
    assert (task.names_after(1), task.names_before(0)) == ((), ())


def test_an_attempt_without_a_name_of_its_own_writes_nothing(fake: FakeStorage) -> None:
    task = task_of(fake.put(10), ladder=(Engine.COPY,))

    result = run(fake, task, attempt=2)

    assert (result.files, result.attempt) == ((), 2)
    assert "no names are left" in str(result.refused)
    # Those of all attempts before, which may still be writing.
    assert result.leftovers == ("s3://b/new-0-0", "s3://b/new-0-1")


def test_a_result_says_which_attempt_it_is_of(fake: FakeStorage) -> None:
    result = run(fake, task_of(fake.put(10)), attempt=1)

    assert (result.attempt, only(result).path) == (1, "s3://b/new-0-2")
