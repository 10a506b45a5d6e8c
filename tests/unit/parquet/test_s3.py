"""Reading objects of a store: whole ranges of one object, or an error that says what happened."""

from __future__ import annotations

import io

import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError
from botocore.response import StreamingBody
from tests.unit.parquet.fake_s3 import Answer, FakeS3, error

from neve.model.errors import ParquetCorrupt, ParquetError, ParquetUnsupported
from neve.storage.s3 import S3Reader, S3Refused, S3Store, combined_etag, split_location

DATA = bytes(range(256)) * 4


@pytest.fixture
def client() -> FakeS3:
    client = FakeS3()
    client.put("a", DATA)
    return client


@pytest.fixture
def store(client: FakeS3) -> S3Store:
    return S3Store(client)


def cut_short(answer: Answer) -> None:
    body = answer["Body"].read()[:-1]
    answer["Body"] = StreamingBody(io.BytesIO(body), len(body) + 1)


def test_one_request_opens_an_object_and_reads_its_end(store: S3Store) -> None:
    reader = S3Reader(store, "s3://b/a", tail_bytes=100)

    assert (reader.path, reader.size_bytes) == ("s3://b/a", 1024)
    assert reader.read_at(1000, 24) == DATA[1000:]
    assert (store.counts.gets, store.counts.requests, store.counts.bytes_read) == (1, 1, 100)


def test_other_ranges_are_asked_for(store: S3Store, client: FakeS3) -> None:
    reader = S3Reader(store, "s3://b/a", tail_bytes=100)

    assert reader.read_at(900, 30) == DATA[900:930]
    assert client.calls[-1][1]["Range"] == "bytes=900-929"
    assert reader.read_at(900, 0) == b""
    assert store.counts.bytes_read == 130


def test_a_tail_that_is_forgotten_is_asked_for_again(store: S3Store) -> None:
    reader = S3Reader(store, "s3://b/a")
    reader.forget_tail()

    assert reader.read_at(1000, 24) == DATA[1000:]
    assert store.counts.gets == 2


def test_reading_past_the_end_is_an_error(store: S3Store) -> None:
    with pytest.raises(ParquetCorrupt, match="0 of the 25 bytes expected at offset 1000"):
        S3Reader(store, "s3://b/a").read_at(1000, 25)


def test_an_empty_object_has_no_end(store: S3Store, client: FakeS3) -> None:
    client.put("empty", b"")

    assert S3Reader(store, "s3://b/empty").size_bytes == 0


def test_a_missing_object_is_named(store: S3Store) -> None:
    with pytest.raises(ParquetError, match=r"s3://b/none: .* get_object with NoSuchKey"):
        S3Reader(store, "s3://b/none")


def test_a_change_under_the_reader_is_noticed(store: S3Store, client: FakeS3) -> None:
    reader = S3Reader(store, "s3://b/a", tail_bytes=1)
    client.put("a", DATA[::-1])

    with pytest.raises(ParquetError, match="s3://b/a changed while it was being copied"):
        reader.read_at(0, 10)


def test_a_change_is_noticed_where_the_store_ignores_conditions(
    store: S3Store, client: FakeS3
) -> None:
    reader = S3Reader(store, "s3://b/a", tail_bytes=1)
    client.put("a", DATA[::-1])
    client.inject("get_object", lambda parameters: parameters.pop("IfMatch"))

    with pytest.raises(ParquetError, match="changed"):
        reader.read_at(0, 10)


@pytest.mark.parametrize("times", [1, 2])
def test_an_answer_that_breaks_off_is_asked_for_again(
    store: S3Store, client: FakeS3, times: int
) -> None:
    reader = S3Reader(store, "s3://b/a", tail_bytes=1)
    client.inject("get_object", cut_short, after=True, times=times)

    assert reader.read_at(0, 10) == DATA[:10]
    assert store.counts.gets == 2 + times


def test_answers_that_always_break_off_are_an_error(store: S3Store, client: FakeS3) -> None:
    client.inject("get_object", cut_short, after=True, times=3)

    with pytest.raises(ParquetError, match="the answers broke off") as caught:
        S3Reader(store, "s3://b/a")
    assert caught.value.__cause__ is not None


def test_a_store_without_ranges_is_not_read_from(store: S3Store, client: FakeS3) -> None:
    client.inject("get_object", lambda answer: answer.pop("ContentRange"), after=True)

    with pytest.raises(ParquetError, match="does not hand out ranges"):
        S3Reader(store, "s3://b/a")


def test_no_answer_at_all_is_an_error_that_tells_no_address(store: S3Store, client: FakeS3) -> None:
    secret = "http://user:secret@host"
    client.inject("get_object", EndpointConnectionError(endpoint_url=secret))

    with pytest.raises(S3Refused, match=r"got no answer \(EndpointConnectionError\)") as caught:
        S3Reader(store, "s3://b/a")
    assert "secret" not in str(caught.value)


def test_requests_that_the_client_repeats_are_counted(store: S3Store, client: FakeS3) -> None:
    client.inject(
        "get_object",
        lambda answer: answer.update(ResponseMetadata={"RetryAttempts": 3}),
        after=True,
    )
    S3Reader(store, "s3://b/a")

    assert store.counts.requests == 4


@pytest.mark.parametrize(
    ("failure", "found"),
    [(None, True), (error("404", 404), False), (error("403", 403), None)],
)
def test_existence_is_yes_no_or_unknown(
    store: S3Store, client: FakeS3, failure: Exception | None, found: bool | None
) -> None:
    if failure:
        client.inject("head_object", failure)

    assert store.exists("s3://b/a") is found


def test_a_store_that_is_down_is_no_answer_about_existence(store: S3Store, client: FakeS3) -> None:
    client.inject("head_object", ConnectTimeoutError(endpoint_url="x"))

    with pytest.raises(S3Refused):
        store.exists("s3://b/a")


def test_a_digest_that_is_not_ours_is_an_error(store: S3Store, client: FakeS3) -> None:
    upload_id = store.begin("s3://b/new", {})
    client.inject("upload_part", lambda answer: answer.update(ETag=f'"{"0" * 32}"'), after=True)

    with pytest.raises(ParquetError, match="other bytes than were sent"):
        store.send_part("s3://b/new", upload_id, 1, b"data")


@pytest.mark.parametrize("kms", [False, True])
def test_an_opaque_etag_is_taken_as_it_is(kms: bool) -> None:
    client = FakeS3(kms=kms)
    client.digest = lambda _: "f" * 32 if kms else "opaque"
    store = S3Store(client)

    part = store.send_part("s3://b/new", store.begin("s3://b/new", {}), 1, b"data")

    assert (part.etag, part.has_own_key) == ("f" * 32 if kms else "opaque", kms)


@pytest.mark.parametrize("key", ["a", "a b/c%20d+ü?x=1#y", "/a//b"])
def test_keys_are_taken_as_they_are(key: str) -> None:
    assert split_location(f"s3://bucket/{key}") == ("bucket", key)


@pytest.mark.parametrize("location", ["s3a://b/k", "s3n://b/k", "s3://b", "s3:///k", "/b/k", ""])
def test_other_locations_are_refused(location: str) -> None:
    with pytest.raises(ParquetUnsupported, match="not an object of the form s3://bucket/key"):
        split_location(location)


def test_the_etag_of_parts_is_what_s3_says() -> None:
    parts = ["133f050d05775fa9828bdea4d6071453", "52451a3a3e81cebf9c4373f0bc7f7d21"]

    assert combined_etag(parts) == "21972a6726738ef89a42d8f1f85e0125-2"
