"""Killed at any point: the table stays whole, the job ends, and a second run gets through."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.attack.conftest import CASES, OPERATIONS, Attack, choices, plain

TIMEOUT_SECONDS = 240
ROOT = Path(__file__).parents[2]


def run_and_kill(attack: Attack, victim: str, number: int, words: list[str], reached: Path):
    environ = {
        **os.environ,
        "ATTACK_REACHED": str(reached),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    command = [sys.executable, "-m", "tests.attack.child", victim, str(number), *words]
    return subprocess.run(
        [*command, "-c", str(attack.config()), "-o", "json"],
        cwd=attack.folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )


@pytest.mark.parametrize("number", range(CASES))
@pytest.mark.parametrize("victim", ["SELF", "JVM"])
@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_a_kill_loses_nothing(
    attack: Attack, tmp_path: Path, operation: str, victim: str, number: int
):
    known = OPERATIONS[operation]
    chosen = choices(operation, victim, number).randrange(len(attack.points_of(operation)))
    name = attack.table()
    words = attack.prepare(name, known.prepare)
    before = attack.oracle.state(name)
    typed = [word.format(**words) for word in known.words]

    ended = run_and_kill(attack, victim, chosen, typed, tmp_path / "reached")

    assert (tmp_path / "reached").exists(), ended.stderr
    told = f"{operation}, {victim} killed at {(tmp_path / 'reached').read_text()}: {ended.stderr}"
    if victim == "JVM":
        assert ended.returncode in (0, 1), told
        assert "Traceback" not in ended.stderr, told
        json.loads(ended.stdout)
    after = attack.oracle.state(name)
    assert (after.by_spark, after.by_pyiceberg) == (before.by_spark, before.by_pyiceberg), told
    wait_for_leases(attack)
    assert attack.run(["jobs", plain(name)]).exit_code == 0
    assert attack.unfinished(name) == [], told
    again = attack.run(typed)
    assert again.exit_code in (0, 1), again.output
    assert again.exception is None or isinstance(again.exception, SystemExit), told
    final = attack.oracle.state(name)
    assert (final.by_spark, final.by_pyiceberg) == (before.by_spark, before.by_pyiceberg), told


def wait_for_leases(attack: Attack) -> None:
    """Let every lease be over: as if the heartbeats' time had passed."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(attack.folder / "state.db")) as db, db:
        db.execute("UPDATE claims SET expires_at = 0")
