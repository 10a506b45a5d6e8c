"""One lake and one Spark session for all attacks."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyiceberg.catalog import load_catalog
from tests.attack.cases import SEED
from tests.attack.oracle import Oracle
from tests.attack.runs import TEST_SIZED, Attack
from tests.quick_disk import JDBC, no_waiting_for_the_disk

from neve.spark.session import build_session
from neve.testing.lake import SilentReporter

__all__ = ["no_waiting_for_the_disk"]
#: pyspark leaves the sockets over which it fetches results to the garbage collector.
THIRD_PARTY_WARNINGS = (r"ignore:unclosed <socket.*raddr=\('127\.0\.0\.1':ResourceWarning",)


def pytest_configure(config: pytest.Config) -> None:
    for line in THIRD_PARTY_WARNINGS:
        config.addinivalue_line("filterwarnings", line)


def pytest_report_header() -> str:
    return f"attack: ATTACK_SEED={SEED}"


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attack]:
    folder = tmp_path_factory.mktemp("attack")
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"file://{folder}/warehouse",
        **JDBC,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in [key for key in os.environ if key.startswith(("NEVE_", "PYICEBERG_"))]:
            if name != "NEVE_CACHE":
                patch.delenv(name)
        patch.setenv("PYICEBERG_HOME", str(tmp_path_factory.mktemp("home")))
        session = build_session(
            {"lake": properties}, master="local[2]", conf=TEST_SIZED, reporter=SilentReporter()
        )
        session.sql("CREATE NAMESPACE lake.db")
        # Writers and readers are strangers: they have catalogs of their own.
        oracle = Oracle(session.newSession(), load_catalog("lake", **properties))
        made = Attack(folder, session, oracle)
        yield made
        session.stop()
    # A run that ends before its point shows nothing; a few do, because what is timed varies.
    assert sum(made.reached) >= 0.8 * len(made.reached), made.reached


@pytest.fixture
def attack(lake: Attack) -> Iterator[Attack]:
    yield lake
    lake.forget_tables()
