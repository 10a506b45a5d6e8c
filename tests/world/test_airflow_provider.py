"""The provider's wheel inside a real Airflow, and the DAGs that the project ships."""

from __future__ import annotations

import json
import re
import shutil

from tests.pages import NOT_RUN, blocks
from tests.system.stack_fixtures import CHECKOUT

from neve import __version__

PROJECT = CHECKOUT / "integrations" / "airflow"
#: What Airflow says of every DAG, as JSON.
LOOK = """
import json
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.definitions.mappedoperator import MappedOperator
bag = DagBag()
print(json.dumps({"errors": bag.import_errors, "dags": {dag.dag_id: {
    "schedule": dag.schedule if isinstance(dag.schedule, str) else None,
    "start": dag.start_date.isoformat(),
    "catchup": dag.catchup,
    "max_active_runs": dag.max_active_runs,
    "tags": sorted(dag.tags),
    "owner": dag.default_args.get("owner"),
    "retries": dag.default_args.get("retries"),
    "delay": getattr(dag.default_args.get("retry_delay"), "seconds", None),
    "tasks": {task.task_id: sorted(task.downstream_task_ids) for task in dag.tasks},
    "mapped": [task.task_id for task in dag.tasks if isinstance(task, MappedOperator)],
} for dag in bag.dags.values()}}))
"""


def test_the_tests_of_the_provider_pass_inside_airflow(airflow):
    told = airflow.run(
        *(airflow.python, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *("-c", str(PROJECT / "pyproject.toml"), str(PROJECT / "tests")),
    )

    assert " passed" in told
    assert "skipped" not in told


def test_the_provider_conflicts_with_nothing_of_airflow(airflow):
    done = airflow.attempt(airflow.python, "-m", "pip", "check")

    # Of Neve itself only what needs the standard library and Trino is used there.
    others = [line for line in done.stdout.splitlines() if not line.startswith("neve ")]
    assert [line for line in others if "No broken requirements" not in line] == []
    assert "airflow-provider-neve" in airflow.run(airflow.python, "-m", "pip", "list")


def test_the_dags_are_what_they_are_documented_to_be(airflow):
    told = json.loads(airflow.run(airflow.python, "-W", "ignore", "-c", LOOK).splitlines()[-1])

    assert told["errors"] == {}
    assert told["dags"]["iceberg_maintenance"] == {
        "schedule": "0 3 * * *",
        "start": "2024-01-01T00:00:00+00:00",
        "catchup": False,
        "max_active_runs": 1,
        "tags": ["iceberg", "lakehouse", "maintenance"],
        "owner": "data-engineering",
        "retries": 1,
        "delay": 60,
        "tasks": {"discover_tables": ["run_maintenance"], "run_maintenance": []},
        "mapped": ["run_maintenance"],
    }
    assert told["dags"]["nightly_table_compaction"] == {
        "schedule": "0 2 * * *",
        "start": "2025-01-01T00:00:00+00:00",
        "catchup": False,
        "max_active_runs": 1,
        "tags": ["compaction", "maintenance", "optimization"],
        "owner": "data-engineering",
        "retries": 2,
        "delay": 300,
        "tasks": {
            "compact_events_table": ["send_report"],
            "compact_cdc_users": ["send_report"],
            "send_report": [],
        },
        "mapped": [],
    }
    assert told["dags"]["compact_on_new_snapshot"]["tasks"] == {
        "needs_compaction": ["compact"],
        "compact": [],
    }


def test_commands_of_the_guide_are_run_or_say_that_they_are_not():
    shown = blocks("airflow.md")

    assert [block.language for block in shown] == ["bash", "bash", "sh", "sh", "sh"]
    assert all(b.note.startswith(NOT_RUN) == (b.language == "sh") for b in shown)


def test_the_commands_of_the_guide_work(airflow, tmp_path):
    commands = [block.text for block in blocks("airflow.md") if block.language == "bash"]
    (tmp_path / "dags").mkdir()
    shutil.copy(airflow.home / "airflow.db", tmp_path)
    own = {
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{tmp_path}/airflow.db",
    }
    # The environment is everybody's: pip only says what it would install, and asks no index.
    resolving = {"PIP_DRY_RUN": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}

    told = airflow.run(
        *("bash", "-euo", "pipefail", "-c", f"cd '{CHECKOUT}'\n" + "\n".join(commands)),
        **own,
        **resolving,
    )

    # Everything else that the two need is there already.
    installed = re.findall(r"Would install (.*)", told)
    assert installed == [f"airflow-provider-neve-{__version__}", f"neve-{__version__}"]
    assert "No data found" in told
