"""Points at which something can happen to a run: before and after every call into a port.

Neve reaches catalogs, engines and its state only through ports, so that the calls into them are
all the places where another process can come in between, and where being killed makes a difference.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from neve.app import App

#: Called from threads of their own or by the clock, at no fixed place of a run.
NOT_POINTS = frozenset({"renew", "append_event"})
PORTS = ("surveyor", "store", "metadata", "log")


class Watched:
    """A port that tells of every call that is made to it."""

    def __init__(self, name: str, target: Any, at: Callable[[str], None]) -> None:
        self._name, self._target, self._at = name, target, at

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(self._target, attribute)
        if attribute.startswith("_") or attribute in NOT_POINTS:
            return found
        name = f"{self._name}.{attribute}"
        if not callable(found):
            is_port = type(found).__module__.startswith("neve.store")
            return Watched(name, found, self._at) if is_port else found

        def call(*arguments: Any, **named: Any) -> Any:
            self._at(f"before {name}")
            result = found(*arguments, **named)
            self._at(f"after {name}")
            return result

        return call


class Points:
    """Names the points of one run, as `before store.claim #1`; something happens at one of them.

    By name and not by number, so that a run which starts its own Spark has the same points as one
    that borrows it.
    """

    def __init__(self, chosen: str | None = None, act: Callable[[], None] = lambda: None) -> None:
        self.passed: list[str] = []
        self.is_reached = False
        self._chosen, self._act = chosen, act
        self._times: Counter[str] = Counter()
        self._lock = threading.RLock()
        self._is_acting = False

    def __call__(self, call: str) -> None:
        with self._lock:
            # What the action itself calls is no point of the run.
            if self._is_acting:
                return
            self._times[call] += 1
            point = f"{call} #{self._times[call]}"
            self.passed.append(point)
            if point != self._chosen:
                return
            self.is_reached = self._is_acting = True
            try:
                self._act()
            finally:
                self._is_acting = False


def watch(app: App, at: Callable[[str], None]) -> App:
    """The application with every port watched."""
    ports = {name: Watched(name, getattr(app.maintenance, name), at) for name in PORTS}
    engine = app.engine

    def watched_engine() -> Any:
        return Watched("engine", engine(), at)

    maintenance = replace(app.maintenance, make_engine=watched_engine, **ports)
    # What the command line asks beside the service is a point as well.
    return replace(app, maintenance=maintenance, store=ports["store"])
