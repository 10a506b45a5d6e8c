"""A compaction through Spark and the REST catalog, in which the S3 server copies the row groups."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.system.engine_fixtures import CATALOG, make_app

from neve.app import App
from neve.model.facts import PROOF_PROPERTY
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Engine
from neve.model.table import TableRef
from neve.spark.tables import spark_name
from neve.testing.lake import SilentReporter

FILES = 6
ROWS_PER_FILE = 110_000


@pytest.fixture
def app(spark: SparkSession, rest_catalogs: dict[str, dict[str, str]], tmp_path: Path) -> App:
    return make_app(spark, rest_catalogs, tmp_path / "state.db", SilentReporter())


@pytest.fixture
def table(app: App) -> Iterator[TableRef]:
    """Files of about 7 MB, one row group each, that hardly compress."""
    ref = TableRef(CATALOG, (f"n{uuid.uuid4().hex[:12]}",), "events")
    session = app.spark.session
    session.sql(f"CREATE NAMESPACE {CATALOG}.{ref.namespace[0]}")
    session.sql(
        f"CREATE TABLE {spark_name(ref)} (id BIGINT, noise STRING) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode' = 'none', 'format-version' = '2')"
    )
    rows = session.range(0, FILES * ROWS_PER_FILE, 1, FILES)
    rows.selectExpr("id", "sha2(cast(id AS string), 512) AS noise").writeTo(
        spark_name(ref)
    ).append()
    yield ref
    for row in session.sql(f"SHOW TABLES IN {CATALOG}.{ref.namespace[0]}").collect():
        session.sql(f"DROP TABLE {CATALOG}.{ref.namespace[0]}.{row['tableName']} PURGE")
    session.sql(f"DROP NAMESPACE {CATALOG}.{ref.namespace[0]}")


def test_the_store_compacts_a_table_and_no_row_changes(app: App, table: TableRef) -> None:
    session, maintenance = app.spark.session, app.maintenance
    row_hash = "cast(xxhash64(id, noise) AS decimal(20))"
    digest = f"SELECT count(*), sum({row_hash}) FROM {spark_name(table)}"
    before = session.sql(digest).collect()
    files = maintenance.surveyor.survey(table).data_files
    assert min(file.size_bytes for file in files) > 5 * 1024 * 1024

    plan = maintenance.plan(table, RewriteDataFilesArguments(), policy=CompactionPolicy())
    outcome = maintenance.apply(plan)

    assert {step.engine for step in plan.steps} == {Engine.REMOTE_COPY}
    assert outcome.status is Status.SUCCEEDED
    assert {name: count for name, count in outcome.engines.items() if count} == {"remote_copy": 1}
    assert session.sql(digest).collect() == before
    after = maintenance.surveyor.survey(table)
    assert len(after.data_files) == 1
    proof = json.loads(after.ancestry()[0].summary[PROOF_PROPERTY])
    assert proof["bytes_through_tasks"] <= 0.01 * proof["bytes"]
