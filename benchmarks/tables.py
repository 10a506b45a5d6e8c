"""The tables of docs/figures.md, from what the benchmarks wrote: one machine, one version, one day.

    python benchmarks/tables.py .neve/bench/native.json .neve/bench/compaction.json …

Prints Markdown, a row for each result that has a table there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: What a case of `native.py` is about, after its count of files.
REWRITTEN: Mapping[str, str] = {
    "tiny": "of 100 KB, 20 partitions",
    "tiny-low": "of 100 KB, 20 partitions, low entropy",
    "small-spark": "of 1 MB by Spark",
    "small-spark-low": "of 1 MB by Spark, low entropy",
    "small-pyarrow": "of 1 MB by pyarrow",
    "small-pyarrow-low": "of 1 MB by pyarrow, low entropy",
    "encoded": "of 5 MB by pyarrow, everything encoded again",
    "encoded-low": "of 5 MB by pyarrow, low entropy, everything encoded again",
    "evolved": "of 5 MB, a column added, one dropped, one renamed",
    "lineage": "of 5 MB, format v3, append-only",
    "sparse-deletes": "of 5 MB, position deletes in 2 % of the row groups",
    "sparse-vectors": "of 5 MB, deletion vectors in 2 % of the row groups",
    "deletes-in-a-third": "of 5 MB, position deletes in a third of the files",
    "vectors-in-a-third": "of 5 MB, deletion vectors in a third of the files",
    "equality-deletes": "of 1 MB, half as many equality-delete files",
    "wide": "of 6 MB by pyarrow, 300 columns, nested",
    "wide-spark": "of 6 MB by Spark, 300 columns, nested",
    "wide-tiny": "of 0.4 MB by pyarrow, 300 columns, nested",
}
#: What a case of `compaction.py` is about.
COPIED: Mapping[str, str] = {
    "copy-1gb": "of 5 MB, 12 columns",
    "copy-4gb": "of 5 MB, 12 columns",
    "wide": "of 6 MB, 300 columns",
    "many-files": "of 20 KB in 100 partitions, whatever their row groups",
}
#: What `compaction.py one-shot` calls its tables.
ONE_SHOTS: Mapping[str, str] = {
    "spark_high_entropy": "by Spark, high entropy: row groups are copied",
    "pyarrow_high_entropy": "by pyarrow, high entropy: row groups are copied",
    "spark_low_entropy": "by Spark, low entropy: small row groups are joined",
    "pyarrow_low_entropy": "by pyarrow, low entropy: small row groups are joined",
}
HEAD = "| files | Neve | Iceberg's procedure | CPU | wall |\n|---|---|---|---|---|"


def row(result: Mapping[str, Any]) -> str:
    """One line of a table: both sides, and how many times less ours took."""
    ours, theirs = result["neve"], result["iceberg"]
    sides = " | ".join(
        f"{side['cpu_s']:.1f} CPU-s, {side['wall_s']:.1f} s" for side in (ours, theirs)
    )
    return (
        f"| {_subject(result)} | {sides} | {result['cpu_ratio']:.1f}× | "
        f"{result['wall_ratio']:.1f}× |"
    )


def _subject(result: Mapping[str, Any]) -> str:
    if result["case"] == "one-shot":
        return f"{result['bytes'] / 2**20:,.0f} MB {ONE_SHOTS[result['name']]}"
    if "cp" in result:
        return f"{result['neve']['files'][0]:,} {COPIED[result['case']]}"
    return f"{result['files']:,} {REWRITTEN[result['case']]}"


def main() -> None:
    for name in sys.argv[1:]:
        results = json.loads(Path(name).read_text(encoding="utf-8"))
        rows = [row(result) for result in results if "cpu_ratio" in result]
        print("\n".join([HEAD, *rows, ""]))


if __name__ == "__main__":
    main()
