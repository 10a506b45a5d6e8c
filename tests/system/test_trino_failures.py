"""Parts of the lakehouse that break while it is maintained."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from typing import Any

import pytest

from neve.model.errors import CatalogError
from neve.trino import Outcome, maintain_schema, maintain_table
from neve.trino.connect import trino_errors

pytestmark = pytest.mark.promise(31)


def maintain(lake: Any, table: str, cursor: Any = None) -> list[Outcome]:
    return maintain_table(cursor or lake.cursor, table, settings=lake.settings(), **common())


def common() -> dict[str, Any]:
    return {
        "run_id": "run-1",
        "clock": lambda: datetime.now(UTC),
        "errors": trino_errors(),
    }


def statuses(outcomes: list[Outcome]) -> list[str]:
    return [str(outcome.status) for outcome in outcomes]


def test_an_unreachable_trino_ends_the_run_before_any_maintenance(trino_connect) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        cursor = trino_connect(port=nobody.getsockname()[1], max_attempts=1).cursor()

        with pytest.raises(CatalogError, match="did not list the tables") as raised:
            maintain_schema(cursor, **common())

    assert "Connection refused" in str(raised.value)


def test_trino_vanishing_under_an_open_connection_fails_each_operation(lake, stack) -> None:
    lake.make_table("sales", files=2)

    with stack.without("trino"):
        outcomes = maintain(lake, "sales")

    assert statuses(outcomes) == ["failed"] * 3
    assert all("was not written" in outcome.reason for outcome in outcomes)
    assert statuses(maintain(lake, "sales")) == ["succeeded"] * 3


def test_a_catalog_that_is_down_fails_each_operation_and_recovers(lake, stack) -> None:
    lake.make_table("sales", files=3)
    rows = lake.rows("sales")

    with stack.without("rest"):
        outcomes = maintain(lake, "sales")
        with pytest.raises(CatalogError):
            maintain_schema(lake.cursor, settings=lake.settings(), **common())

    assert statuses(outcomes) == ["failed"] * 3
    assert all("was not written" in outcome.reason for outcome in outcomes)
    assert statuses(maintain(lake, "sales")) == ["succeeded"] * 3
    assert lake.rows("sales") == rows


def test_a_storage_that_is_down_fails_each_operation_and_recovers(
    lake, stack, trino_connect
) -> None:
    """The catalog tries for minutes to read metadata: the session's limit ends each statement."""
    lake.make_table("sales", files=3)
    rows = lake.rows("sales")
    impatient = trino_connect(session_properties={"query_max_run_time": "2s"}).cursor()

    with stack.without("s3"):
        outcomes = maintain(lake, "sales", impatient)

    assert statuses(outcomes) == ["failed"] * 3
    assert all("was not written" in outcome.reason for outcome in outcomes)
    assert lake.rows("sales") == rows
    assert statuses(maintain(lake, "sales")) == ["succeeded"] * 3


def test_one_broken_table_leaves_the_others_alone(lake, stack) -> None:
    for table in ("a", "b", "c"):
        lake.make_table(table, files=2)
    broken = lake.folder("b", stack) / "metadata"
    for metadata in broken.glob("*.metadata.json"):
        metadata.unlink()

    outcomes = maintain_schema(lake.cursor, settings=lake.settings(), **common())

    assert statuses(outcomes) == ["succeeded"] * 3 + ["failed"] * 3 + ["succeeded"] * 3
    assert sorted({(table, status) for table, _, status in lake.log()}) == [
        ("a", "completed"),
        ("b", "failed"),
        ("c", "completed"),
    ]


def test_one_failing_operation_leaves_the_others_alone(lake, stack) -> None:
    """Without one of its files a table cannot be compacted, but its metadata is sound."""
    lake.make_table("sales", files=3)
    lost, *_ = (lake.folder("sales", stack) / "data").rglob("*.parquet")
    lost.unlink()

    outcomes = maintain(lake, "sales")

    assert statuses(outcomes) == ["failed", "succeeded", "succeeded"]
    assert lost.name in outcomes[0].reason
    assert outcomes[0].figures_before == outcomes[0].figures_after
    assert lake.log("operation, status, details") == [
        [operation, status, outcome.reason]
        for operation, status, outcome in zip(
            ("optimize", "expire_snapshots", "remove_orphan_files"),
            ("failed", "completed", "completed"),
            outcomes,
            strict=True,
        )
    ]


def test_a_broken_log_table_does_not_hide_the_outcomes(lake) -> None:
    lake.make_table("sales", files=3)
    lake.sql(f"CREATE TABLE {lake.name('_maintenance_log')} (something_else integer)")

    outcomes = maintain(lake, "sales")

    assert statuses(outcomes) == ["succeeded"] * 3
    assert outcomes[0].reason.startswith("3 files became 1. The maintenance log was not written")
    assert all("table_name" in outcome.reason for outcome in outcomes)


@pytest.mark.may_skip("a bucket with a quota needs the right to mount a tmpfs")
def test_a_quota_exceeded_while_compacting_leaves_the_table_as_it_was(small_bucket, lake) -> None:
    lake.make_table("sales", files=0, location=f"s3://{small_bucket.name}/sales")
    # Hashes do not compress: 640 kB per insert, so that the table and its copy do not both fit.
    for _ in range(5):
        lake.sql(
            f"INSERT INTO {lake.name('sales')} SELECT n, to_hex(sha512(to_utf8(uuid_text))) FROM "
            "(SELECT n, cast(uuid() AS varchar) AS uuid_text FROM UNNEST(sequence(1, 8000)) u(n))"
        )
    rows = lake.rows("sales")

    optimize, *others = maintain(lake, "sales")

    assert optimize.status == "failed"
    assert optimize.figures_before == optimize.figures_after
    assert lake.rows("sales") == rows
    assert statuses(others) == ["succeeded"] * 2
    small_bucket.resize(50_000_000)
    assert maintain(lake, "sales")[0].reason == "5 files became 1."
    assert lake.rows("sales") == rows
