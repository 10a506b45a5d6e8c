"""How many reads a second an API server answers, and how long its figures take.

    python benchmarks/service_reads.py [--jobs N] [--tables N] [--seconds S] [--json]

The server is a process of its own, and so are its clients; the state holds that many ended jobs on
that many tables, and as many jobs that wait. Nothing is left out of a reading: connections are kept
open, and the time of a request is from its first byte to the last one of the answer.
"""

from __future__ import annotations

import argparse
import http.client
import multiprocessing
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from neve.model.job import JobRequest
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.table import TableRef
from neve.store.sqlite import SqliteStore
from report import add_options, tell

CLIENTS = 4
SERVER = """
import sys, uvicorn
from neve import Neve
from neve.api.app import create_app
from neve.api.server import server_config
with Neve.open(sys.argv[1]) as neve:
    config = server_config(create_app(neve), "127.0.0.1", int(sys.argv[2]), log_level="error")
    uvicorn.Server(config).run()
"""


def fill(path: Path, jobs: int, tables: int) -> None:
    """A state in which much was done, and much waits."""
    store, began = SqliteStore(path), datetime(2026, 1, 1, tzinfo=UTC)
    refs = [TableRef("lake", ("bench",), f"t{number}") for number in range(tables)]
    for number in range(jobs):
        request = JobRequest(refs[number % tables], "rewrite_data_files")
        lease = store.begin(f"ended-{number}", request, 60)
        outcome = Outcome(
            lease.job_id,
            lease.table,
            request.operation,
            Status.SUCCEEDED,
            "50 files became 1.",
            began,
            began + timedelta(seconds=number % 900),
            stats=CompactionStats(files_before=50, files_after=1, files_compacted=50),
        )
        store.finish(lease, outcome)
        store.release(lease)
    store.submit_all(
        {
            f"waiting-{number}": JobRequest(refs[number % tables], "rewrite_data_files")
            for number in range(jobs)
        }
    )
    store.record_run(refs)


def read(line: http.client.HTTPConnection, path: str) -> float:
    """The seconds that one request takes."""
    begun = time.perf_counter()
    line.request("GET", path)
    response = line.getresponse()
    body = response.read()
    assert response.status == 200, body
    return time.perf_counter() - begun


def ask(port: int, path: str, seconds: float) -> list[float]:
    """Ask one after the other, for so long; the seconds of each."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    found, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        found.append(read(line, path))
    return found


def measure(server: psutil.Process, port: int, path: str, seconds: float) -> dict[str, float]:
    before = cpu_seconds(server)
    with multiprocessing.Pool(CLIENTS) as pool:
        found = pool.starmap(ask, [(port, path, seconds)] * CLIENTS)
    taken = sorted(one for some in found for one in some)
    return {
        "requests_per_second": len(taken) / seconds,
        "p50_ms": statistics.median(taken) * 1000,
        "p99_ms": taken[int(len(taken) * 0.99)] * 1000,
        "server_cpu_ms": (cpu_seconds(server) - before) / len(taken) * 1000,
    }


def cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def once(server: psutil.Process, port: int, path: str, times: int = 20) -> dict[str, float]:
    """One client alone, as a scraper is."""
    line, before = http.client.HTTPConnection("127.0.0.1", port, timeout=60), cpu_seconds(server)
    taken = [read(line, path) for _ in range(times)]
    return {
        "median_ms": statistics.median(taken) * 1000,
        "max_ms": max(taken) * 1000,
        "server_cpu_ms": (cpu_seconds(server) - before) / times * 1000,
    }


def wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("The server does not answer.")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(jobs: int, tables: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        state, config, port = Path(folder, "state.db"), Path(folder, "neve.yaml"), free_port()
        fill(state, jobs, tables)
        catalog = f"{{type: sql, uri: 'sqlite:///{folder}/c.db', warehouse: '{folder}/w'}}"
        config.write_text(f"catalogs: {{lake: {catalog}}}\nstate: {{url: 'sqlite:///{state}'}}\n")
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(config), str(port)])
        try:
            wait_for(port)
            process = psutil.Process(server.pid)
            reads = {
                "health": "/health",
                "one job": "/api/v1/jobs/ended-1",
                "jobs, 20 a page": "/api/v1/jobs?limit=20",
                "waiting jobs, 20 a page": "/api/v1/jobs?status=queued&limit=20",
            }
            found = {name: measure(process, port, path, seconds) for name, path in reads.items()}
            figures = once(process, port, "/metrics")
        finally:
            server.terminate()
            server.wait(30)
    return {
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "jobs": jobs,
        "tables": tables,
        "reads": found,
        "metrics": figures,
    }


def as_text(result: dict[str, Any]) -> str:
    lines = [
        f"{result['jobs']} ended and {result['jobs']} waiting jobs on {result['tables']} tables, "
        f"{CLIENTS} clients, {result['cores']} cores, load {result['load_before']:.1f}",
        f"{'route':<26}{'requests/s':>12}{'p50 ms':>10}{'p99 ms':>10}{'CPU ms':>10}",
    ]
    for name, row in result["reads"].items():
        rate = row["requests_per_second"]
        rest = "".join(f"{row[key]:>10.1f}" for key in ("p50_ms", "p99_ms", "server_cpu_ms"))
        lines.append(f"{name:<26}{rate:>12.0f}{rest}")
    alone = result["metrics"]
    lines.append(
        f"/metrics, alone: median {alone['median_ms']:.0f} ms, {alone['max_ms']:.0f} at most, "
        f"{alone['server_cpu_ms']:.0f} of CPU"
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    add_options(parser)
    options = parser.parse_args()
    result = run(options.jobs, options.tables, options.seconds)
    tell(options, result, as_text(result))


if __name__ == "__main__":
    main()
