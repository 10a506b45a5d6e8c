"""Tasks that ask a live Neve server: by `airflow dags test`, and in a running Airflow."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil
import pytest
from tests.system.stack_fixtures import CHECKOUT
from tests.world.airflow_fixtures import make_airflow
from tests.world.neve_server import serving, write_config

EVENT_DAG = CHECKOUT.joinpath(
    "integrations/airflow/src/neve_provider/example_dags/compact_on_new_snapshot.py"
)
NIGHTLY = CHECKOUT / "dags" / "iceberg_maintenance.py"
PATIENCE_SECONDS = 900
END_SECONDS = 120
#: A task that holds a worker while it waits, and is tried again at once.
RESUMED = """
from datetime import UTC, datetime, timedelta
from airflow.sdk import DAG
from neve_provider.operators.neve import NeveOperator

again = {{"retries": 2, "retry_delay": timedelta(seconds=1)}}
with DAG("resumed", schedule="@once", start_date=datetime(2024, 1, 1, tzinfo=UTC),
         default_args=again):
    NeveOperator(task_id="compact", table="{table}", deferrable=False, poll_seconds=0.5)
"""


@pytest.fixture
def config(rest_catalogs, tmp_path):
    return write_config(tmp_path, rest_catalogs)


def connection(address):
    return {"AIRFLOW_CONN_NEVE_DEFAULT": json.dumps({"conn_type": "neve", "host": address})}


def jobs(address, table):
    return httpx2.get(f"{address}/api/v1/jobs", params={"table": table}).json()["jobs"]


def test_an_ill_table_is_compacted_and_a_healthy_one_left_alone(
    airflow, airflow_connections, config, lake
):
    lake.make_table("events", files=6)
    before, table = lake.rows("events"), f"iceberg.{lake.schema}.events"
    with serving(config, "api", "worker") as address:
        variables = airflow_connections | connection(address)
        first = airflow.test_dag("compact_on_new_snapshot", {"table": table}, **variables)
        said, (job,) = airflow.said(), jobs(address, table)
        second = airflow.test_dag("compact_on_new_snapshot", {"table": table}, **variables)
        assert jobs(address, table) == [job]

    dag = "compact_on_new_snapshot"
    assert set(airflow.states(dag, first).values()) == {"success"}, said
    told = airflow.xcom(dag, first, "compact")["jobs"][0]
    assert (told["job_id"], told["status"]) == (job["job_id"], "succeeded")
    assert (told["files_before"], told["files_after"]) == (6, 1)
    link = airflow.xcom(dag, first, "compact", "_link_NeveJobLink")
    assert link == f"{address}/api/v1/jobs/{job['job_id']}"
    assert airflow.states(dag, second) == {
        ("needs_compaction", -1): "success",
        ("compact", -1): "skipped",
    }
    assert lake.rows("events") == before


def test_airflow_runs_dags_by_itself_and_a_task_that_was_killed_goes_on(
    airflow_connections, config, lake, tmp_path
):
    """Scheduled, by an event, and after a crash: one Airflow for all three, because it is slow."""
    for name in ("_watched", "resumed", "other"):
        lake.make_table(name, files=5)
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "resumed.py").write_text(RESUMED.format(table=f"iceberg.{lake.schema}.resumed"))
    text = NIGHTLY.read_text().replace('"0 3 * * *"', '"@once"')
    (dags / "scheduled.py").write_text(text.replace('Param("lakehouse"', f'Param("{lake.schema}"'))
    own = make_airflow(tmp_path / "airflow", EVENT_DAG, *dags.iterdir())
    variables = {
        "NEVE_WATCHED_TABLE": f"{lake.schema}._watched",
        "NEVE_WATCH_SECONDS": "1",
    }
    # Without a worker jobs wait, so that there is something to be killed under.
    with serving(config, "api") as address:
        known = airflow_connections | connection(address) | variables
        with running(own, known) as log:
            asked = until(lambda: jobs(address, f"iceberg.{lake.schema}.resumed"), log)
            ((pid,),) = until(lambda: running_task(own), log)
            os.kill(pid, signal.SIGKILL)
            until(lambda: own.ask(TRIES, "resumed") >= [(2,)], log)
            with serving(config, "worker"):
                dag_ids = {"resumed", "iceberg_maintenance", "compact_on_new_snapshot"}
                until(lambda: dag_ids <= ended(own, "success"), log)
        assert jobs(address, f"iceberg.{lake.schema}.resumed")[0]["job_id"] == asked[0]["job_id"]
        assert len(jobs(address, f"iceberg.{lake.schema}.resumed")) == 1
        assert len(jobs(address, f"iceberg.{lake.schema}._watched")) == 1
    kinds = dict(own.ask("SELECT dag_id, run_type FROM dag_run ORDER BY id DESC"))
    assert kinds["iceberg_maintenance"] == "scheduled"
    assert kinds["compact_on_new_snapshot"] == "asset_triggered"
    (run,) = own.ask("SELECT run_id FROM dag_run WHERE dag_id = 'iceberg_maintenance'")
    log = lake.log("table_name, status, dag_run_id")
    assert {(name, status) for name, status, dag_run in log if dag_run == run[0]} == {
        ("resumed", "completed"),
        ("other", "completed"),
    }


TRIES = "SELECT try_number FROM task_instance WHERE dag_id = ?"


def running_task(airflow):
    return airflow.ask(
        "SELECT pid FROM task_instance WHERE dag_id = 'resumed' AND state = 'running'"
        " AND pid IS NOT NULL"
    )


def ended(airflow, state):
    """DAGs of which a run has ended so."""
    return {row[0] for row in airflow.ask("SELECT dag_id FROM dag_run WHERE state = ?", state)}


@contextmanager
def running(airflow, variables):
    """`airflow standalone`, ended as people end it; nothing of it stays."""
    log = airflow.home / "standalone.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [airflow.program, "standalone"],
            cwd=airflow.home,
            env=airflow.variables(variables),
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            until(lambda: is_ready(airflow), log)
            # Not before: a task that finds no API server fails, however often it may be tried.
            airflow.run(airflow.program, "dags", "unpause", "--yes", "--treat-dag-id-as-regex", ".")
            yield log
        finally:
            # One that has ended by itself has no family, and why it ended is in the log.
            whole = [psutil.Process(process.pid)] if process.poll() is None else []
            family = [child for parent in whole for child in parent.children(recursive=True)]
            process.send_signal(signal.SIGINT)
            _, left = psutil.wait_procs([*whole, *family], timeout=END_SECONDS)
            for one in left:
                one.kill()
            process.wait()
    assert left == []


def is_ready(airflow):
    """Whether its servers answer, and all DAGs have been read."""
    try:
        health = httpx2.get(f"{airflow.uri}/api/v2/monitor/health", timeout=30).json()
    except httpx2.HTTPError:
        return False
    if any(part["status"] != "healthy" for part in health.values()):
        return False
    files = list((airflow.home / "dags").glob("*.py"))
    return len(airflow.ask("SELECT dag_id FROM dag")) == len(files)


def until(ask, log: Path):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := ask()):
        if time.monotonic() > deadline:
            pytest.fail(f"It takes too long. Airflow said:\n{log.read_text()[-6000:]}")
        time.sleep(0.3)
    return found
