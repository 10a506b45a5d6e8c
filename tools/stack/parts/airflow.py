"""The scheduler of DAGs: `airflow standalone` over the project's own DAGs, with a SQLite file.

They wait, paused, for whoever wants to try them; connections lead to the stack's other parts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import airflow_home
import web
from layout import Facts, Stack
from processes import Launch

NEEDS: tuple[str, ...] = ("trino",)
IS_DEFAULT = False
INTERRUPTING = Path(__file__).parents[1] / "interrupting.py"


def fetch(cache: Path) -> Path:
    return airflow_home.fetch(cache)


def start(stack: Stack, installed: Path) -> Launch:
    made = airflow_home.make_home(
        installed, stack.data_folder("airflow"), [], stack.port("airflow")
    )
    # Airflow stops its processes on Ctrl-C alone.
    return Launch(
        command=[sys.executable, str(INTERRUPTING), made.program, "standalone"],
        environment=made.environment | connections(stack.facts),
        facts={"uri": made.uri, "port": made.port},
    )


def ready(facts: Facts) -> bool:
    health = web.get_json(facts["uri"] + "/api/v2/monitor/health")
    if not isinstance(health, dict):
        return False
    return all(
        health.get(part, {}).get("status") == "healthy"
        for part in ("metadatabase", "scheduler", "triggerer", "dag_processor")
    )


def connections(facts: dict[str, Facts]) -> dict[str, str]:
    """Trino and the catalog, as the DAGs look for them."""
    trino, storage = facts["trino"], facts["s3"]
    catalog = {
        "conn_type": "iceberg",
        "host": facts["rest"]["uri"],
        "extra": {
            "s3.endpoint": storage["endpoint"],
            "s3.access-key-id": storage["access_key"],
            "s3.secret-access-key": storage["secret_key"],
            "s3.region": storage["region"],
        },
    }
    query = {"conn_type": "trino", "host": trino["host"], "port": trino["port"]}
    return {
        "AIRFLOW_CONN_ICEBERG_DEFAULT": json.dumps(catalog),
        "AIRFLOW_CONN_TRINO_DEFAULT": json.dumps({**query, "login": trino["user"]}),
    }
