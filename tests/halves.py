"""Runs the tests of a folder in two processes, each of which reads and runs half of its files.

`python -m tests.halves tests/unit`, and what else pytest takes. Workers of xdist read all files
each, and tell of every test six times: a fifth of the time of tests that take milliseconds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

PASSED, NOTHING_CHOSEN = 0, 5


def halves(folder: Path) -> tuple[list[str], list[str]]:
    """Neighbours go apart: files of one folder take about as long as each other."""
    files = sorted(str(path) for path in folder.rglob("test_*.py"))
    return files[0::2], files[1::2]


def start(files: list[str], *options: str, output: IO[bytes] | None = None) -> subprocess.Popen:
    command = [sys.executable, "-m", "pytest", *options, *files]
    return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT if output else None)


def main(folder: str, *options: str) -> int:
    """The first half tells of itself at once, the second when both are done."""
    first, second = halves(Path(folder))
    with tempfile.TemporaryFile() as kept:
        beside = start(second, *options, "-p", "no:cacheprovider", output=kept)
        codes = {start(first, *options).wait(), beside.wait()}
        kept.seek(0)
        sys.stdout.write(kept.read().decode())
    # With -k, all that was asked for may be in one half.
    return max(codes - {PASSED, NOTHING_CHOSEN}, key=abs, default=min(codes))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
