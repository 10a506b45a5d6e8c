"""How many queued jobs a worker claims in a second, on SQLite and on Redis.

    python benchmarks/job_queue.py [--jobs N] [--json]

All jobs wait when claiming begins, and most of them still when it ends. Jobs of `many tables` each
have a table of their own, and those that were claimed go on running; those of `few tables` share
fifty, and each ends before the next is claimed. `none free` asks while every table is held.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from neve.model.job import JobRequest, JobState
from neve.model.table import TableRef
from neve.service.store_ports import JobStore
from neve.store.redis.store import RedisStore
from neve.store.sqlite import SqliteStore
from neve.testing.redis_server import RedisProcess
from report import add_options, tell

TENANTS = 5
FEW_TABLES = 50
LEASE_SECONDS = 600.0


def fill(store: JobStore, jobs: int, tables: int) -> float:
    """Queue the jobs, some one by one and the rest together; how many a second one by one."""
    requests = {
        f"job-{number}": JobRequest(
            TableRef("lake", ("bench",), f"t{number % tables}"),
            "rewrite_data_files",
            priority=number % 3,
            tenant=f"tenant-{number % TENANTS}",
        )
        for number in range(jobs)
    }
    alone = dict(islice(requests.items(), jobs // 20))
    begun = time.perf_counter()
    for job_id, request in alone.items():
        store.submit(job_id, request)
    seconds = time.perf_counter() - begun
    store.submit_all({job_id: requests[job_id] for job_id in requests.keys() - alone.keys()})
    return len(alone) / seconds


def claim(store: JobStore, jobs: int, *, ending: bool) -> float:
    """Claim this many; how many a second."""
    begun = time.perf_counter()
    for _ in range(jobs):
        lease = store.claim_next(LEASE_SECONDS)
        assert lease is not None
        if ending:
            store.end(lease, JobState.SUCCEEDED, "")
            store.release(lease)
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
    many, few, claims = open_store("many"), open_store("few"), jobs // 10
    result = {"submit": fill(many, jobs, jobs)}
    result["claim, many tables"] = claim(many, claims, ending=False)
    fill(few, jobs, FEW_TABLES)
    result["claim and end, few tables"] = claim(few, claims, ending=True)
    result["none free"] = ask_in_vain(few, 200)
    return result


def run(folder: Path, jobs: int) -> dict[str, dict[str, float]]:
    result = {"sqlite": measure(lambda name: SqliteStore(folder / f"{name}.db"), jobs)}
    with RedisProcess(folder / "redis") as server:
        result["redis"] = measure(lambda name: RedisStore(server.url, prefix=name), jobs)
    with RedisProcess(folder / "durable", is_durable=True) as server:
        result["redis, appendfsync always"] = measure(
            lambda name: RedisStore(server.url, prefix=name), jobs
        )
    return result


def as_text(jobs: int, result: dict[str, dict[str, float]]) -> str:
    columns = list(next(iter(result.values())))
    lines = [f"{jobs:,} queued jobs of {TENANTS} tenants, one worker, calls a second", ""]
    lines.append(f"{'store':<28}" + "".join(f"{name:>28}" for name in columns))
    for store, figures in result.items():
        lines.append(f"{store:<28}" + "".join(f"{figures[name]:>28,.0f}" for name in columns))
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
