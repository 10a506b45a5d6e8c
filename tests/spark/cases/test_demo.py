"""The demo, which is what most people see first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.json_documents import check_document
from typer.testing import CliRunner

from neve import neve as facade
from neve.cli.main import app as command
from neve.model.table import TableRef
from neve.spark import samples
from neve.spark.engine import BorrowedEngine
from neve.spark.samples import create_namespace

SMALL_DEMO = ("demo", "--batches", "3", "--events", "200", "-o", "json")
TABLE = TableRef("lake", ("demo",), "events")
TWIN = TABLE.sibling("events_by_iceberg")
SIZED_DEMO = ("demo", "--size", "16MB", "--partitions", "click", "--compare")
#: One task does what eight do by default, in a JVM that compiles less: the tables are tiny.
TEST_SIZED = json.dumps(
    {
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
)
#: The demo also times a query; on a busy machine that check may fail.
EXACT_CHECKS = {
    "No data loss": "600 → 600 records",
    "Fewer files": "15 → 5",
    "Only the chosen partition was rewritten": "6 files of purchase",
}


@pytest.fixture
def neve(spark, app, monkeypatch, tmp_path) -> Iterator[CliRunner]:
    """The command line in this process, on the shared session, without a demo table."""
    app.engine.use(BorrowedEngine(spark))
    monkeypatch.setattr(facade, "build_app", lambda settings, reporter, spark_log=None: app)
    monkeypatch.chdir(tmp_path)
    create_namespace(spark, TABLE)
    for table in (TABLE, TWIN):
        spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
    yield CliRunner()
    for table in (TABLE, TWIN):
        spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")


def used(story: dict) -> dict[str, int]:
    return {name: files for name, files in story["compaction"]["engines"].items() if files}


def check_story(exit_code: int, story: dict) -> None:
    checks = {check["name"]: check for check in story["validations"]}
    timed = checks.pop("Queries not slower")
    assert exit_code == (0 if timed["holds"] else 1)
    assert all(check["holds"] for check in checks.values())
    assert {name: checks[name]["detail"] for name in EXACT_CHECKS} == EXACT_CHECKS
    assert (story["events"], story["files_after"]["num_partitions"]) == (600, 5)
    assert used(story) == {"rewrite": 5}
    assert story["compaction"]["proof"]["level"] == "rows"
    assert story["cured_by"] == (
        "Cured by Neve's own engine rewrite (5 new files), inside of Spark's tasks."
    )


def test_it_can_be_told_twice(neve):
    for _ in range(2):
        result = neve.invoke(command, SMALL_DEMO)
        check_story(result.exit_code, check_document(["demo"], result.stdout))


def test_a_sized_table_is_copied_beside_a_twin_of_iceberg(neve, spark):
    result = neve.invoke(command, (*SIZED_DEMO, "-o", "json"))

    story = check_document(["demo"], result.stdout)
    beside = story["comparison"]
    assert used(story) == {"copy": 1}
    assert (beside["twin"], beside["has_same_rows"]) == (str(TWIN), True)
    assert (beside["neve_files"], beside["iceberg_files"]) == (1, 1)
    assert 14 < story["files_before"]["total_size_mb"] < 18
    assert min(beside["neve_seconds"], beside["iceberg_seconds"]) > 0
    checks = {check["name"]: check["holds"] for check in story["validations"]}
    assert checks["Same rows as after Iceberg's procedure"]
    assert spark.table(str(TWIN)).count() == story["events"]


def test_a_twin_with_other_rows_is_told(neve, spark, monkeypatch):
    real = samples.rewrite_by_iceberg

    def wrong(session, table, target_bytes):
        real(session, table, target_bytes)
        spark.sql(f"DELETE FROM {table} WHERE user_id % 2 = 0")

    monkeypatch.setattr(samples, "rewrite_by_iceberg", wrong)
    result = neve.invoke(command, (*SMALL_DEMO, "--compare"))

    story = check_document(["demo"], result.stdout)
    assert result.exit_code == 1
    assert not story["comparison"]["has_same_rows"]
    assert story["compaction"]["status"] == "succeeded"


def test_a_table_of_somebody_else_is_left_alone(neve, spark):
    spark.sql(f"CREATE TABLE {TABLE} (precious INT) USING iceberg")
    spark.sql(f"INSERT INTO {TABLE} VALUES (42)")

    result = neve.invoke(command, SMALL_DEMO)

    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"]["message"] == (
        f"Table {TABLE} exists and was not made by the demo, so it is left alone."
    )
    assert [row["precious"] for row in spark.table(str(TABLE)).collect()] == [42]


def test_it_runs_in_an_empty_folder(tmp_path):
    """A process of its own, with the built-in configuration and a JVM that starts cold."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", "from neve.cli.main import run; run()"]
        return subprocess.run(
            [*program, *arguments],
            cwd=tmp_path,
            env={**os.environ, "NEVE_SPARK__MASTER": "local[2]", "NEVE_SPARK__CONF": TEST_SIZED},
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )

    told = run(*SMALL_DEMO)
    check_story(told.returncode, check_document(["demo"], told.stdout))
    steps = told.stderr.splitlines()
    assert "Starting Spark …" in steps
    assert [line for line in steps if not line.endswith(" …")] == []

    health = run("health", "lake.demo.events", "-o", "json")
    judged = check_document(["health"], health.stdout)
    assert (health.returncode, health.stderr) == (0, "")
    assert (judged["table"], judged["data_files"]) == ("lake.demo.events", 25)
    assert judged["delete_files"] == {}
    assert sorted(path.name for path in tmp_path.iterdir()) == [".neve"]
