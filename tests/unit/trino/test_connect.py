"""The Trino client is needed by those who connect, and by nobody else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from neve.model.errors import EnvironmentProblem
from neve.trino import connect as door


def test_importing_the_package_does_not_import_the_client() -> None:
    program = "import sys, neve.trino, neve.trino.connect; sys.exit('trino' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_without_the_client_the_user_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "trino", None)
    monkeypatch.delitem(sys.modules, "trino.dbapi", raising=False)

    with pytest.raises(EnvironmentProblem) as raised:
        door.connect(host="127.0.0.1")

    assert raised.value.next_step == "Run: pip install 'neve[trino]'"
