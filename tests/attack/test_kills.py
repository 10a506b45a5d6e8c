"""Killed at any point: the table stays whole, the job ends, and a second run gets through."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.attack.cases import cases, choices, point_of
from tests.attack.child import JVM, NEVE
from tests.attack.runs import OPERATIONS, Attack, version_of

#: A machine that is busy takes its time.
pytestmark = [pytest.mark.promise(5, 6, 16, 28), pytest.mark.timeout(900)]
TIMEOUT_SECONDS = 240
ROOT = Path(__file__).parents[2]
WITH_JVM = [name for name, operation in OPERATIONS.items() if operation.needs_engine]
#: How long a call into the engine has been under way when it is hit.
DELAYS_SECONDS = (0.0, 0.03, 0.3)


def run_and_kill(
    attack: Attack,
    victim: str,
    point: str,
    words: list[str],
    reached: Path,
    *,
    seconds: float = 0,
    borrow: bool = False,
) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "ATTACK_REACHED": str(reached), "PYTHONPATH": str(ROOT)}
    if borrow:
        gateway: Any = attack.session.sparkContext._gateway
        parameters = gateway.gateway_parameters
        environ["ATTACK_BORROW"] = "1"
        environ["PYSPARK_GATEWAY_PORT"] = str(parameters.port)
        environ["PYSPARK_GATEWAY_SECRET"] = parameters.auth_token
    command = [sys.executable, "-m", "tests.attack.child", victim, point, str(seconds), *words]
    return subprocess.run(
        [*command, "-c", str(attack.config("state")), "-o", "json"],
        cwd=attack.folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )


@pytest.mark.conformance("a killed driver")
@pytest.mark.parametrize(("operation", "victim", "number"), cases(OPERATIONS, [NEVE], each=1, of=8))
def test_a_kill_of_neve_loses_nothing(
    attack: Attack, tmp_path: Path, operation: str, victim: str, number: int
) -> None:
    version = version_of(operation, victim)
    point = point_of(attack.points_of(operation, version), operation, victim, number)
    name, words = attack.make(operation, version)
    before = attack.oracle.state(name)

    ended = run_and_kill(attack, victim, point, words, tmp_path / "reached", borrow=True)

    told = f"{operation} of format {version}, killed {point}: {ended.stdout}{ended.stderr}"
    attack.reached.append((tmp_path / "reached").exists())
    assert ended.returncode == (-9 if attack.reached[-1] else 0), told
    check_recovery(attack, operation, name, words, before, told)
    attack.oracle.check_undo_tags(name, attack.operations(), told)


@pytest.mark.parametrize(
    ("operation", "victim", "number"),
    cases(WITH_JVM, [JVM, NEVE], each=1, of=3),
)
def test_a_kill_with_a_jvm_of_its_own_loses_nothing(
    attack: Attack, tmp_path: Path, operation: str, victim: str, number: int
) -> None:
    version = version_of(operation, victim)
    passed = attack.points_of(operation, version)
    started = next(i for i, point in enumerate(passed) if point.startswith("after engine."))
    point = point_of(passed[started:], "own", operation, victim, number)
    seconds = 0.0
    if point.startswith("before engine."):
        seconds = choices("seconds", operation, victim, number).choice(DELAYS_SECONDS)
    name, words = attack.make(operation, version)
    before = attack.oracle.state(name)

    ended = run_and_kill(attack, victim, point, words, tmp_path / "reached", seconds=seconds)

    told = f"{operation} of format {version}, {victim} killed {seconds} s after {point}: "
    told += ended.stdout + ended.stderr
    attack.reached.append((tmp_path / "reached").exists())
    if victim == JVM:
        assert ended.returncode in (0, 1), told
        assert "Traceback" not in ended.stderr, told
        assert json.loads(ended.stdout), told
    check_recovery(attack, operation, name, words, before, told)


def check_recovery(
    attack: Attack, operation: str, name: str, words: list[str], before: Any, told: str
) -> None:
    attack.oracle.check(name, before, told)
    attack.let_leases_end()
    again = attack.run(words)
    is_through = again.exit_code == 0 or not OPERATIONS[operation].is_repeatable
    assert is_through, f"{told} Again: {again.output}"
    attack.settle(name, told)
    attack.oracle.check(name, before, f"afterwards: {told}")
