from __future__ import annotations

import gc
import itertools
import os
import sqlite3
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, settings

# The first example may import half of Neve, and a busy machine is no finding.
settings.register_profile(
    "quick",
    max_examples=5,
    deadline=None,
    # Looking for examples of before costs more than trying as many new ones.
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# As many as a change that is merged has to stand.
settings.register_profile(
    "explore",
    settings.get_profile("quick"),
    max_examples=150,
    database=settings.get_profile("default").database,
)
# The same examples every time, so that a build can be repeated.
settings.register_profile("repeat", settings.get_profile("explore"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

_numbers = itertools.count()


def pytest_collection_finish():
    """Tests of milliseconds leave little behind."""
    gc.set_threshold(20_000, 20, 50)


def _trust_the_machine(connection, *_):
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA synchronous = OFF")
    return connection


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_the_disk():
    """No test outlives the machine: states and catalogs are not forced onto the disk."""
    # Here, because the process that only hands out tests reads this file, too.
    from sqlalchemy import Engine, event

    from neve.store import database

    connect = database._connect
    event.listen(Engine, "connect", _trust_the_machine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_connect", lambda path: _trust_the_machine(connect(path)))
        yield


@pytest.fixture
def tmp_path(tmp_path_factory):
    """By number: for a name, pytest looks through the folders of all tests before this one."""
    folder = tmp_path_factory.getbasetemp() / f"test-{next(_numbers)}"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def isolated(tmp_path, monkeypatch):
    """No test sees the developer's own configuration, and each has a folder of its own."""
    for name in ("COLUMNS", "NEVE_CONFIG", "PYICEBERG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
