"""How many queued jobs workers claim in a second, on SQLite and on Redis.

    python benchmarks/job_queue.py [--jobs N] [--json]

Every job waits when claiming begins. Jobs of `many tables` each have a table of their own; those of
`few tables` share fifty, so that a claim passes over what is held, and every job ends before the
next is claimed. `none free` asks for a job while every table is held.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from neve.model.job import JobRequest, JobState
from neve.model.table import TableRef
from neve.service.ports import JobStore
from neve.store.redis.store import RedisStore
from neve.store.sqlite import SqliteStore
from neve.testing.redis_server import RedisProcess
from report import add_options, tell

TENANTS = 5
FEW_TABLES = 50
LEASE_SECONDS = 600.0


def fill(store: JobStore, jobs: int, tables: int) -> float:
    """Queue the jobs; how many a second."""
    begun = time.perf_counter()
    for number in range(jobs):
        table = TableRef("lake", ("bench",), f"t{number % tables}")
        request = JobRequest(
            table, "rewrite_data_files", priority=number % 3, tenant=f"tenant-{number % TENANTS}"
        )
        store.submit(f"job-{number}", request)
    return jobs / (time.perf_counter() - begun)


def drain(store: JobStore, jobs: int, *, ending: bool) -> float:
    """Claim all of them; how many a second."""
    begun, claimed = time.perf_counter(), 0
    while lease := store.claim_next(LEASE_SECONDS):
        claimed += 1
        if ending:
            store.end(lease, JobState.SUCCEEDED, "")
            store.release(lease)
    assert claimed == jobs, (claimed, jobs)
    return jobs / (time.perf_counter() - begun)


def ask_in_vain(store: JobStore, times: int) -> float:
    """Ask for a job while all tables are held; how often a second."""
    for _ in range(FEW_TABLES):
        assert store.claim_next(LEASE_SECONDS)
    begun = time.perf_counter()
    for _ in range(times):
        assert store.claim_next(LEASE_SECONDS) is None
    return times / (time.perf_counter() - begun)


def measure(open_store: Callable[[str], JobStore], jobs: int) -> dict[str, float]:
    many, few, held = (open_store(name) for name in ("many", "few", "held"))
    result = {"submit_per_s": fill(many, jobs, jobs)}
    result["claim_many_tables_per_s"] = drain(many, jobs, ending=False)
    fill(few, jobs, FEW_TABLES)
    result["claim_and_end_few_tables_per_s"] = drain(few, jobs, ending=True)
    fill(held, jobs, FEW_TABLES)
    result["claim_none_free_per_s"] = ask_in_vain(held, 200)
    return result


def run(folder: Path, jobs: int) -> dict[str, dict[str, float]]:
    result = {"sqlite": measure(lambda name: SqliteStore(folder / f"{name}.db"), jobs)}
    with RedisProcess(folder / "redis", is_durable=False) as server:
        result["redis"] = measure(lambda name: RedisStore(server.url, prefix=name), jobs)
    with RedisProcess(folder / "durable", is_durable=True) as server:
        result["redis, appendfsync always"] = measure(
            lambda name: RedisStore(server.url, prefix=name), jobs
        )
    return result


def as_text(jobs: int, result: dict[str, dict[str, float]]) -> str:
    columns = list(next(iter(result.values())))
    lines = [f"{jobs:,} queued jobs of {TENANTS} tenants, one worker", ""]
    lines.append(f"{'store':<28}" + "".join(f"{name:>32}" for name in columns))
    for store, figures in result.items():
        lines.append(f"{store:<28}" + "".join(f"{figures[name]:>32,.0f}" for name in columns))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    add_options(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="neve-queue-") as folder:
        found = run(Path(folder), arguments.jobs)
    result: dict[str, Any] = {"jobs": arguments.jobs, "per_second": found}
    tell(arguments, result, as_text(arguments.jobs, found))


if __name__ == "__main__":
    main()
