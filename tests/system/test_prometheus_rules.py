"""Rules for Prometheus: checked and tried by promtool, over figures that are told."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy" / "prometheus"
#: Elsewhere it is fetched, or the tests fail in CI.
NO_DEBIAN = "There is no promtool: stack: `apt-get` is not on the PATH"


@pytest.fixture(scope="module")
def promtool():
    program = [sys.executable, str(ROOT / "tools" / "stack" / "checkers.py"), "promtool"]
    told = subprocess.run(program, capture_output=True, text=True)
    if told.returncode:
        pytest.skip(f"There is no promtool: {told.stderr}")
    return told.stdout.splitlines()[-1]


@pytest.mark.may_skip(NO_DEBIAN)
@pytest.mark.parametrize(
    "words", [("check", "rules", "neve.rules.yml"), ("test", "rules", "neve.rules.test.yml")]
)
def test_the_rules_are_right(promtool, words):
    done = subprocess.run([promtool, *words], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.may_skip(NO_DEBIAN)
def test_a_rule_that_is_wrong_is_found(promtool, tmp_path):
    text = (FOLDER / "neve.rules.yml").read_text()
    (tmp_path / "neve.rules.yml").write_text(text.replace("> 0.1", "> 0.9"))
    (tmp_path / "t.yml").write_text((FOLDER / "neve.rules.test.yml").read_text())
    done = subprocess.run([promtool, "test", "rules", "t.yml"], cwd=tmp_path, capture_output=True)
    assert done.returncode != 0
    assert re.search(rb"NeveCompactionsFail", done.stdout + done.stderr)
