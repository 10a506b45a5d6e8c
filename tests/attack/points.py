"""Points at which something can happen to a run: before and after every call into a port.

Neve reaches catalogs, engines and its state only through ports, so that the calls into them are
all the places where another process can come in between, and where being killed makes a difference.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from neve.app import App

#: Called from the heartbeat's own thread, at no fixed place of a run.
NOT_POINTS = frozenset({"renew"})
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
    """Numbers the points of one run, and lets something happen at one of them."""

    def __init__(self, chosen: int | None = None, act: Callable[[], None] = lambda: None) -> None:
        self.passed: list[str] = []
        self.reached: str | None = None
        self._chosen, self._act = chosen, act
        self._lock = threading.RLock()
        self._acting = False

    def __call__(self, point: str) -> None:
        with self._lock:
            # What the action itself calls is no point of the run.
            if self._acting:
                return
            self.passed.append(point)
            if len(self.passed) - 1 != self._chosen:
                return
            self.reached, self._acting = point, True
            try:
                self._act()
            finally:
                self._acting = False


def watch(app: App, at: Callable[[str], None]) -> App:
    """The application with every port watched."""
    maintenance = app.maintenance
    known = {field.name for field in fields(maintenance)}
    ports = {name: Watched(name, getattr(maintenance, name), at) for name in PORTS if name in known}
    engine = app.engine

    def watched_engine() -> Any:
        return Watched("engine", engine(), at)

    watched = replace(maintenance, make_engine=watched_engine, **ports)
    return replace(app, maintenance=watched, store=ports["store"])
