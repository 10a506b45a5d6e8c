"""Half of the files in each of two processes: none is left out, and no failure stays unseen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.halves import halves

ROOT = Path(__file__).parents[2]
PASSES, FAILS = "def test_a(): pass", "def test_a(): assert False"


def test_every_file_of_the_unit_tests_is_in_one_half():
    first, second = halves(ROOT / "tests" / "unit")

    files = sorted(map(str, (ROOT / "tests" / "unit").rglob("test_*.py")))
    assert sorted(first + second) == files
    assert len(first) - len(second) in (0, 1)


@pytest.mark.parametrize(
    ("one", "two", "options", "code"),
    [
        (PASSES, PASSES, (), 0),
        (FAILS, PASSES, (), 1),
        (PASSES, FAILS, (), 1),
        (PASSES, "def test_b(): pass", ("-k", "test_a"), 0),
        (PASSES, PASSES, ("-k", "test_b"), 5),
    ],
)
def test_both_halves_are_told_and_either_can_fail(tmp_path, one, two, options, code):
    (tmp_path / "test_one.py").write_text(one, encoding="utf-8")
    (tmp_path / "test_two.py").write_text(two, encoding="utf-8")
    quick = ("-c", str(tmp_path / "none.ini"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider")
    (tmp_path / "none.ini").write_text("[pytest]\n", encoding="utf-8")

    ran = subprocess.run(
        [sys.executable, "-m", "tests.halves", str(tmp_path), *quick, *options],
        cwd=ROOT,
        env={"PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == code, ran.stdout + ran.stderr
    assert ran.stdout.count("collected 1 item") == 2
