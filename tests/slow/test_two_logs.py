"""Two processes that log at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.slow.catalog.test_maintenance_log import rows, write_alone

from neve.testing.local_lake import LocalLake

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lake(tmp_path):
    lake = LocalLake(tmp_path / "lake")
    lake.catalog.create_namespace("db")
    return lake


def test_no_row_of_two_processes_is_lost(lake, tmp_path):
    program = tmp_path / "write.py"
    program.write_text(
        "from tests.slow.catalog.test_maintenance_log import write_alone\n"
        "print('ready', flush=True)\n"
        f"for n in range(3): write_alone({lake.properties!r}, f'a-{{n}}')\n",
        encoding="utf-8",
    )
    found_here = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, env=found_here
    ) as other:
        # A process takes seconds to start, and this one would be done by then.
        assert other.stdout.readline() == b"ready\n"
        for number in range(3):
            write_alone(lake.properties, f"b-{number}")
        assert other.wait(120) == 0

    assert sorted(rows(lake)["job_id"].to_pylist()) == [f"{w}-{n}" for w in "ab" for n in "012"]
