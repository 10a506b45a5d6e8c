"""A command with an engine without a JVM, which says where it is and stays there for long.

    python interrupted_command.py PHASE COMMAND…

It makes the file `reached` in the current folder once it is in the phase.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from neve.cli import start

LONG_SECONDS = 60


def stay(*_: Any, **__: Any) -> None:
    """As a call into C would: no handler of Python's ends it, unless it raises."""
    Path("reached").touch()
    time.sleep(LONG_SECONDS)


class SlowImport:
    """Importing the commands takes a moment, in which somebody may press Ctrl-C."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name == "neve.cli.main":
            stay()


def arrange(phase: str) -> None:
    if phase == "importing":
        sys.meta_path.insert(0, SlowImport())  # type: ignore[arg-type]
        return
    from neve import app
    from neve.catalog.surveyor import CatalogSurveyor
    from neve.model.errors import JobCancelled
    from neve.testing.local_engine import LocalEngine
    from neve.testing.local_lake import LocalLake

    class Engine(LocalEngine):
        is_cancelled = False

        def cancel(self, job_id: str) -> None:
            self.is_cancelled = True

        def wait(self, *_: Any) -> None:
            """Work that ends where somebody cancels it, as tasks of Spark do."""
            Path("reached").touch()
            while not self.is_cancelled:
                time.sleep(0.01)
            raise JobCancelled("It was cancelled.")

    engine = Engine(LocalLake(Path(".neve").absolute()))
    if phase == "reading":
        CatalogSurveyor.survey = stay  # type: ignore[method-assign,assignment]
    elif phase == "starting":
        engine.warm_up = stay  # type: ignore[method-assign,assignment]
    elif phase == "rewriting":
        engine.stage = engine.wait  # type: ignore[method-assign,assignment]
    elif phase == "stuck":
        engine.stage = stay  # type: ignore[method-assign,assignment]
    elif phase == "committing":
        engine.commit_staged = stay  # type: ignore[method-assign,assignment]
    app.make_engine = lambda *_: engine  # type: ignore[assignment,return-value]


if __name__ == "__main__":
    arrange(sys.argv.pop(1))
    start.run()
