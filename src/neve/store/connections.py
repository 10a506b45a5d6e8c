"""Open connections to one SQLite file, kept between calls and used by one thread at a time."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Identity = tuple[int, int, int]


class Connections:
    """Opening one reads the whole schema, and closing the last one folds the log into the file."""

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path = path
        self._connect = connect
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._of: Identity | None = None
        weakref.finalize(self, _close, self._idle)

    def is_current(self) -> bool:
        """Whether the file is the one that was used so far, by this process."""
        return self._of is not None and self._of == self.identity()

    def forget(self, of: Identity | None = None) -> None:
        """Begin again: the file was made or replaced, or this process is a copy of another.

        Where it was looked at before, `of` is what it was then.
        """
        with self._lock:
            if self._of is None or self._of[0] == os.getpid():
                _close(self._idle)
            self._idle.clear()
            self._of = of or self.identity()

    @contextmanager
    def one(self) -> Iterator[sqlite3.Connection]:
        """A connection that nobody else uses; one that an error ended is not used again."""
        with self._lock:
            of, db = self._of, self._idle.pop() if self._idle else None
        if db is None:
            db = self._connect()
        try:
            yield db
        except BaseException:
            db.close()
            raise
        with self._lock:
            if of == self._of:
                self._idle.append(db)
                return
        db.close()

    def identity(self) -> Identity | None:
        """This process and the file, as long as it is not replaced."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return os.getpid(), found.st_dev, found.st_ino


def _close(idle: list[sqlite3.Connection]) -> None:
    while idle:
        idle.pop().close()
