from __future__ import annotations

from pathlib import Path

import pytest
from tests.system.engine_fixtures import house, rest_catalogs, spark
from tests.system.stack_fixtures import lake, stack, trino_connect, trino_connection
from tests.world.airflow_fixtures import airflow, airflow_connections
from tests.world.checking import tool

__all__ = [
    "airflow",
    "airflow_connections",
    "house",
    "lake",
    "rest_catalogs",
    "spark",
    "stack",
    "tool",
    "trino_connect",
    "trino_connection",
]

#: Programs that are not ours are started, and where nothing is cached, made first; a busy machine
#: takes its time for that.
PATIENCE_SECONDS = 1800


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(PATIENCE_SECONDS))


def pytest_configure(config: pytest.Config) -> None:
    # pyspark and pyiceberg leave sockets and clients to the garbage collector, whoever's test runs.
    config.addinivalue_line("filterwarnings", "ignore:unclosed:ResourceWarning")
