from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from neve.model.database import Column
from neve.model.errors import (
    CatalogError,
    CommitConflict,
    CommitUnknown,
    RecordsRefused,
    TableNotFound,
)
from neve.model.table import TableRef
from neve.model.write_keys import from_text, to_text
from neve.testing.store import MemoryStore

USERS = TableRef("lake", ("t_a__default",), "users")
#: A name that fits its column, and that no file takes.
POISON = "poison"
COLUMNS = (Column("name", "string", True), Column("age", "long"))


@dataclass
class Snapshot:
    write_id: str
    keys: str
    rows: list


@dataclass
class Files:
    rows: list
    paths: list


@dataclass
class MemoryTables:
    """One table in memory, whose commits are compared with its head, as catalogs do."""

    columns: tuple = COLUMNS
    snapshots: list = field(default_factory=list)
    #: What becomes of the next commits: conflict, lost (applied, no answer), late, or done.
    fates: list = field(default_factory=list)
    staged: int = 0
    late: list = field(default_factory=list)
    is_there: bool = True
    is_down: bool = False
    uuid: str = "u1"
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, table):
        if not self.is_there:
            raise TableNotFound(f"There is no table {table}.")
        return MemoryTable(self, list(self.snapshots), self.columns, self.uuid)

    @property
    def rows(self):
        return [row for snapshot in self.snapshots for row in snapshot.rows]


@dataclass
class MemoryTable:
    tables: MemoryTables
    seen: list
    columns: tuple
    uuid: str

    @property
    def layout(self):
        return (len(self.columns), 0)

    def has_landed(self, write_id):
        return any(snapshot.write_id == write_id for snapshot in self.seen)

    def written(self, keys):
        wanted = {key.key for key in keys}
        known = {}
        for snapshot in self.seen:
            known |= from_text(snapshot.keys)
        return {key: content for key, content in known.items() if key in wanted}

    def stage(self, rows):
        self.tables.staged += 1
        if self.tables.is_down:
            raise CatalogError("The storage is away.")
        if any(row["name"] == POISON for row in rows):
            raise RecordsRefused("They cannot be written.")
        return Files(list(rows), [f"file:///{self.tables.staged}"])

    def commit(self, staged, keys, write_id):
        made = Snapshot(write_id, to_text(keys), staged.rows)
        with self.tables.lock:
            fate = self.tables.fates.pop(0) if self.tables.fates else "done"
            if callable(fate):
                fate()
            if fate == "late":
                # On its way: it is applied only where the head is still the one that it asserts.
                self.tables.late.append((len(self.seen), made))
                raise CommitUnknown("No answer.")
            if fate == "conflict" or len(self.seen) != len(self.tables.snapshots):
                raise CommitConflict("Others write.")
            self.tables.snapshots.append(made)
            if fate == "lost":
                raise CommitUnknown("No answer.")
        return len(self.tables.snapshots)


@pytest.fixture
def tables():
    return MemoryTables()


@pytest.fixture
def store():
    return MemoryStore(lambda: datetime.now(tz=UTC))
