"""Numbered migrations: every state database that ever was is brought to the present one.

A file of version n is brought to n + 1 by the next script, inside one transaction for all of them,
so that two processes that open an old file at once do it once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib.resources import files

#: Version 1 had fewer tables; the script of version 2 makes those that are missing.
MIGRATIONS = {
    2: "0002_jobs_claims_quarantine_consumers.sql",
    3: "0003_queue_and_schedules.sql",
    4: "0004_tenants_retries_set_aside.sql",
    5: "0005_events_progress_paused_schedules.sql",
    6: "0006_plans_and_totals.sql",
    7: "0007_marks.sql",
    8: "0008_policies_workers_cool_down.sql",
    9: "0009_writes.sql",
    10: "0010_access.sql",
    11: "0011_rooms.sql",
}
NEWEST = max(MIGRATIONS)


def version_of(db: sqlite3.Connection) -> int:
    """The version of the file, 0 for an empty one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: sqlite3.Connection) -> None:
    """Bring the file to the newest version. The caller has begun a transaction."""
    found = version_of(db)
    for version, name in sorted(MIGRATIONS.items()):
        if version > found:
            for statement in _statements(name):
                db.execute(statement)
    db.execute(f"PRAGMA user_version = {NEWEST}")


def _statements(name: str) -> Iterator[str]:
    """Statements one by one: `executescript` would end the transaction."""
    folder = files("neve.store").joinpath("migrations")
    lines: list[str] = []
    for line in folder.joinpath(name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("--"):
            lines.append(line)
        if lines and sqlite3.complete_statement("\n".join(lines)):
            yield "\n".join(lines)
            lines = []
