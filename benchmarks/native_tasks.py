"""One task of the engine `rewrite` in this process, beside what Arrow alone takes for the same.

    python benchmarks/native_tasks.py [case …] [--profile] [--json]

Arrow's share is the least that values can cost which must be decoded: every file is read by it and
written again as one, with the same codec, on one core, and nothing is proven. The task is run
without its proof, too (`--verify off`). Cases whose files are written by Spark start a session for
that.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lake import PROPERTIES, BenchLake
from neve.model.policy import Engine, Verify
from neve.model.rewrite import RewriteTask, SpliceRequirements, TableLayout, TaskInput
from neve.spark.rewrite.task import run_task
from neve.storage.access import local_path, storage_of
from report import add_options, tell

CASES: dict[str, dict[str, Any]] = {
    "tiny": {"files": 200, "megabytes": 0.1, "by_spark": False},
    "small-spark": {"files": 100, "megabytes": 1.0},
    "small-pyarrow": {"files": 100, "megabytes": 1.0, "by_spark": False},
    "small-pyarrow-low": {"files": 100, "megabytes": 1.0, "by_spark": False, "entropy_bits": 12},
    "wide-tiny": {
        "files": 40,
        "megabytes": 0.3,
        "columns": 300,
        "nested": True,
        "by_spark": False,
    },
}
ROUNDS = 3


def task_of(table: Any, folder: Path) -> tuple[RewriteTask, SpliceRequirements]:
    """All files of a table as one task, and what is asked of the new file."""
    layout = TableLayout(
        2, table.schema().model_dump_json(), '{"order-id": 0, "fields": []}', PROPERTIES
    )
    inputs = tuple(
        TaskInput(one.file.file_path, one.file.file_size_in_bytes, one.file.record_count)
        for one in table.scan().plan_files()
    )
    names = tuple((folder / f"new-{number}.parquet").as_uri() for number in range(3 * ROUNDS))
    wanted = SpliceRequirements((), "zstd", False, 4 * 2**20, layout)
    return RewriteTask(1, inputs, (), (names,), (Engine.REWRITE,)), wanted


def by_arrow(task: RewriteTask, target: Path) -> None:
    """Read all files, and write them as one."""
    tables = []
    for one in task.inputs:
        file = pq.ParquetFile(pa.OSFile(local_path(one.path)))
        tables.append(file.read(use_threads=False))
    pq.write_table(pa.concat_tables(tables), target, compression="zstd", row_group_size=10**7)


def least_cpu_s(work: Callable[[int], object]) -> float:
    """The quickest of some rounds, in CPU-seconds of this process; the first one warms."""
    taken = []
    for number in range(ROUNDS + 1):
        began = time.process_time()
        work(number)
        taken.append(time.process_time() - began)
    return min(taken[1:])


def run_case(lake: BenchLake, case: str, *, profile: bool) -> dict[str, Any]:
    name, options = case.replace("-", "_"), CASES[case]
    size_bytes = lake.make_twins(name, twins=("neve",), **options)
    folder = lake.folder / f"{name}-new"
    folder.mkdir()
    task, wanted = task_of(lake.catalog.load_table(f"bench.{name}_neve"), folder)

    def ours(attempt: int, verify: Verify = Verify.FULL) -> Any:
        result = run_task(task, replace(wanted, verify=verify), storage_of({}), attempt)
        if result.refused is not None:
            raise SystemExit(f"{case}: {result.refused}")
        return result

    task_s = least_cpu_s(ours)
    unproven_s = least_cpu_s(lambda number: ours(ROUNDS + 1 + number, Verify.OFF))
    arrow_s = least_cpu_s(lambda _: by_arrow(task, folder / "arrow.parquet"))
    if profile:
        profiler = cProfile.Profile(time.process_time)
        profiler.enable()
        result = ours(3 * ROUNDS - 1)
        profiler.disable()
        print(result.files[0].bytes_by_kind)
        pstats.Stats(profiler).sort_stats("cumulative").print_stats(60)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(35)
    written = (folder / "new-1.parquet").stat().st_size
    return {
        "case": case,
        "files": options["files"],
        "megabytes": round(size_bytes / 2**20, 1),
        "task_cpu_s": task_s,
        "unproven_cpu_s": unproven_s,
        "arrow_cpu_s": arrow_s,
        "size": written / size_bytes,
        "arrow_size": (folder / "arrow.parquet").stat().st_size / size_bytes,
    }


def line(result: dict[str, Any]) -> str:
    task_s, arrow_s, files = result["task_cpu_s"], result["arrow_cpu_s"], result["files"]
    proof = task_s / result["unproven_cpu_s"] - 1
    return (
        f"{result['case']:18} {files:4} files {result['megabytes']:6} MB  "
        f"task {task_s:6.2f} CPU-s, {1000 * task_s / files:5.2f} ms a file  "
        f"Arrow alone {arrow_s:6.2f} CPU-s, {1000 * arrow_s / files:5.2f} ms a file  "
        f"{task_s / arrow_s:.2f} times  proof {proof:+.0%}  "
        f"size {result['size']:.2f} ({result['arrow_size']:.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--profile", action="store_true")
    add_options(parser)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="neve-tasks-"))
    try:
        cases = arguments.cases or list(CASES)
        lake = BenchLake(folder)
        if any(CASES[case].get("by_spark", True) for case in cases):
            # A session of its own, and its lake: who writes Parquet there is Spark.
            from compaction import Bench

            lake = Bench(folder).lake
        results = []
        for case in cases:
            results.append(run_case(lake, case, profile=arguments.profile))
            if not arguments.json:
                print(line(results[-1]), flush=True)
        tell(arguments, results, "")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
