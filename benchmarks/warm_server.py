"""What a warm server saves on small tables, and how it answers while it compacts.

    python benchmarks/warm_server.py [--tables N] [--seconds S] [--json]

`neve serve` runs as users run it: API, worker and scheduler in one process. Tables of fifty files
are compacted by it one after the other, and their twins by a Spark application each, which is what
a cron job starts. Times are a client's: from sending the request to seeing the job's end. Reads
are counted while the server compacts larger tables.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import psutil

from lake import BenchLake
from report import add_options, tell
from service_reads import measure

FILES = 50
SMALL_MB = 0.05
LARGE_FILES, LARGE_MB, LARGE_TABLES = 120, 1.0, 3
COMMAND = "from neve.cli.main import run; run()"
ADDRESS = r"http://127\.0\.0\.1:(\d+)"
READY_SECONDS = 300
JOB_SECONDS = 600
READS = {
    "health": "/health",
    "one job": "/api/v1/jobs/{job}",
    "jobs, 20 a page": "/api/v1/jobs?limit=20",
}


class Server:
    """`neve serve` on a free port, warm."""

    def __init__(self, folder: Path, lake: BenchLake) -> None:
        config = folder / "neve.yaml"
        settings = {"catalogs": {"lake": lake.properties}}
        state = {"state": {"url": f"sqlite:///{folder}/state.db"}}
        config.write_text(json.dumps({**settings, **state}))
        words = ["serve", "--port", "0", "--config", str(config)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            self._begin()
        except BaseException:
            # A server that is left behind would keep whoever waits for its output.
            self.process.kill()
            self.process.wait()
            raise

    def _begin(self) -> None:
        said = self.process.stderr
        assert said is not None
        lines = iter(said.readline, "")
        found = next((m for line in lines if (m := re.search(ADDRESS, line))), None)
        assert found is not None, "the server ended before it listened"
        self.port = int(found[1])
        threading.Thread(target=said.read, daemon=True).start()
        self.http = httpx2.Client(base_url=found[0], timeout=60)
        begun = time.perf_counter()
        while self.http.get("/ready").status_code != 200:
            assert time.perf_counter() - begun < READY_SECONDS, self.http.get("/ready").text
            time.sleep(0.2)
        self.ready_seconds = time.perf_counter() - begun

    def compact(self, table: str) -> dict[str, Any]:
        """Seconds until the job began, and until its end was seen."""
        begun = time.perf_counter()
        job = self._submit(table)
        while (shown := self.http.get(job).json())["status"] in ("queued", "running"):
            assert time.perf_counter() - begun < JOB_SECONDS, shown
            time.sleep(0.01)
        seconds = time.perf_counter() - begun
        assert shown["status"] == "succeeded", shown
        waited = _moment(shown["started_at"]) - _moment(shown["created_at"])
        return {"start": waited, "done": seconds, "job": shown["job_id"]}

    def keep_compacting(self, tables: list[str], stop: threading.Event) -> None:
        for table in tables:
            job = self._submit(table)
            while self.http.get(job).json()["status"] in ("queued", "running"):
                if stop.wait(0.2):
                    return

    def _submit(self, table: str) -> str:
        answer = self.http.post("/api/v1/compact", json={"namespace": "bench", "table": table})
        assert answer.status_code == 202, answer.text
        return str(answer.headers["Location"])

    def stop(self) -> None:
        self.http.close()
        self.process.terminate()
        self.process.wait(60)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def one_application(lake: BenchLake, table: str) -> float:
    """Seconds of a Spark application that compacts one table."""
    program = Path(__file__).with_name("one_shot_iceberg.py")
    arguments = [json.dumps({"lake": lake.properties}), f"bench.{table}"]
    begun = time.perf_counter()
    subprocess.run([sys.executable, str(program), *arguments], check=True, capture_output=True)
    return time.perf_counter() - begun


def run(folder: Path, tables: int, seconds: float) -> dict[str, Any]:
    lake, load = BenchLake(folder), os.getloadavg()[0]
    names = [f"small{number}" for number in range(tables + 1)]
    large = [f"large{number}" for number in range(LARGE_TABLES)]
    for name in names:
        lake.make_twins(name, files=FILES, megabytes=SMALL_MB, by_spark=False)
    for name in large:
        lake.make_twins(name, files=LARGE_FILES, megabytes=LARGE_MB, by_spark=False)
    server = Server(folder, lake)
    try:
        first, *warm = [server.compact(f"{name}_neve") for name in names]
        reads = busy_reads(server, [f"{name}_neve" for name in large], str(first["job"]), seconds)
    finally:
        server.stop()
    alone = [one_application(lake, f"{name}_iceberg") for name in names[1:]]
    done, application = _median(warm, "done"), statistics.median(alone)
    return {
        "load_before": load,
        "cores": os.cpu_count(),
        "files": FILES,
        "ready_s": server.ready_seconds,
        "first_done_s": first["done"],
        "start_s": _median(warm, "start"),
        "done_s": done,
        "application_s": application,
        "times_faster": application / done,
        "reads_while_compacting": reads,
    }


def busy_reads(server: Server, tables: list[str], job: str, seconds: float) -> dict[str, Any]:
    process, stop = psutil.Process(server.process.pid), threading.Event()
    busy = threading.Thread(target=server.keep_compacting, args=(tables, stop), daemon=True)
    busy.start()
    found = {}
    for name, path in READS.items():
        found[name] = measure(process, server.port, path.format(job=job), seconds)
        found[name]["compacting"] = float(busy.is_alive())
    stop.set()
    busy.join()
    return found


def _median(rows: list[dict[str, Any]], name: str) -> float:
    return statistics.median(row[name] for row in rows)


def as_text(result: dict[str, Any]) -> str:
    lines = [
        f"tables of {result['files']} files, {result['cores']} cores, "
        f"load before {result['load_before']:.1f}",
        f"server ready after {result['ready_s']:.1f} s, its first table in "
        f"{result['first_done_s']:.1f} s",
        f"warm: begins after {result['start_s']:.2f} s, done after {result['done_s']:.2f} s",
        f"a Spark application for it: {result['application_s']:.1f} s, "
        f"so {result['times_faster']:.1f} times as long",
        f"{'reads while it compacts':<26}{'requests/s':>12}{'p50 ms':>10}{'p99 ms':>10}",
    ]
    for name, row in result["reads_while_compacting"].items():
        rest = f"{row['p50_ms']:>10.1f}{row['p99_ms']:>10.1f}"
        was = "" if row["compacting"] else "  (it was done by then)"
        lines.append(f"{name:<26}{row['requests_per_second']:>12.0f}{rest}{was}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    add_options(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="neve-warm-") as folder:
        result = run(Path(folder), options.tables, options.seconds)
    tell(options, result, as_text(result))


if __name__ == "__main__":
    main()
