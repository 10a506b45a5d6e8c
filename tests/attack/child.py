"""The command line in a process of its own, in which a process is killed at a chosen point.

    python -m tests.attack.child SELF|JVM NUMBER WORD …

The name of the point is written to the file that ATTACK_REACHED names, before the kill.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.attack.points import Points, watch

from neve.app import build_app
from neve.cli import context
from neve.cli.main import app as command_line


def main(victim: str, number: int, words: list[str]) -> None:
    built: list[Any] = []

    def kill() -> None:
        Path(os.environ["ATTACK_REACHED"]).write_text(points.reached or "")
        if victim == "SELF":
            os.kill(os.getpid(), signal.SIGKILL)
        engine = built[0].engine.if_made
        if engine is not None and engine.process is not None:
            os.kill(engine.process, signal.SIGKILL)

    points = Points(number, kill)

    def build(settings: Any, say: Any) -> Any:
        app = build_app(settings, say)
        built.append(app)
        return watch(app, points)

    context.build_app = build  # type: ignore[assignment]
    command_line(words)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
