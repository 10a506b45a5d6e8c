from __future__ import annotations

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


def pytest_configure(config: pytest.Config) -> None:
    # pyspark and pyiceberg leave sockets and clients to the garbage collector, whoever's test runs.
    config.addinivalue_line("filterwarnings", "ignore:unclosed:ResourceWarning")
