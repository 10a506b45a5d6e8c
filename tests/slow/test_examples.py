"""The example of a function, and the block of its page, as programs of their own."""

from __future__ import annotations

import subprocess
import sys

from tests.pages import ROOT, blocks


def run(*words, cwd):
    program = [sys.executable, *words]
    done = subprocess.run(program, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_of_a_function(tmp_path):
    told = run(str(ROOT / "examples" / "lambda" / "invoke.py"), cwd=tmp_path)

    assert '"people": 5' in told.splitlines()[-1]


def test_the_block_of_its_page(tmp_path):
    (block,) = [block for block in blocks("start/lambda.md") if block.language == "python"]
    run("-c", block.text, cwd=tmp_path)
