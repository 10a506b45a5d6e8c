"""`neve maintain` as it is typed, with a neve.yaml beside it, on Trino and on Spark."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from neve.cli.main import app as neve
from neve.model.operation import Operation
from neve.spark.engine import BorrowedEngine
from neve.trino.procedures import OPERATIONS

PROGRAM = Path(sys.executable).with_name("neve")
LOGGED = ["optimize", "expire_snapshots", "remove_orphan_files"]


@pytest.fixture
def on_trino(lake, stack, tmp_path):
    """Runs the command with a configuration that names the stack's Trino."""
    facts = stack.facts["trino"]

    def run(*words, **trino):
        place = {"host": facts["host"], "port": facts["port"], "user": facts["user"]}
        place |= {"catalog": facts["catalog"], "schema": lake.schema}
        reach = {"snapshot_retention": "0s", "min_retention": "0s"}
        settings = {"engine": "trino", "trino": {**place, **reach, **trino}}
        config = tmp_path / "neve.yaml"
        config.write_text(yaml.safe_dump(settings))
        command = [PROGRAM, "maintain", "--config", config, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


def statuses(done):
    """The status of each operation, by table."""
    return {
        report["table"].rpartition(".")[2]: [
            (each["operation"], each["status"]) for each in report["operations"]
        ]
        for report in json.loads(done.stdout)["tables"]
    }


def test_trino_maintains_all_tables_of_the_schema_and_logs_each_operation(lake, on_trino):
    for table in ("events", "sales"):
        lake.make_table(table, files=3)
    rows = lake.rows("sales"), lake.rows("events")

    looked, done = on_trino("--dry-run", "-o", "json"), on_trino("--run-id", "dag-7", "-o", "json")

    assert (looked.returncode, done.returncode) == (2, 0), done.stderr
    planned = [(operation, "planned") for operation in OPERATIONS]
    assert statuses(looked) == {"events": planned, "sales": planned}
    assert "the table has 3 files." in looked.stdout
    # An empty snapshot comes with the creation of the table.
    assert "the table has 4 snapshots." in looked.stdout
    all_done = [(operation, "succeeded") for operation in OPERATIONS]
    assert statuses(done) == {"events": all_done, "sales": all_done}
    logged = lake.log("table_name, operation, status, files_before, files_after")
    assert logged == [
        [table, operation, "completed", 3 if operation == "optimize" else 1, 1]
        for table in ("events", "sales")
        for operation in LOGGED
    ]
    jobs = [
        each["outcome"]["job_id"]
        for report in json.loads(done.stdout)["tables"]
        for each in report["operations"]
    ]
    assert lake.log("job_id, dag_run_id") == [[job, "dag-7"] for job in jobs]
    assert (lake.rows("sales"), lake.rows("events")) == rows
    assert lake.sql(f'SELECT count(*) FROM iceberg.{lake.schema}."sales$snapshots"') == [[1]]


def test_a_table_that_fails_in_trino_leaves_the_other_alone(lake, stack, on_trino):
    for table in ("broken", "sound"):
        lake.make_table(table, files=2)
    rows = lake.rows("sound")
    for metadata in (lake.folder("broken", stack) / "metadata").glob("*.metadata.json"):
        metadata.unlink()

    looked, done = on_trino("--dry-run"), on_trino("-o", "json")

    assert (looked.returncode, done.returncode) == (1, 1)
    assert "Failed to load table: broken" in looked.stdout
    assert statuses(done) == {
        "broken": [(operation, "failed") for operation in OPERATIONS],
        "sound": [(operation, "succeeded") for operation in OPERATIONS],
    }
    assert Counter((table, status) for table, _, status in lake.log()) == {
        ("broken", "failed"): 3,
        ("sound", "completed"): 3,
    }
    assert lake.rows("sound") == rows
    assert "Traceback" not in looked.stderr + done.stderr


def test_a_trino_that_is_down_is_one_sentence_and_exit_code_1(on_trino):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        done = on_trino(port=nobody.getsockname()[1])

    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first.startswith("Error: Trino did not list the tables of iceberg.lake_")
    assert "Connection refused" in first
    assert second == "→ Check that Trino and its catalog are up and that the schema exists."
    assert done.stdout == ""


@pytest.fixture
def on_spark(house, tmp_path, monkeypatch):
    """Runs the command with a configuration that names the REST catalog, in the shared session."""
    monkeypatch.setattr("neve.app.make_engine", lambda *_: BorrowedEngine(house.spark))
    config = tmp_path / "neve.yaml"
    # Statistics are computed where a policy names them; --apply does not speak of them.
    statistics = {"compute_table_stats": {}, "compute_partition_stats": {}}
    settings = {
        "catalogs": house.catalogs,
        "state": {"url": f"sqlite:///{house.state}"},
        "policies": [{"name": "all", "match": {"tables": ["*"]}, "operations": statistics}],
    }
    config.write_text(yaml.safe_dump(settings))

    def run(*words):
        result = CliRunner().invoke(neve, [*words, "--config", str(config), "-o", "json"])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, json.loads(result.stdout)

    return run


def test_spark_maintains_a_table_in_s3_and_again_finds_nothing_to_do(house, on_spark):
    house.create_sales("spark")
    for number in range(3):
        values = f"'s{number}', 'C', 1.25, NULL, DATE '2024-01-15'"
        house.run("spark", f"INSERT INTO {house.name()} VALUES ({values})")
    rows = house.same_rows()
    words = ("maintain", house.name(), "--apply")

    code, first = on_spark(*words)
    assert code == 0, first
    reports = {r["operation"]: r["status"] for r in first["tables"][0]["operations"]}
    assert list(reports) == list(Operation)
    assert set(reports.values()) == {"succeeded", "nothing_to_do"}, reports
    assert reports["rewrite_data_files"] == "succeeded"
    assert first["tables"][0]["log_problem"] is None
    assert house.same_rows() == rows
    assert len(house.paths()) == 1

    facts = house.facts()
    code, second = on_spark(*words)
    again = {r["operation"]: r["status"] for r in second["tables"][0]["operations"]}
    assert (code, again) == (0, dict.fromkeys(Operation, "nothing_to_do"))
    assert replace(house.facts(), surveyed_at=facts.surveyed_at) == facts
    assert house.same_rows() == rows
    logged = house.run("spark", f"SELECT operation FROM {house.name('_maintenance_log')}")
    # The log is one for all engines, and there a compaction has Trino's name.
    names = {"optimize", *Operation} - {Operation.REWRITE_DATA_FILES}
    assert Counter(operation for (operation,) in logged) == dict.fromkeys(names, 2)
