"""A task over a store: what it refuses, what it reports, and how it treats its storage."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.parquet.fake_s3 import FakeS3

from neve.model.errors import ParquetError
from neve.model.rewrite import LeafColumn, SpliceOrder, SpliceReport, SpliceRequirements
from neve.spark.rewrite import task_s3
from neve.spark.rewrite.task import run_order
from neve.storage import access as storage
from neve.storage.access import storage_of

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
            table = pa.table([pa.array(range(count), pa.int64())], schema=pa.schema([column]))
            pq.write_table(table, sink, use_dictionary=False, compression="none")
            self.client.put(f"{number}", sink.getvalue())
            named.append((f"{scheme}://b/{number}", len(sink.getvalue())))
        return tuple(named)


@pytest.fixture
def fake() -> FakeStorage:
    return FakeStorage()


def run(fake: FakeStorage, sources: tuple[tuple[str, int], ...], attempt: int = 0) -> SpliceReport:
    order = SpliceOrder(7, sources, ("s3://b/new-0", "s3://b/new-1"))
    return run_order(order, WANTED, fake, attempt)


def test_a_report_tells_how_the_store_made_the_file(fake: FakeStorage) -> None:
    sources = fake.put(700_000, 700_000, 10)

    report = run(fake, sources)

    assert (report.group_id, report.refused, report.path) == (7, None, "s3://b/new-0")
    assert (report.engine, report.rows, report.row_groups) == ("remote_copy", 1_400_010, 3)
    # Ten numbers of eight bytes and their page header.
    assert report.bytes_through_task == 151
    # Footers, a look at the name, begin, copies, a part sent, complete; end, beginning and a spot.
    assert report.requests == 3 + 1 + 1 + 2 + 1 + 1 + 3
    assert report.checksum is not None


def test_a_file_of_small_pieces_was_not_copied_by_the_store(fake: FakeStorage) -> None:
    report = run(fake, fake.put(10, 10))

    assert (report.engine, report.bytes_through_task) == ("copy", report.copied_bytes)


def test_a_later_attempt_writes_its_own_name_and_reports_the_earlier(fake: FakeStorage) -> None:
    report = run(fake, fake.put(10, 10), attempt=1)

    assert (report.path, report.leftovers) == ("s3://b/new-1", ("s3://b/new-0",))


def test_footers_that_say_no_are_a_refusal(fake: FakeStorage) -> None:
    order = SpliceOrder(7, fake.put(10), ("s3://b/new-0",))
    wanted = SpliceRequirements((LeafColumn(2, "long"),), None, False, 0)

    report = run_order(order, wanted, fake, 0)

    assert report.refused == "s3://b/0: column a is not in the current schema"
    assert not fake.client.called("create_multipart_upload")


def test_sources_with_another_scheme_are_refused(fake: FakeStorage) -> None:
    report = run(fake, fake.put(10, scheme="s3a"))

    assert report.refused == "s3a://b/0 is not an object of the form s3://bucket/key."


def test_a_storage_that_is_not_ours_to_write_is_refused(fake: FakeStorage) -> None:
    fake.refusal = "requests to the store are signed by the catalog"

    report = run(fake, fake.put(10))

    assert report.refused == "s3://b/new-0: requests to the store are signed by the catalog."
    assert not fake.client.calls


def test_a_source_of_another_size_than_its_manifest_says_is_an_error(fake: FakeStorage) -> None:
    ((path, size),) = fake.put(10)

    with pytest.raises(ParquetError, match="its manifest says 1"):
        run(fake, ((path, 1),))
    assert size != 1


def test_many_sources_do_not_keep_their_ends(
    fake: FakeStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_s3, "TAILS_KEPT", 1)
    run(fake, fake.put(10, 10))

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
