from __future__ import annotations

import pytest
from tests.system.engine_fixtures import house, rest_catalogs, spark
from tests.system.quota_fixtures import small_bucket
from tests.system.stack_fixtures import lake, stack, trino_connect, trino_connection

__all__ = [
    "house",
    "lake",
    "rest_catalogs",
    "small_bucket",
    "spark",
    "stack",
    "trino_connect",
    "trino_connection",
]


def pytest_configure(config: pytest.Config) -> None:
    # pyspark and pyiceberg leave sockets and clients to the garbage collector, whoever's test runs.
    config.addinivalue_line("filterwarnings", "ignore:unclosed:ResourceWarning")
