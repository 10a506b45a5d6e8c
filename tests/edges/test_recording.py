"""Pictures of a terminal: what was drawn over is not in them, and they load nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "recording.py"
PROGRAM = "print('begun\\n1 of 2', end='\\r'); print('2 of 2', end='\\r\\x1b[2K'); print('done')"


def test_a_picture_shows_what_stays_on_the_screen(tmp_path):
    file = tmp_path / "screen.svg"
    command = [sys.executable, str(TOOL), str(file), "--", sys.executable, "-c", PROGRAM]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    text = file.read_text()
    shown = re.sub(r"<[^>]*>", " ", text.partition('neve-matrix">')[2])
    assert "begun" in shown
    assert "done" in shown
    assert "of" not in shown
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]


def test_a_command_that_fails_makes_no_picture(tmp_path):
    file = tmp_path / "screen.svg"
    command = [
        sys.executable,
        str(TOOL),
        str(file),
        "--",
        sys.executable,
        "-c",
        "raise SystemExit(3)",
    ]
    ended = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    assert ended.returncode == 1
    assert not file.exists()
