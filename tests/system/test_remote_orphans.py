"""Orphans of a table in S3: listed by tasks, deleted by the table's own FileIO."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.system.engine_fixtures import CATALOG, make_app

from neve.app import App, utc_now
from neve.model.orphans import KeptReason, OrphanRules
from neve.model.table import TableRef
from neve.service.operations.remove_orphan_files import find_orphans
from neve.spark.tables import load_table, spark_name
from neve.storage.access import storage_of
from neve.testing.lake import SilentReporter
from neve.testing.operations import change_orphans

RULES = OrphanRules(purge_delay_seconds=0, max_orphan_ratio=0.9)
STRAYS = ("data/stray.parquet", "data/a b.parquet", "data/c%20d.parquet", "metadata/x+y.avro")


@pytest.fixture
def app(spark: SparkSession, rest_catalogs: dict[str, dict[str, str]], tmp_path: Path) -> App:
    return make_app(spark, rest_catalogs, tmp_path / "state.db", SilentReporter())


@pytest.fixture
def table(spark: SparkSession) -> Iterator[TableRef]:
    ref = TableRef(CATALOG, (f"n{uuid.uuid4().hex[:12]}",), "events")
    spark.sql(f"CREATE NAMESPACE {CATALOG}.{ref.namespace[0]}")
    spark.sql(f"CREATE TABLE {spark_name(ref)} (id BIGINT) USING iceberg")
    spark.range(3).writeTo(spark_name(ref)).append()
    spark.range(3).writeTo(spark_name(ref)).append()
    yield ref
    for row in spark.sql(f"SHOW TABLES IN {CATALOG}.{ref.namespace[0]}").collect():
        spark.sql(f"DROP TABLE {CATALOG}.{ref.namespace[0]}.{row['tableName']} PURGE")
    spark.sql(f"DROP NAMESPACE {CATALOG}.{ref.namespace[0]}")


def test_objects_that_nothing_reaches_are_deleted_and_all_others_stay(
    app: App, table: TableRef
) -> None:
    loaded = load_table(app.spark.session, table)
    client = storage_of(dict(loaded.io().properties())).s3_client()
    bucket, _, key = loaded.location().removeprefix("s3://").partition("/")
    for name in (*STRAYS, "data/_hidden"):
        client.put_object(Bucket=bucket, Key=f"{key}/{name}", Body=b"stray")
    # In nine days all of it is old.
    services = replace(app.maintenance, clock=lambda: utc_now() + timedelta(days=9))
    before = _keys(client, bucket, key)

    report = find_orphans(services, table, RULES)
    assert {orphan.path for orphan in report.orphans} == {
        f"{loaded.location()}/{name}" for name in STRAYS
    }
    assert all(orphan.etag for orphan in report.orphans)
    assert report.kept[KeptReason.HIDDEN].files == 1
    change_orphans(services, table, RULES, quarantine=True, log=False)
    assert _keys(client, bucket, key) == before
    outcome = change_orphans(services, table, RULES, purge=True, log=False)

    assert outcome.figures_after["purged_files"] == len(STRAYS)
    assert before - _keys(client, bucket, key) == {f"{key}/{name}" for name in STRAYS}
    assert app.spark.session.table(spark_name(table)).count() == 6


def _keys(client: object, bucket: str, prefix: str) -> set[str]:
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")  # type: ignore[attr-defined]
    return {item["Key"] for page in pages for item in page.get("Contents", ())}
