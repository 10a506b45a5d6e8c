"""A real Airflow in an environment of its own, a home for each module of tests."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.system.stack_fixtures import CHECKOUT, RunningStack

TOOL = CHECKOUT / "tools" / "stack" / "airflow_home.py"
#: Airflow writes thousands of lines; the last ones say what is wrong.
TAIL = 6000


@dataclass(frozen=True)
class Airflow:
    """One home of Airflow: commands are run in it, and its database is read."""

    home: Path
    program: str
    python: str
    uri: str
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *command: str, **variables: str) -> str:
        """What a command of the environment says."""
        done = self.attempt(*command, **variables)
        assert done.returncode == 0, (done.stdout + done.stderr)[-TAIL:]
        return done.stdout

    def attempt(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.home,
            env=self.variables(variables),
            capture_output=True,
            text=True,
            check=False,
        )

    def variables(self, more: dict[str, str]) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
        return own | self.environment | more

    def test_dag(self, dag_id: str, said: dict[str, Any] | None = None, **variables: str) -> str:
        """Run a DAG once, by `airflow dags test`; the id of its run."""
        words = ["dags", "test", dag_id, *(["--conf", json.dumps(said)] if said else [])]
        done = self.attempt(self.program, *words, **variables)
        runs = self.ask("SELECT run_id FROM dag_run WHERE dag_id = ? ORDER BY id DESC", dag_id)
        assert runs, (done.stdout + done.stderr)[-TAIL:]
        (self.home / "last_run.log").write_text(done.stdout + done.stderr)
        return str(runs[0][0])

    def said(self) -> str:
        """What the last run of a DAG said, for messages of assertions."""
        return (self.home / "last_run.log").read_text()[-TAIL:]

    def states(self, dag_id: str, run_id: str) -> dict[tuple[str, int], str]:
        """How the tasks of a run ended, by their id and their place in a mapping."""
        rows = self.ask(
            "SELECT task_id, map_index, state FROM task_instance WHERE dag_id = ? AND run_id = ?",
            dag_id,
            run_id,
        )
        return {(task, index): state for task, index, state in rows}

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str = "return_value") -> Any:
        ((value,),) = self.ask(
            "SELECT value FROM xcom WHERE dag_id = ? AND run_id = ? AND task_id = ? AND key = ?",
            dag_id,
            run_id,
            task_id,
            key,
        )
        return json.loads(value)

    def ask(self, statement: str, *values: str) -> list[Any]:
        address = f"file:{self.home / 'airflow.db'}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=30)) as database:
            return database.execute(statement, values).fetchall()


def make_airflow(home: Path, *dags: Path) -> Airflow:
    done = subprocess.run(
        [sys.executable, str(TOOL), str(home), *map(str, dags)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((home / "home.json").read_text())
    return Airflow(home, told["program"], told["python"], told["uri"], told["environment"])


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    """With the project's own DAGs."""
    return make_airflow(tmp_path_factory.mktemp("airflow"))


@pytest.fixture(scope="session")
def airflow_connections(stack: RunningStack, rest_catalogs: Any) -> dict[str, str]:
    """The stack's Trino and catalog, as connections that DAGs look for."""
    trino = stack.facts["trino"]
    ((_, properties),) = rest_catalogs.items()
    storage = {key: value for key, value in properties.items() if key.startswith("s3.")}
    query = {"conn_type": "trino", "host": trino["host"], "port": trino["port"]}
    catalog = {"conn_type": "iceberg", "host": properties["uri"], "extra": storage}
    return {
        "AIRFLOW_CONN_TRINO_DEFAULT": json.dumps({**query, "login": trino["user"]}),
        "AIRFLOW_CONN_ICEBERG_DEFAULT": json.dumps(catalog),
    }
