"""One SQLite file: connections, transactions, the schema, errors in Neve's words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from neve.model.errors import StoreError
from neve.retries import RetryPolicy, retrying
from neve.store.connections import Connections
from neve.store.migrate import NEWEST, migrate, version_of

BUSY_TIMEOUT_SECONDS = 10.0
#: As long as for any other lock.
UNTIL_MADE = RetryPolicy(attempts=60, first_pause_seconds=0.01, max_pause_seconds=0.2)
#: The part of SQLite's codes that is the same for all variants of an error.
PRIMARY_CODE = 0xFF
#: The store's own clock, in seconds since the epoch.
NOW = "((julianday('now') - 2440587.5) * 86400.0)"

KNOWN = "SELECT 1 FROM sqlite_master WHERE name = ?"


class Database:
    """Several processes on one machine may share the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connections = Connections(path, partial(_connect, path))

    def _rows(self, table: str, query: str, parameters: tuple[object, ...]) -> list[sqlite3.Row]:
        """Rows of a query; none where the table was never made.

        Reading must work on a store that this process may not write.
        """
        with self._errors():
            if self._connections.is_current():
                with self._connections.one() as db:
                    self._refuse_newer(db)
                    return db.execute(query, parameters).fetchall()
            seen = self._connections.identity()
            if seen is None:
                return []
            with closing(_connect(self._path)) as db:
                self._refuse_newer(db)
                if version_of(db) == NEWEST:
                    # All that is asked for is there: from now on, connections are kept.
                    self._connections.forget(seen)
                elif not db.execute(KNOWN, (table,)).fetchone():
                    return []
                return db.execute(query, parameters).fetchall()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._errors():
            if not self._connections.is_current():
                self._prepare()
            with self._connections.one() as db:
                db.execute("BEGIN IMMEDIATE")
                with db:
                    yield db

    def _prepare(self) -> None:
        """Make the file, or bring an older one to the present version."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(_connect(self._path)) as db:
            _log_ahead(db)
            db.execute("BEGIN IMMEDIATE")
            with db:
                self._refuse_newer(db)
                migrate(db)
        self._connections.forget()

    def _refuse_newer(self, db: sqlite3.Connection) -> None:
        if version_of(db) > NEWEST:
            raise StoreError(
                f"The state database {self._path} was made by a newer Neve.",
                next_step="Upgrade Neve, or set state.url to another file.",
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The state database {self._path} cannot be used: {error}.",
                next_step="Check that its folder can be written and has room, or set state.url.",
            ) from error


def _log_ahead(db: sqlite3.Connection) -> None:
    """Readers beside a writer. SQLite does not wait where several make one file at once."""

    def switch() -> object:
        return db.execute("PRAGMA journal_mode = WAL")

    try:
        switch()
    except sqlite3.OperationalError as error:
        if not _is_busy(error):
            raise
        retrying(switch, on=_is_busy, policy=UNTIL_MADE)


def _is_busy(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _connect(path: Path) -> sqlite3.Connection:
    # The heartbeat runs in a thread of its own; each takes a connection while it needs one.
    db = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
    )
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA synchronous = FULL")
    return db
