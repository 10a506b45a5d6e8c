"""Points at which something can happen to a run: before and after every call into a port.

Neve reaches catalogs, engines and its state only through ports, so that the calls into them are
all the places where another process can come in between, and where being killed makes a difference.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from tests.attack.watched_ports import (
    WatchedEngine,
    WatchedLog,
    WatchedMetadata,
    WatchedStore,
    WatchedSurveyor,
)

from neve.app import App
from neve.catalog import metadata_commit
from neve.spark.rewrite import publish

#: Commits of our own compare a state with what the catalog has: after the state was read, and
#: before it is compared. Module, what is called just then, and the name of the point.
INSIDE = (
    (publish, "iceberg", "inside publish"),
    (metadata_commit, "why_not", "inside metadata.commit"),
)


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
        self._lock = threading.Lock()
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
        # Without the lock: the action may pass points in threads of its own.
        try:
            self._act()
        finally:
            self._is_acting = False


def watch(app: App, at: Callable[[str], None]) -> App:
    """The application with every port watched."""
    ports, engine = app.maintenance, app.engine
    store = WatchedStore("store", ports.store, at)
    maintenance = replace(
        ports,
        surveyor=WatchedSurveyor("surveyor", ports.surveyor, at),
        metadata=WatchedMetadata("metadata", ports.metadata, at),
        log=WatchedLog("log", ports.log, at),
        store=store,
        make_engine=lambda: WatchedEngine("engine", engine(), at),
    )
    # What the command line asks beside the service is a point as well.
    return replace(app, maintenance=maintenance, store=store)


@contextmanager
def inside(at: Callable[[str], None]) -> Iterator[None]:
    """Points in the middle of commits, which no port shows."""
    with ExitStack() as patched:
        for module, name, point in INSIDE:
            told = _told(at, getattr(module, name), point)
            patched.enter_context(patch.object(module, name, told))
        yield


def _told(
    at: Callable[[str], None], original: Callable[..., Any], point: str
) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        answer = original(*arguments)
        at(point)
        return answer

    return call
