from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def isolated(tmp_path, monkeypatch):
    """No test sees the developer's own configuration, and each has a folder of its own."""
    for name in ("NEVE_CONFIG", "PYICEBERG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
