"""Compaction by copying beside Iceberg's own procedure: same data, same session, same machine.

    python benchmarks/compaction.py [copy-1gb] [copy-4gb] [one-shot] [action-overhead] [many-files]
                                    [wide] [--json]

Both are warmed by one small compaction. CPU-seconds are those of the whole process tree; `cp` of
the same bytes is the floor. Scans and lookups afterwards run through Spark on both layouts.
`one-shot` runs both as programs of their own, `action-overhead` what no copy engine takes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from lake import BenchLake
from neve.app import App, build_app
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, RewriteMode
from neve.settings import Settings
from neve.spark.engine import SparkEngine
from neve.spark.session import build_session
from neve.testing.lake import SilentReporter
from process_tree import measured
from report import add_options, tell

TARGET_BYTES = 128 * 2**20
CASES: dict[str, dict[str, Any]] = {
    "copy-1gb": {"files": 200, "megabytes": 5.2},
    "copy-4gb": {"files": 800, "megabytes": 5.2},
    "wide": {"files": 100, "megabytes": 6.0, "columns": 300},
    "many-files": {"files": 10_000, "megabytes": 0.02, "partitions": 100},
}
OVERHEAD = {"files": 2_000, "megabytes": 0.085}
ONE_SHOTS: dict[str, dict[str, Any]] = {
    "spark_low_entropy": {"by_spark": True, "entropy_bits": 12},
    "spark_high_entropy": {"by_spark": True, "entropy_bits": 40},
    "pyarrow_low_entropy": {"by_spark": False, "entropy_bits": 12},
    "pyarrow_high_entropy": {"by_spark": False, "entropy_bits": 40},
}


class Bench:
    """One session, one lake, both contenders."""

    def __init__(self, folder: Path) -> None:
        self.lake = BenchLake(folder, self._write_by_spark)
        settings = Settings(
            catalogs={"lake": self.lake.properties}, state={"url": f"sqlite:///{folder}/state.db"}
        )
        self.app: App = build_app(settings, SilentReporter())
        self.session = build_session(
            {"lake": self.lake.properties}, master="local[2]", conf={}, reporter=print
        )
        self.app.engine.use(SparkEngine(lambda: self.session))

    def _write_by_spark(self, source: Path, table: str) -> None:
        frame = self.session.read.parquet(str(source)).coalesce(1)
        frame.writeTo(table).append()

    def warm(self) -> None:
        """One small compaction by each contender, so that no JVM start is measured."""
        self.lake.make_twins("warm", files=10, megabytes=5.2)
        self.neve("warm", CompactionPolicy(TARGET_BYTES))
        self.iceberg("warm")

    def wake(self) -> None:
        """Python workers that were idle for a minute are gone: the warmed session has them."""

        def first_import(_number: int) -> str:
            from neve.spark.rewrite.tasks import rewrite

            return rewrite.__name__

        self.session.sparkContext.parallelize(range(4), 4).map(first_import).collect()

    def neve(
        self,
        name: str,
        policy: CompactionPolicy,
        request: RewriteDataFilesArguments | None = None,
        twin: str = "neve",
    ) -> dict[str, Any]:
        maintenance, engine = self.app.maintenance, self.app.spark
        run_tasks, in_tasks_s = engine.run_tasks, [0.0]

        def timed(*arguments: Any) -> Any:
            started = time.perf_counter()
            try:
                return run_tasks(*arguments)
            finally:
                in_tasks_s[0] += time.perf_counter() - started

        engine.run_tasks = timed  # type: ignore[method-assign]
        with measured() as usage:
            outcome = maintenance.compact(
                self.app.catalogs.parse(f"bench.{name}_{twin}"),
                request or RewriteDataFilesArguments(),
                policy=policy,
            )
        engine.run_tasks = run_tasks  # type: ignore[method-assign]
        if outcome.status != "succeeded":
            raise SystemExit(f"{name}: {outcome.status}: {outcome.reason}")
        return {
            **asdict(usage),
            "driver_s": usage.wall_s - in_tasks_s[0],
            "engines": outcome.engines,
            "files": [outcome.stats.files_before, outcome.stats.files_after],
            "bytes": [outcome.stats.bytes_before, outcome.stats.bytes_after],
            "proof": outcome.proof.level if outcome.proof else None,
        }

    def iceberg(self, name: str) -> dict[str, Any]:
        with measured() as usage:
            self.session.sql(
                "CALL lake.system.rewrite_data_files(table => :table, options => map("
                "'target-file-size-bytes', :target, 'min-input-files', '2'))",
                args={"table": f"bench.{name}_iceberg", "target": str(TARGET_BYTES)},
            ).collect()
        return asdict(usage)

    def cp(self, name: str) -> dict[str, Any]:
        source = self.lake.folder / "warehouse" / "bench" / f"{name}_neve" / "data"
        target = self.lake.folder / "copied"
        with measured() as usage:
            subprocess.run(["cp", "-r", str(source), str(target)], check=True)
        shutil.rmtree(target)
        return asdict(usage)

    def read(self, table: str) -> dict[str, float]:
        """Seconds of a scan over two columns and of a lookup of one value, medians of five."""
        frame = self.session.table(f"lake.bench.{table}")
        value = frame.select("c2").limit(1).collect()[0]["c2"]
        queries = {
            "scan_s": lambda: frame.agg({"c2": "max", "c3": "sum"}).collect(),
            "lookup_s": lambda: frame.where(frame["c2"] == value).collect(),
        }
        return {name: _median(query) for name, query in queries.items()}


def _median(query: Any) -> float:
    query()
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        query()
        seconds.append(time.perf_counter() - started)
    return median(seconds)


def run_case(bench: Bench, case: str, *, reads: bool) -> dict[str, Any]:
    options = CASES[case]
    name = case.replace("-", "_")
    size_bytes = bench.lake.make_twins(name, **options)
    policy = CompactionPolicy(
        TARGET_BYTES, min_row_group_bytes=1 if case == "many-files" else 4 * 2**20
    )
    cp = bench.cp(name)
    ours = bench.neve(name, policy)
    theirs = bench.iceberg(name)
    return {
        "case": case,
        "bytes": size_bytes,
        "cp": cp,
        "neve": ours,
        "iceberg": theirs,
        "cpu_ratio": theirs["cpu_s"] / ours["cpu_s"],
        "wall_ratio": theirs["wall_s"] / ours["wall_s"],
        "wall_per_cp": ours["wall_s"] / cp["wall_s"],
        "mb_per_s": size_bytes / 2**20 / ours["wall_s"],
        "read_neve": bench.read(f"{name}_neve") if reads else None,
        "read_iceberg": bench.read(f"{name}_iceberg") if reads else None,
    }


def run_overhead(bench: Bench) -> dict[str, Any]:
    """What goes through Iceberg's action anyway; in both orders, because the first one warms."""
    pairs = ("overhead_1", "overhead_2")
    policy, request = (
        CompactionPolicy(TARGET_BYTES),
        RewriteDataFilesArguments(engine=RewriteMode.SPARK),
    )
    size_bytes = sum(bench.lake.make_twins(name, **OVERHEAD) for name in pairs)
    ours, theirs = [bench.neve(pairs[0], policy, request)], [bench.iceberg(pairs[0])]
    theirs.append(bench.iceberg(pairs[1]))
    ours.append(bench.neve(pairs[1], policy, request))
    totals = {
        who: {key: sum(run[key] for run in runs) for key in ("cpu_s", "wall_s")}
        for who, runs in (("neve", ours), ("iceberg", theirs))
    }
    return {
        "case": "action-overhead",
        "bytes": size_bytes,
        **totals,
        "cpu_times": totals["neve"]["cpu_s"] / totals["iceberg"]["cpu_s"],
        "wall_times": totals["neve"]["wall_s"] / totals["iceberg"]["wall_s"],
    }


def run_one_shot(bench: Bench, name: str, megabytes: int) -> dict[str, Any]:
    """Both as programs of their own, JVM start included."""
    options = {"files": round(megabytes / 5.2), "megabytes": 5.2, **ONE_SHOTS[name]}
    size_bytes = bench.lake.make_twins(name, **options)
    folder, catalogs = bench.lake.folder, {"lake": bench.lake.properties}
    config, phases = folder / "neve.yaml", folder / f"{name}.json"
    config.write_text(json.dumps({"catalogs": catalogs, "spark": {"master": "local[2]"}}))
    programs = Path(__file__).parent
    words = {
        "neve": ["one_shot_neve.py", str(phases), str(config), f"bench.{name}_neve"],
        "iceberg": ["one_shot_iceberg.py", json.dumps(catalogs), f"bench.{name}_iceberg"],
    }
    wall_s, cpu_s = {}, {}
    for contender, (program, *arguments) in words.items():
        command = [sys.executable, str(programs / program), *arguments]
        # The disk is not to be busy with what made the twins.
        os.sync()
        with measured() as usage:
            subprocess.run(command, check=True, capture_output=True, text=True)
        wall_s[contender], cpu_s[contender] = usage.wall_s, usage.cpu_s
    return {
        "case": "one-shot",
        "name": name,
        "bytes": size_bytes,
        **{who: {"wall_s": wall_s[who], "cpu_s": cpu_s[who]} for who in words},
        "phases": json.loads(phases.read_text()),
        "wall_ratio": wall_s["iceberg"] / wall_s["neve"],
        "cpu_ratio": cpu_s["iceberg"] / cpu_s["neve"],
    }


def describe(result: dict[str, Any]) -> str:
    if result["case"] == "one-shot":
        return _describe_one_shot(result)
    if result["case"] == "action-overhead":
        return _describe_overhead(result)
    ours, theirs, cp = result["neve"], result["iceberg"], result["cp"]
    text = (
        f"{result['case']:<12} {result['bytes'] / 2**20:.0f} MB, files {ours['files']}, "
        f"engines {ours['engines']}, proof {ours['proof']}\n"
        f"  neve    {ours['cpu_s']:7.1f} CPU-s {ours['wall_s']:7.1f} s wall "
        f"(driver {ours['driver_s']:.1f} s), {result['mb_per_s']:.0f} MB/s, "
        f"task {ours['task_python_mb']:.0f} MB, driver's Python {ours['driver_python_mb']:.0f} MB\n"
        f"  iceberg {theirs['cpu_s']:7.1f} CPU-s {theirs['wall_s']:7.1f} s wall\n"
        f"  cp      {cp['cpu_s']:7.1f} CPU-s {cp['wall_s']:7.1f} s wall\n"
        f"  {result['cpu_ratio']:.1f}× fewer CPU-seconds, {result['wall_ratio']:.1f}× less wall, "
        f"{result['wall_per_cp']:.1f} × cp"
    )
    before, after = result["read_iceberg"], result["read_neve"]
    if after is None:
        return text
    return (
        f"{text}\n  afterwards: scan {after['scan_s']:.2f} s "
        f"(iceberg's layout {before['scan_s']:.2f} s), "
        f"lookup {after['lookup_s']:.2f} s ({before['lookup_s']:.2f} s)"
    )


def _describe_overhead(result: dict[str, Any]) -> str:
    sides = ", ".join(
        f"{name} {result[name]['cpu_s']:.1f} CPU-s {result[name]['wall_s']:.1f} s wall"
        for name in ("neve", "iceberg")
    )
    return (
        f"action-overhead {result['bytes'] / 2**20:.0f} MB, both orders: {sides}: "
        f"{result['cpu_times']:.2f} × the CPU-seconds, {result['wall_times']:.2f} × the wall"
    )


def _describe_one_shot(result: dict[str, Any]) -> str:
    phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in result["phases"].items())
    around = sum(result["phases"].values()) - result["phases"].get("stage/copy", 0.0)
    sides = ", ".join(
        f"{name} {result[name]['wall_s']:.1f} s wall {result[name]['cpu_s']:.1f} CPU-s"
        for name in ("neve", "iceberg")
    )
    return (
        f"one-shot {result['name']}, {result['bytes'] / 2**20:.0f} MB: {sides}: "
        f"{result['wall_ratio']:.1f}× less wall, {result['cpu_ratio']:.1f}× fewer CPU-seconds\n"
        f"  seconds: {phases}; all but the copy {around:.1f}"
    )


def run(bench: Bench, case: str, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    if case == "action-overhead":
        yield run_overhead(bench)
        return
    if case != "one-shot":
        yield run_case(bench, case, reads=arguments.reads)
        return
    for name in ONE_SHOTS:
        yield run_one_shot(bench, name, arguments.megabytes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=["copy-1gb"], metavar="CASE")
    add_options(parser)
    parser.add_argument("--no-reads", dest="reads", action="store_false", help="Rewrite only.")
    parser.add_argument("--megabytes", type=int, default=1040, help="Size of the one-shot tables.")
    parser.add_argument("--folder", help="Where to put the tables; a temporary folder by default.")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="neve-bench-", dir=arguments.folder))
    try:
        bench = Bench(folder)
        bench.warm()
        results = []
        for case in arguments.cases:
            for result in run(bench, case, arguments):
                # A long run that is ended has told what it knew.
                print(describe(result), file=sys.stderr, flush=True)
                results.append(result)
        tell(arguments, results, "\n".join(describe(result) for result in results))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
