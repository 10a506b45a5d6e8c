"""Programs that judge files of deploy/ and .github/: found, and run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.lock_file import ROOT


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    """Where a program or a schema is; it is fetched once."""

    def find(name: str) -> str:
        told = ran(sys.executable, str(ROOT / "tools/stack/checkers.py"), name)
        assert told.returncode == 0, told.stderr
        return str(told.stdout.splitlines()[-1])

    return find


def ran(*command: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)
