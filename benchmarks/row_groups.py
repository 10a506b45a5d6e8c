"""From which size on are row groups worth keeping? Rewrite cost and read time by row-group size.

    python benchmarks/row_groups.py [--json]

For every size, twins of one table are compacted, one by copying its row groups, one by Iceberg's
action, which makes large ones; then both are read through Spark. The default of
`min_row_group_size` is the smallest size from which reading the copy is no slower.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

from compaction import TARGET_BYTES, Bench
from neve.model.policy import CompactionPolicy
from report import add_options, tell

TOTAL_MB = 256
SIZES_MB = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def run(bench: Bench, megabytes: float) -> dict[str, Any]:
    name = f"rg_{int(megabytes * 1024)}"
    bench.lake.make_twins(name, files=int(TOTAL_MB / megabytes), megabytes=megabytes)
    copied = bench.neve(name, CompactionPolicy(TARGET_BYTES, min_row_group_bytes=1))
    encoded = bench.iceberg(name)
    return {
        "row_group_mb": megabytes,
        "copy_cpu_s": copied["cpu_s"],
        "encode_cpu_s": encoded["cpu_s"],
        **{f"copy_{key}": value for key, value in bench.read(f"{name}_neve").items()},
        **{f"encode_{key}": value for key, value in bench.read(f"{name}_iceberg").items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="neve-bench-"))
    try:
        bench = Bench(folder)
        bench.warm()
        rows = [run(bench, megabytes) for megabytes in SIZES_MB]
    finally:
        shutil.rmtree(folder)
    lines = [
        "            rewrite CPU-s      scan s            lookup s",
        "row group   copy  re-encode    copy  re-encode   copy  re-encode",
    ]
    for row in rows:
        lines.append(
            f"{row['row_group_mb']:>6.2f} MB {row['copy_cpu_s']:>7.1f} {row['encode_cpu_s']:>10.1f}"
            f" {row['copy_scan_s']:>7.2f} {row['encode_scan_s']:>10.2f}"
            f" {row['copy_lookup_s']:>6.2f} {row['encode_lookup_s']:>10.2f}"
        )
    tell(arguments, rows, "\n".join(lines))


if __name__ == "__main__":
    main()
