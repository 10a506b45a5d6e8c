"""`neve maintain` over many small tables, beside Iceberg's procedures.

    python benchmarks/maintenance.py [--tables 100] [--applications 5] [--json]

Equal tables for everybody: small files, a few commits each. Neve runs all operations; the others
call the five procedures table by table, either in one warm session, or in a Spark application of
its own for each table (a few of them, scaled up, because each takes long).
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

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from neve.spark.session import build_session
from one_shot_maintenance import call_procedures
from report import add_options, tell

COMMITS = 5
ROWS = 1000


def make_tables(catalog: SqlCatalog, namespace: str, count: int) -> None:
    catalog.create_namespace_if_not_exists(namespace)
    for number in range(count):
        rows = pa.table({"id": range(ROWS), "name": [f"n{number}-{i}" for i in range(ROWS)]})
        table = catalog.create_table(f"{namespace}.t{number:03d}", rows.schema)
        for _ in range(COMMITS):
            table.append(rows)


def by_neve(config: Path, pattern: str, expected: int) -> float:
    program = str(Path(sys.executable).parent / "neve")
    words = [program, "maintain", pattern, "--apply", "-o", "json", "--config", str(config)]
    started = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(f"neve maintain ended with {done.returncode}: {done.stdout[-3000:]}")
    reports = json.loads(done.stdout)["tables"]
    rewritten = sum(report["operations"][0]["status"] == "succeeded" for report in reports)
    if rewritten != expected:
        raise SystemExit(f"neve maintain compacted {rewritten} tables of {expected}")
    return seconds


def by_procedures(catalogs: dict[str, dict[str, str]], tables: list[str]) -> float:
    """Table by table in one session; its start and a first table are not counted."""
    session = build_session(catalogs, master="local[2]", conf={}, reporter=lambda _: None)
    call_procedures(session, tables[0])
    started = time.perf_counter()
    for table in tables[1:]:
        call_procedures(session, table)
    seconds = time.perf_counter() - started
    session.stop()
    return seconds


def by_applications(catalogs: dict[str, dict[str, str]], tables: list[str]) -> float:
    program = str(Path(__file__).with_name("one_shot_maintenance.py"))
    started = time.perf_counter()
    for table in tables:
        words = [sys.executable, program, json.dumps(catalogs), table]
        subprocess.run(words, check=True, capture_output=True)
    return time.perf_counter() - started


def run(folder: Path, tables: int, applications: int) -> dict[str, Any]:
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": (folder / "warehouse").as_uri(),
    }
    catalog = SqlCatalog("lake", **properties)
    for namespace, count in (("neve", tables), ("calls", tables + 1), ("apps", applications)):
        make_tables(catalog, namespace, count)
    config = folder / "neve.yaml"
    catalogs = {"lake": properties}
    config.write_text(
        json.dumps({"catalogs": catalogs, "spark": {"master": "local[2]"}}), encoding="utf-8"
    )
    neve_s = by_neve(config, "lake.neve.*", tables)
    calls_s = by_procedures(catalogs, [f"calls.t{n:03d}" for n in range(tables + 1)])
    apps_s = by_applications(catalogs, [f"apps.t{n:03d}" for n in range(applications)])
    per_app_s = apps_s / applications
    return {
        "tables": tables,
        "neve_s": neve_s,
        "procedures_s": calls_s,
        "applications_measured": applications,
        "application_per_table_s": per_app_s,
        "applications_scaled_s": per_app_s * tables,
        "times_faster_than_procedures": calls_s / neve_s,
        "times_faster_than_applications": per_app_s * tables / neve_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--applications", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="neve-bench-") as name:
        result = run(Path(name), arguments.tables, arguments.applications)
    tell(
        arguments,
        result,
        f"{result['tables']} tables\n"
        f"  neve maintain, JVM start included       {result['neve_s']:7.1f} s\n"
        f"  procedures one by one, one warm session {result['procedures_s']:7.1f} s: "
        f"{result['times_faster_than_procedures']:.1f}×\n"
        f"  one application per table               {result['applications_scaled_s']:7.1f} s "
        f"({result['application_per_table_s']:.1f} s each, "
        f"{result['applications_measured']} measured): "
        f"{result['times_faster_than_applications']:.1f}×",
    )


if __name__ == "__main__":
    main()
