"""The engine `rewrite` beside Iceberg's own procedure, case by case: same data, same session.

    python benchmarks/native.py [case …] [--scale 0.1] [--verify-cost] [--profile] [--json]

Both are warmed by one small compaction. CPU-seconds are those of the whole process tree, and the
proof by values is part of ours. `--scale` takes that share of the files of every case,
`--verify-cost` rewrites a third twin without the proof and tells what the proof takes on top,
`--profile` runs the tasks of our engine once more in this process and tells where their time goes;
figures would count that run, so that there are none then. Every line ends with what is to be
reached: fewer CPU-seconds by that factor.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from compaction import TARGET_BYTES, Bench
from lake import TWINS
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Verify
from neve.spark.rewrite.task import run_task
from neve.storage.access import storage_of
from report import add_options, tell
from row_deletes import delete_by_keys

MERGE_ON_READ = "ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"
TO_V3 = "ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')"
FEW = "DELETE FROM {table} WHERE c2 IN (SELECT min(c2) FROM {table})"
IN_A_THIRD = "DELETE FROM {table} WHERE k = 'p001' AND c6 % 10 = 1"
SMALL = {"files": 1_000, "megabytes": 1.0}
LARGE = {"files": 200, "megabytes": 5.0}
BY_PYARROW = {"by_spark": False}
LOW = {"entropy_bits": 12}

#: How each table is made, and the statements that make it what the case is about.
CASES: dict[str, dict[str, Any]] = {
    "tiny": {"files": 2_000, "megabytes": 0.1, "partitions": 20},
    "tiny-low": {"files": 2_000, "megabytes": 0.1, "partitions": 20, **LOW},
    "small-spark": SMALL,
    "small-spark-low": {**SMALL, **LOW},
    "small-pyarrow": {**SMALL, **BY_PYARROW},
    "small-pyarrow-low": {**SMALL, **BY_PYARROW, **LOW},
    "encoded": {**LARGE, **BY_PYARROW, "keep_mb": 64},
    "encoded-low": {**LARGE, **BY_PYARROW, **LOW, "keep_mb": 64},
    "evolved": {
        **LARGE,
        "then": (
            "ALTER TABLE {table} ADD COLUMN extra STRING",
            "ALTER TABLE {table} DROP COLUMN c4",
            "ALTER TABLE {table} RENAME COLUMN c5 TO moment",
        ),
    },
    "lineage": {**LARGE, "then": (TO_V3, "INSERT INTO {table} SELECT * FROM {table} LIMIT 1")},
    "sparse-deletes": {**LARGE, "distinct": 50, "then": (MERGE_ON_READ, FEW)},
    "sparse-vectors": {**LARGE, "distinct": 50, "then": (TO_V3, MERGE_ON_READ, FEW)},
    "deletes-in-a-third": {**LARGE, "distinct": 3, "then": (MERGE_ON_READ, IN_A_THIRD)},
    "vectors-in-a-third": {**LARGE, "distinct": 3, "then": (TO_V3, MERGE_ON_READ, IN_A_THIRD)},
    "equality-deletes": {**SMALL, "equality_deletes": 500},
    "wide": {"files": 50, "megabytes": 6.0, "columns": 300, "nested": True, **BY_PYARROW},
    "wide-spark": {"files": 50, "megabytes": 6.0, "columns": 300, "nested": True},
    "wide-tiny": {"files": 200, "megabytes": 0.3, "columns": 300, "nested": True, **BY_PYARROW},
}
#: How many times fewer CPU-seconds are to be reached; the same for data of low entropy.
GOALS = {
    "tiny": 4.0,
    "small-spark": 10.0,
    "small-pyarrow": 4.0,
    "encoded": 4.0,
    "evolved": 15.0,
    "lineage": 15.0,
    "sparse-deletes": 10.0,
    "sparse-vectors": 10.0,
    "deletes-in-a-third": 2.5,
    "vectors-in-a-third": 2.5,
    "equality-deletes": 5.0,
    "wide": 1.0,
    "wide-spark": 1.0,
    "wide-tiny": 1.0,
}
UNVERIFIED = "unverified"


def run_case(bench: Bench, case: str, scale: float, *, verify_cost: bool) -> dict[str, Any]:
    options = dict(CASES[case])
    then, keep_mb = options.pop("then", ()), options.pop("keep_mb", 4)
    delete_files = int(options.pop("equality_deletes", 0) * scale)
    least = 2 * options.get("partitions", options.get("distinct", 4))
    options["files"] = max(least, int(options["files"] * scale))
    name = case.replace("-", "_")
    twins = (*TWINS, UNVERIFIED) if verify_cost else TWINS
    size_bytes = bench.lake.make_twins(name, twins=twins, **options)
    for twin in twins:
        for statement in then:
            bench.session.sql(statement.format(table=f"lake.bench.{name}_{twin}"))
        if delete_files:
            table = bench.app.catalogs.parse(f"bench.{name}_{twin}")
            delete_by_keys(bench.session, table, "c2", delete_files)
    policy = CompactionPolicy(TARGET_BYTES, min_row_group_bytes=keep_mb * 2**20)
    bench.wake()
    ours = bench.neve(name, policy)
    theirs = bench.iceberg(name)
    on_top = None
    if verify_cost:
        bench.wake()
        off = RewriteDataFilesArguments(verify=Verify.OFF)
        unverified = bench.neve(name, policy, off, UNVERIFIED)
        on_top = ours["cpu_s"] / unverified["cpu_s"] - 1
    sums = [_sum(bench, f"lake.bench.{name}_{twin}") for twin in TWINS]
    if sums[0] != sums[1]:
        raise SystemExit(f"{case}: the twins have other rows: {sums}")
    return {
        "case": case,
        "files": options["files"],
        "megabytes": round(size_bytes / 2**20, 1),
        "neve": ours,
        "iceberg": theirs,
        "cpu_ratio": theirs["cpu_s"] / ours["cpu_s"],
        "wall_ratio": theirs["wall_s"] / ours["wall_s"],
        "goal": GOALS[case.removesuffix("-low")],
        "verify_on_top": on_top,
        "read": {twin: bench.read(f"{name}_{twin}") for twin in ("neve", "iceberg")},
    }


def _sum(bench: Bench, table: str) -> Any:
    """All rows, whatever their order; Spark hashes everything but maps."""
    columns = bench.session.table(table).dtypes
    told = [f"map_entries({name})" if kind.startswith("map") else name for name, kind in columns]
    return bench.session.sql(
        f"SELECT count(*), sum(hash({', '.join(told)})) FROM {table}"
    ).collect()


def profile_tasks(bench: Bench) -> None:
    """Run what Spark hands to its workers once more, here, under the profiler."""
    engine = bench.app.spark
    run_tasks = engine.run_tasks

    def profiled(table: Any, tasks: Any, wanted: Any, reporter: Any) -> Any:
        # Wall time tells little on a machine that others use, too.
        profiler = cProfile.Profile(time.process_time)
        profiler.enable()
        for task in tasks:
            run_task(task, wanted, storage_of({}), 7)
        profiler.disable()
        pstats.Stats(profiler).sort_stats("cumulative").print_stats(45)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
        return run_tasks(table, tasks, wanted, reporter)

    engine.run_tasks = profiled  # type: ignore[method-assign]


def line(result: dict[str, Any]) -> str:
    ours, theirs, read = result["neve"], result["iceberg"], result["read"]
    return (
        f"{result['case']:20} {result['files']:5} files {result['megabytes']:7} MB  "
        f"CPU {ours['cpu_s']:6.1f} / {theirs['cpu_s']:6.1f} s = {result['cpu_ratio']:4.1f} x  "
        f"wall {ours['wall_s']:5.1f} / {theirs['wall_s']:5.1f} s = {result['wall_ratio']:4.1f} x  "
        f"task {ours['task_python_mb']:4.0f} MB  "
        f"scan {read['neve']['scan_s']:.2f} / {read['iceberg']['scan_s']:.2f} s  "
        f"lookup {read['neve']['lookup_s']:.2f} / {read['iceberg']['lookup_s']:.2f} s  "
        f"{ours['engines']}  size {ours['bytes'][1] / ours['bytes'][0]:.2f}"
        + (f"  proof {on_top:+.0%}" if (on_top := result["verify_on_top"]) is not None else "")
        + f"  goal {result['goal']:g} x\n"
        + "\n".join(
            f"    {who}: " + ", ".join(f"{kind} {cpu_s:.1f}" for kind, cpu_s in kinds.items())
            for who, kinds in (("neve", ours["kinds"]), ("iceberg", theirs["kinds"]))
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--verify-cost", action="store_true")
    add_options(parser)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="neve-native-"))
    try:
        bench = Bench(folder)
        bench.warm()
        bench.lake.make_twins("warm_rows", files=10, megabytes=0.2)
        bench.neve("warm_rows", CompactionPolicy(TARGET_BYTES))
        if arguments.profile:
            profile_tasks(bench)
        results = []
        for case in arguments.cases or CASES:
            result = run_case(bench, case, arguments.scale, verify_cost=arguments.verify_cost)
            if arguments.profile:
                continue
            results.append(result)
            if not arguments.json:
                print(line(result), flush=True)
        tell(arguments, results, "")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
