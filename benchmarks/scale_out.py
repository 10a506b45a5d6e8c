"""How throughput grows with executors, and what the driver spends for each thousand output files.

    python benchmarks/scale_out.py [--mb 400] [--files 1000] [--json]

A standalone cluster of two workers with one core each, on this machine: master, workers, executors
and the driver share what cores there are. Every measurement is a process of its own, warmed by a
small table, so that neither the start of executors nor the sending of engines is counted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import yaml
from pyiceberg.catalog.sql import SqlCatalog

from neve import Neve
from neve.testing.spark_cluster import spark_cluster
from report import add_options, tell

MB = 1024 * 1024
EXECUTORS = (1, 2)
GROUPS, FILES = 8, 10
SCHEMA = pa.schema([("part", pa.int32()), ("id", pa.int64()), ("value", pa.float64())])
#: A row of the table above, of which no column compresses well.
ROW_BYTES = 17


def make_table(folder: Path, name: str, *, parts: int, appends: int, rows: int) -> None:
    """So many partitions with so many files each, and rows in each file."""
    catalog = SqlCatalog(
        "lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=(folder / "warehouse").as_uri()
    )
    catalog.create_namespace_if_not_exists("bench")
    table = catalog.create_table(f"bench.{name}", SCHEMA)
    with table.update_spec() as spec:
        spec.add_identity("part")
    random = np.random.default_rng(5)
    for number in range(appends):
        numbers = np.repeat(np.arange(parts, dtype=np.int32), rows)
        ids = random.integers(0, 2**62, parts * rows)
        table.append(pa.table([numbers, ids + number, random.random(parts * rows)], schema=SCHEMA))


def make_tables(folder: Path, arguments: argparse.Namespace) -> None:
    rows = max(1, int(arguments.mb * MB / ROW_BYTES / GROUPS / FILES))
    for executors in EXECUTORS:
        make_table(folder, f"warm_{executors}", parts=2, appends=2, rows=10)
        make_table(folder, f"large_{executors}", parts=GROUPS, appends=FILES, rows=rows)
    make_table(folder, "warm_many", parts=2, appends=2, rows=10)
    make_table(folder, "large_many", parts=arguments.files, appends=2, rows=10)


def measure(config: str, which: str) -> dict[str, Any]:
    """Compact the table, after a small one, and tell what it took."""
    with Neve.open(config) as neve:
        neve.run(f"lake.bench.warm_{which}")
        wall, cpu = time.perf_counter(), _cpu_seconds()
        outcome = neve.run(f"lake.bench.large_{which}")
        wall, cpu = time.perf_counter() - wall, _cpu_seconds() - cpu
    assert outcome.proof is not None
    assert outcome.proof.holds, outcome.reason
    return {
        "seconds": wall,
        "driver_cpu_seconds": cpu,
        "rewritten_mb": outcome.bytes_rewritten / MB,
        "output_files": outcome.stats.files_after,
    }


def _cpu_seconds() -> float:
    """Of the driver: this process, and its JVM."""
    own = psutil.Process()
    times = [each.cpu_times() for each in (own, *own.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    make_tables(folder, arguments)
    results: dict[str, Any] = {}
    (folder / "cluster").mkdir()
    with spark_cluster(folder / "cluster") as cluster:
        for which, executors in [*((str(number), number) for number in EXECUTORS), ("many", 2)]:
            config = folder / f"neve-{which}.yaml"
            config.write_text(yaml.safe_dump(_settings(folder, cluster.master, executors)))
            command = [sys.executable, __file__, "--measure", str(config), which]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{' '.join(command[1:])} failed:\n{done.stderr[-4000:]}")
            results[which] = json.loads(done.stdout.splitlines()[-1])
    return results


def _settings(folder: Path, master: str, executors: int) -> dict[str, Any]:
    catalog = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": (folder / "warehouse").as_uri(),
    }
    conf = {
        "spark.cores.max": str(executors),
        "spark.executor.cores": "1",
        "spark.executor.memory": "768m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.pyspark.python": sys.executable,
    }
    state = {"url": f"sqlite:///{folder}/state.db"}
    spark = {"master": master, "conf": conf}
    return {"catalogs": {"lake": catalog}, "state": state, "spark": spark}


def as_text(results: dict[str, Any]) -> str:
    lines = ["executors   MB      s     MB/s   driver CPU-s"]
    for number in map(str, EXECUTORS):
        found = results[number]
        speed = found["rewritten_mb"] / found["seconds"]
        lines.append(
            f"{number:>9}  {found['rewritten_mb']:4.0f}  {found['seconds']:6.1f}  {speed:6.1f}"
            f"  {found['driver_cpu_seconds']:6.1f}"
        )
    many = results["many"]
    each = 1000 * many["driver_cpu_seconds"] / max(1, many["output_files"])
    lines.append(
        f"The driver spends {each:.1f} CPU-s for 1,000 output files "
        f"({many['output_files']} in {many['seconds']:.1f} s)."
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=400, help="Of the table that is compacted.")
    parser.add_argument("--files", type=int, default=1000, help="Outputs of the other table.")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    add_options(parser)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure)))
        return
    with tempfile.TemporaryDirectory(prefix="neve-scale-out-") as folder:
        results = run(arguments, Path(folder))
    tell(arguments, results, as_text(results))


if __name__ == "__main__":
    main()
