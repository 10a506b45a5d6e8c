from __future__ import annotations

import gc
import itertools
import os

import pytest
from hypothesis import HealthCheck, settings
from tests.quick_disk import no_waiting_for_the_disk

__all__ = ["no_waiting_for_the_disk"]

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
