"""What it costs to ask all tables of a lake whether they reach a file that would be deleted.

    python benchmarks/foreign_references.py [--tables 1000] [--json]

Every table has twenty files in four manifests, in the embedded catalog. No data, no JVM. Asked are
the questions of a sweep and of a purge: for one table, and for every table in one run. The other
tables' homes alone are what a sweep asked for before there were these questions.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from report import add_options, tell
from synthetic import make_table

CANDIDATES = 100


def run(folder: Path, tables: int) -> dict[str, float]:
    for number in range(tables):
        make_table(folder, f"t{number:05d}", files=20, manifests=4, columns=10, partitions=2)
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    homes_s, _ = ask(folder, 1, with_references=False)
    one_s, one = ask(folder, 1)
    all_homes_s, _ = ask(folder, tables, with_references=False)
    all_s, found = ask(folder, tables)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    assert (one, found) == (1, tables), (one, found)
    return {
        "tables": tables,
        "files": 20 * tables,
        "one_homes_only_s": homes_s,
        "one_s": one_s,
        "all_homes_only_s": all_homes_s,
        "all_s": all_s,
        "all_per_table_ms": 1000 * all_s / tables,
        "one_ratio": one_s / homes_s,
        "all_ratio": all_s / all_homes_s,
        "grown_mib": grown_kib / 1024,
    }


def ask(folder: Path, tables: int, *, with_references: bool = True) -> tuple[float, int]:
    """Seconds of sweeps of this many tables by a new surveyor, and shared files found."""
    from neve.catalog.connect import Catalogs
    from neve.catalog.surveyor import CatalogSurveyor

    uri = f"sqlite:///{folder}/catalog.db"
    warehouse = (folder / "warehouse").as_uri()
    catalogs = Catalogs({"lake": {"type": "sql", "uri": uri, "warehouse": warehouse}})
    strays = [f"{warehouse}/stray-{item}" for item in range(CANDIDATES - 1)]
    started = time.perf_counter()
    surveyor = CatalogSurveyor(catalogs, lambda: datetime.now(tz=UTC))
    listed = surveyor.tables("lake.*")
    needed = 0
    for number, table in enumerate(listed[:tables]):
        surveyor.locations()
        if with_references:
            # A file of the next table stands for one that lies below this table's location.
            other = f"{warehouse}/bench/{listed[(number + 1) % len(listed)].name}"
            shared = f"{other}/data/day=day-0000/00000000-{_uuid(0)}.parquet"
            surveyor.needed(table, [shared, *strays])
            needed += len(surveyor.needed(table, [shared, *strays], recheck=True))
    return time.perf_counter() - started, needed


def _uuid(number: int) -> str:
    return f"{number:032x}"[:8] + "-0000-0000-0000-" + f"{number:012x}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    add_options(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        row = run(Path(folder).resolve(), arguments.tables)
    lines = [f"{name:<18} {value:>12,.2f}" for name, value in row.items()]
    tell(arguments, row, "\n".join(lines))


if __name__ == "__main__":
    main()
