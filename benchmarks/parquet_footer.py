"""How long a splice thinks and how fast it copies.

Run `python benchmarks/parquet_footer.py`; add `--json` for figures to keep. Prints the time to
read, plan and write the footer of a wide file with more and more row groups, and the throughput
of a splice against `cp` on the same bytes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from neve.parquet.copy_local import splice_local
from neve.parquet.footer import read_footer
from neve.parquet.indexes import load_source
from neve.parquet.plan import SplicePlan
from neve.parquet.splice import plan_splice
from neve.storage.readers import LocalReader
from report import add_options, tell


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    """The shortest of a few runs: the least disturbed one."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def write_wide(path: Path, columns: int, row_groups: int, page_index: bool) -> None:
    """A file with many columns and row groups of a few rows."""
    rows = 10 * row_groups
    table = pa.table(
        {
            f"column_{number}": [f"text {row % 7}" for row in range(rows)]
            if number % 2
            else list(range(rows))
            for number in range(columns)
        }
    )
    pq.write_table(table, path, row_group_size=10, write_page_index=page_index)


def measure_footer(
    folder: Path, columns: int, row_groups: int, page_index: bool
) -> dict[str, object]:
    """Times for one wide file."""
    path = folder / f"wide-{row_groups}-{page_index}.parquet"
    write_wide(path, columns, row_groups, page_index)
    repeats = 5 if row_groups < 100 else 2
    with LocalReader(path) as reader:
        footer = read_footer(reader)
        source = load_source(reader, footer)
        return {
            "columns": columns,
            "row_groups": row_groups,
            "page_index": page_index,
            "footer_bytes": footer.size_bytes - footer.footer_start,
            "read_ms": 1e3 * best_seconds(lambda: read_footer(reader), repeats),
            "load_ms": 1e3 * best_seconds(lambda: load_source(reader), repeats),
            "plan_ms": 1e3 * best_seconds(lambda: plan_splice([source]), repeats),
        }


def write_sources(folder: Path, megabytes: int, files: int) -> list[Path]:
    """Files of random bytes, which do not compress, together of about the given size."""
    paths = []
    row_bytes = 1_000
    rows = megabytes * 1_000_000 // row_bytes // files
    for number in range(files):
        noise = os.urandom(rows * row_bytes)
        values = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(row_bytes), rows, [None, pa.py_buffer(noise)]
        )
        paths.append(folder / f"source-{number}.parquet")
        pq.write_table(pa.table({"noise": values}), paths[-1], use_dictionary=False)
    return paths


def plan_of(paths: list[Path]) -> SplicePlan:
    """The plan to splice these files."""
    sources = []
    for path in paths:
        with LocalReader(path) as reader:
            sources.append(load_source(reader))
    return plan_splice(sources)


def measure_copies(folder: Path, megabytes: int, files: int) -> list[dict[str, object]]:
    """Throughput of each way to bring the bytes into one file, and of `cp` as the yardstick."""
    paths = write_sources(folder, megabytes, files)
    plan = plan_of(paths)
    target = folder / "target.parquet"
    copied = folder / "copied"
    copied.mkdir()
    ways: dict[str, Callable[[], object]] = {
        "cp": lambda: subprocess.run(["cp", *map(str, paths), str(copied)], check=True),
        "read and write": lambda: [shutil.copyfile(p, copied / p.name) for p in paths],
        "splice": lambda: splice_local(plan, target),
        "splice, synced": lambda: splice_local(plan, target, sync=True),
        "splice, compared": lambda: splice_local(plan, target, verify="bytes"),
    }
    results: list[dict[str, object]] = []
    for name, work in ways.items():

        def fresh(work: Callable[[], object] = work) -> float:
            target.unlink(missing_ok=True)
            for path in copied.iterdir():
                path.unlink()
            return best_seconds(work, 1)

        seconds = min(fresh() for _ in range(3))
        results.append({"way": name, "mb_per_s": plan.size_bytes / 1e6 / seconds})
    return results


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=300)
    parser.add_argument("--row-groups", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--files", type=int, default=8)
    add_options(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        footers = [
            measure_footer(Path(name), arguments.columns, count, page_index)
            for page_index in (False, True)
            for count in arguments.row_groups
        ]
        copies = measure_copies(Path(name), arguments.megabytes, arguments.files)
    lines = ["columns  row groups  page index  footer bytes  read ms  load ms  plan ms"]
    for row in footers:
        lines.append(
            f"{row['columns']:>7}  {row['row_groups']:>10}  {row['page_index']!s:>10}  "
            f"{row['footer_bytes']:>12}  {row['read_ms']:>7.1f}  {row['load_ms']:>7.1f}  "
            f"{row['plan_ms']:>7.1f}"
        )
    lines.append("\nway               MB/s")
    lines += [f"{row['way']:<16}  {row['mb_per_s']:>5.0f}" for row in copies]
    tell(arguments, {"footers": footers, "copies": copies}, "\n".join(lines))


if __name__ == "__main__":
    main()
