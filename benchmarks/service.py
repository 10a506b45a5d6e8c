"""What a service costs: ticks over many tables, and how soon a killed worker's job goes on.

    python benchmarks/service.py [--tables N] [--json]

`idle` is a tick at which no table's turn has come; `first` is one of a scheduler that knows no
table's next turn yet; `all due` one at which every table's has, of which one tick submits a
bounded number of jobs. `kill -9` counts from the kill to the claim by another worker, with the
lease of ten seconds that neve.yaml has by default. Claims in a second: benchmarks/job_queue.py.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from neve.model.job import JobRequest, JobState
from neve.model.table import TableRef
from neve.planning.schedule import _next_of_cron
from neve.sections import StateSettings
from neve.service.lease import hold
from neve.service.scheduler import ScheduledTable, Scheduler
from neve.service.store_ports import JobStore
from neve.service.worker import Worker, WorkerSettings
from neve.store.opening import open_store
from neve.testing.facts import MB, TABLE, data_file, table_facts
from neve.testing.orphans import StoredLake
from neve.testing.redis_server import RedisProcess
from neve.testing.services import memory_services
from report import add_options, tell

OPERATIONS = (
    "rewrite_data_files",
    "rewrite_position_delete_files",
    "remove_dangling_deletes",
    "rewrite_manifests",
)
SCHEDULES = ("0 3 * * *", "*/30 * * * *", "15 */6 * * 1-5", "rate(6 hours)")
LEASE_SECONDS = float(StateSettings().lease_seconds)


def entries(tables: int) -> list[ScheduledTable]:
    return [
        ScheduledTable(
            TableRef("lake", (f"ns{number % 100}",), f"t{number}"),
            OPERATIONS,
            SCHEDULES[number % len(SCHEDULES)],
            "Europe/Zurich" if number % 2 else "UTC",
        )
        for number in range(tables)
    ]


def ticks(store: JobStore, tables: int) -> dict[str, float]:
    """Seconds of a tick, by what is due."""
    known = entries(tables)
    scheduler, now = Scheduler(store, lambda: known), datetime.now(tz=UTC)
    store.record_run([entry.table for entry in known])
    _next_of_cron.cache_clear()
    found = {"first": _timed(lambda: scheduler.tick(now))}
    found["idle"] = min(_timed(lambda: scheduler.tick(now)) for _ in range(3))
    later = now + timedelta(days=8)
    found["all due"] = _timed(lambda: scheduler.tick(later))
    return found


def _timed(do: Callable[[], object]) -> float:
    begun = time.perf_counter()
    do()
    return time.perf_counter() - begun


def recovery(url: str) -> float:
    """Seconds from the kill of a worker to the claim of its job by another one."""
    store = open_store(url)
    store.submit("killed", JobRequest(TABLE, "rewrite_data_files"))
    ready = multiprocessing.get_context("spawn").Event()
    victim = multiprocessing.get_context("spawn").Process(target=_hold_for_ever, args=(url, ready))
    victim.start()
    ready.wait()
    lake = StoredLake(table_facts([data_file(f"f{n}", MB) for n in range(3)]))
    services = memory_services(lake, lease_seconds=LEASE_SECONDS)
    worker = Worker(_on(services, store), WorkerSettings())

    threading.Thread(target=worker.run, daemon=True).start()
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    begun = time.perf_counter()
    while (job := store.job("killed")) is None or job.attempts < 2:
        time.sleep(0.01)
    seconds = time.perf_counter() - begun
    worker.drain(30.0)
    victim.join()
    job = store.job("killed")
    assert job is not None
    assert job.state is JobState.SUCCEEDED
    return seconds


def _on(services: Any, store: JobStore) -> Any:

    return replace(services, store=store, clock=lambda: datetime.now(tz=UTC))


def _hold_for_ever(url: str, ready: Any) -> None:
    """A worker in the middle of its job; a heartbeat has just been sent when it is killed."""
    store = open_store(url)
    lease = store.claim_next(LEASE_SECONDS)
    assert lease is not None
    with hold(store, lease, LEASE_SECONDS) as held:
        held.enter(JobState.REWRITING)
        ready.set()
        time.sleep(3600)


def run(folder: Path, tables: int) -> dict[str, dict[str, float]]:
    found = {}
    with RedisProcess(folder / "redis", is_durable=True) as server:
        for name, url in (
            ("sqlite", f"sqlite:///{folder}/state.db"),
            ("redis, appendfsync always", server.url),
        ):
            figures = ticks(open_store(url), tables)
            if name == "sqlite":
                figures["kill -9"] = recovery(f"sqlite:///{folder}/other.db")
            else:
                server.ask("FLUSHALL")
                figures["kill -9"] = recovery(url)
            found[name] = figures
    return found


def as_text(tables: int, found: dict[str, dict[str, float]]) -> str:
    columns = list(next(iter(found.values())))
    lines = [f"ticks over {tables:,} tables, and recovery after kill -9, in seconds", ""]
    lines.append(f"{'store':<28}" + "".join(f"{name:>12}" for name in columns))
    for store, figures in found.items():
        lines.append(f"{store:<28}" + "".join(f"{figures[name]:>12.3f}" for name in columns))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10_000)
    add_options(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="neve-service-") as folder:
        found = run(Path(folder), arguments.tables)
    result: dict[str, Any] = {"tables": arguments.tables, "seconds": found}
    tell(arguments, result, as_text(arguments.tables, found))


if __name__ == "__main__":
    main()
