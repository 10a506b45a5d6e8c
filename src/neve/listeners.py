"""Whoever is told what jobs do: their own trouble is no job's trouble."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from neve.model.events import JobEvent
from neve.service.ports import Reporter

Listener = Callable[[JobEvent], None]
LOG = logging.getLogger("neve")


class Attempts:
    """Calls somebody else's code on a job's way, and logs the first time that it fails."""

    def __init__(self, who: str) -> None:
        self._who = who
        self._has_failed = False

    def __call__(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            # Whatever it raises, the job goes on.
            if not self._has_failed:
                LOG.warning("%s failed, and the job goes on: %r", self._who, error, exc_info=error)
            self._has_failed = True


class Listeners:
    """Tells every listener every event, whatever the others make of it."""

    def __init__(self, first: Listener) -> None:
        self._told: list[tuple[Listener, Attempts]] = [(first, Attempts("The log of events"))]

    def __call__(self, event: JobEvent) -> None:
        for listener, attempts in list(self._told):
            attempts(partial(listener, event))

    @contextmanager
    def with_listener(self, listener: Listener) -> Iterator[None]:
        """One more of them, for the length of the block."""
        added = (listener, Attempts("A listener of events"))
        self._told.append(added)
        try:
            yield
        finally:
            # By identity: a program may listen twice with the same function.
            self._told = [item for item in self._told if item is not added]


class Silent:
    """Tells nobody what is going on."""

    def __call__(self, message: str) -> None:
        pass

    def progress(self, done: int, total: int) -> None:
        pass


class CarefulReporter:
    """A reporter of somebody else's, which cannot stop a job by failing."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._attempts = Attempts("The reporter")

    def __call__(self, message: str) -> None:
        self._attempts(partial(self._reporter, message))

    def tell(self, message: str) -> None:
        """The same in a line of its own, where the reporter has such lines."""
        self._attempts(partial(getattr(self._reporter, "tell", self._reporter), message))

    def progress(self, done: int, total: int) -> None:
        self._attempts(partial(self._reporter.progress, done, total))
