"""States and catalogs of tests are not forced onto the disk: no test outlives the machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress

import pytest

#: The same for what the JVM opens: `jdbc.` is how Iceberg hands on what a driver is told.
JDBC = {"jdbc.synchronous": "OFF"}


def _trust_the_machine(connection: sqlite3.Connection, *_: object) -> sqlite3.Connection:
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA synchronous = OFF")
    return connection


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_the_disk() -> Iterator[None]:
    # Here, because the process that only hands out tests reads this file, too.
    from sqlalchemy import Engine, event

    from neve.store import database

    connect = database._connect
    event.listen(Engine, "connect", _trust_the_machine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "_connect", lambda path: _trust_the_machine(connect(path)))
        yield
