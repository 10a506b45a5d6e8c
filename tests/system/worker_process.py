"""A worker, a scheduler or both in a process of their own, on tables that lie in files.

    python -m tests.system.worker_process STATE_URL FOLDER ROLE [POINT]

The engine is the one in memory, with its tables in a folder, so that several processes see the
same. At POINT the first job stops, a file named `reached` is written, and it goes on when it is
told to stop, or never where the process is killed.
"""

from __future__ import annotations

import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from neve.model.facts import TableFacts
from neve.model.found import Found
from neve.model.table import TableRef
from neve.service.maintenance import Maintenance
from neve.service.scheduler import ScheduledTable, Scheduler
from neve.service.watch import TableWatch
from neve.service.worker import Worker, WorkerSettings
from neve.store.opening import open_store
from neve.testing.facts import MB, data_file, table_facts
from neve.testing.orphans import StoredLake
from neve.testing.services import memory_services

LEASE_SECONDS = 2.0
OPERATIONS = ("rewrite_data_files", "rewrite_manifests")


def table(number: int) -> TableRef:
    return TableRef("lake", ("db",), f"t{number}")


class Stored:
    """A value in a file, replaced as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Any:
        return pickle.loads(self._path.read_bytes())

    def write(self, value: object) -> None:
        part = self._path.with_suffix(f".{threading.get_ident()}")
        part.write_bytes(pickle.dumps(value))
        part.replace(self._path)


class History(MutableMapping[int, TableFacts]):
    """Every state of a table, a file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def __getitem__(self, key: int) -> TableFacts:
        try:
            found: TableFacts = Stored(self._folder / str(key)).read()
        except FileNotFoundError:
            raise KeyError(key) from None
        return found

    def __setitem__(self, key: int, value: TableFacts) -> None:
        Stored(self._folder / str(key)).write(value)

    def __delitem__(self, key: int) -> None:
        (self._folder / str(key)).unlink()

    def __iter__(self) -> Iterator[int]:
        return (int(path.name) for path in self._folder.iterdir() if path.name.isdecimal())

    def __len__(self) -> int:
        return sum(1 for _ in self)


class DiskLake(StoredLake):
    """The table in memory, whose state every process sees."""

    def __init__(self, folder: Path, ref: TableRef) -> None:
        self._stored = Stored(folder / f"{ref.name}.facts")
        if not (folder / f"{ref.name}.facts").exists():
            small = [data_file(f"{ref.name}-{index}", 10 * MB) for index in range(4)]
            self._stored.write(replace(table_facts(small), table=ref))
        super().__init__(self._stored.read())
        self.history = History(folder / f"{ref.name}.history")  # type: ignore[assignment]
        if not self.history:
            self.history[self.facts.snapshot_id] = self.facts  # type: ignore[index]

    @property
    def facts(self) -> TableFacts:  # type: ignore[override]
        found: TableFacts = self._stored.read()
        return found

    @facts.setter
    def facts(self, value: TableFacts) -> None:
        self._stored.write(value)


class Lakes:
    """Many of them behind one port: whatever is asked names its table first."""

    def __init__(self, folder: Path, tables: int) -> None:
        self.lakes = {table(number): DiskLake(folder, table(number)) for number in range(tables)}

    def __getattr__(self, name: str) -> Any:
        if name in ("job", "cancel", "warm_up"):
            return getattr(next(iter(self.lakes.values())), name)

        def ask(ref: TableRef, *rest: Any, **named: Any) -> Any:
            return getattr(self.lakes[ref], name)(ref, *rest, **named)

        return ask

    def commit(self, change: Any, still_held: Any = None) -> Any:
        return self.lakes[change.table].metadata.commit(change, still_held)

    def write(self, outcomes: Any) -> list[TableRef]:
        return []


class Pause:
    """Stops the first job that comes along, until the process is to stop."""

    def __init__(self, folder: Path, services: Maintenance) -> None:
        self._reached, self._services = folder / "reached", services
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            if self._reached.exists():
                return
            self._reached.write_text("")
        while not self._services.stop.is_asked:
            time.sleep(0.01)


def stop_at(point: str, lake: DiskLake, pause: Pause) -> None:
    """Where a job's state is the one of this name, or where its commit has just landed."""
    if point == "committing":
        lake.before_commit = pause
    elif point == "committed":
        lake.after_commit = pause
    else:
        calls = {"planning": "survey", "rewriting": "run_tasks", "verifying": "survey"}
        name = calls[point]
        original = getattr(lake, name)

        def stopping(*rest: Any, **named: Any) -> Any:
            has_committed = any(snapshot.job_id for snapshot in lake.facts.snapshots)
            if point != "verifying" or has_committed:
                pause()
            return original(*rest, **named)

        setattr(lake, name, stopping)


def services_on(url: str, folder: Path, tables: int) -> tuple[Maintenance, Lakes]:
    lakes: Any = Lakes(folder, tables)
    made = memory_services(lakes.lakes[table(0)], lease_seconds=LEASE_SECONDS)
    store: Any = open_store(url)
    return (
        replace(
            made,
            surveyor=lakes,
            metadata=lakes,
            make_engine=lambda: lakes,
            log=lakes,
            store=store,
            clock=lambda: datetime.now(tz=UTC),
        ),
        lakes,
    )


def main(url: str, folder: Path, roles: str, point: str | None, tables: int) -> None:
    services, lakes = services_on(url, folder, tables)
    if point is not None:
        stop_at(point, lakes.lakes[table(0)], Pause(folder, services))
    settings = WorkerSettings(concurrency=2, poll_seconds=0.05, settle_seconds=0.2)
    worker = Worker(services, settings, say=lambda text: None)
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    asked = threading.Event()
    if "worker" in roles:
        threading.Thread(target=worker.run, daemon=True).start()
    if "scheduler" in roles:
        turns = _scheduler(services, tables)
        threading.Thread(target=_tick, args=(turns, asked), daemon=True).start()
    (folder / f"up-{threading.get_native_id()}").write_text("")
    asked.wait()
    worker.drain(0.2, 10.0)


def _scheduler(services: Maintenance, tables: int) -> Scheduler:
    watch = TableWatch(
        lambda: Found([table(number) for number in range(tables)]),
        lambda ref, _: ScheduledTable(ref, OPERATIONS, "0 0 1 1 *"),
    )
    watch.refresh()
    return Scheduler(services.store, watch.entries, max_jobs=6)


def _tick(turns: Scheduler, asked: threading.Event) -> None:
    from neve.model.errors import StoreError

    while not asked.wait(0.1):
        try:
            turns.tick(datetime.now(tz=UTC))
        except StoreError:
            continue


if __name__ == "__main__":
    _, state, place, role, *rest = sys.argv
    main(state, Path(place), role, rest[0] or None, int(rest[1]))
