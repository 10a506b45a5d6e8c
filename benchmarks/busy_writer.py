"""Compaction of a table that is being written, beside Iceberg's procedure at the same pace.

    python benchmarks/busy_writer.py [--seconds 90] [--pace 1.0] [--every 2.0] [--copy] [--json]

A writer in a process of its own appends, deletes and updates (merge-on-read). Both contenders run
in a warm session, one run every few seconds, each on a table and with a writer of its own. `--copy`
lets Neve copy row groups however small they are. The share that is printed is of runs with work.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mor_writer import PARTITIONS
from neve.app import App, build_app
from neve.model.errors import NeveError
from neve.model.facts import REBASED_FROM_PROPERTY
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.model.table import TableRef
from neve.settings import Settings, SparkSettings, StateSettings
from neve.spark.engine import SparkEngine
from neve.spark.session import build_session
from neve.testing.lake import SilentReporter
from report import add_options, tell

FILES = 40
ROWS = 40_000
#: What a run may come to: it got through, it did so with deletes that came meanwhile, it found no
#: work, or a writer was faster, in one of its groups at least.
THROUGH, REBASED, NOTHING, REFUSED = "through", "rebased", "nothing_to_do", "refused"
RESULTS = (THROUGH, REBASED, NOTHING, REFUSED)
Contender = Callable[[str], str]


def by_neve(
    session: SparkSession, catalogs: dict[str, dict[str, str]], folder: Path, *, copies: bool
) -> Contender:
    settings = Settings(
        catalogs=catalogs,
        spark=SparkSettings(master="local[2]", conf={}),
        state=StateSettings(url=f"sqlite:///{folder / 'state.db'}"),
    )
    app = build_app(settings, SilentReporter())
    app.engine.use(SparkEngine(lambda: session))
    maintenance = app.maintenance
    policy = CompactionPolicy(min_row_group_bytes=1) if copies else CompactionPolicy()

    def compact(table: str) -> str:
        ref = app.catalogs.parse(table)
        try:
            outcome = maintenance.compact(ref, RewriteDataFilesArguments(), policy=policy)
        except NeveError:
            return REFUSED
        if outcome.status is Status.NOTHING_TO_DO:
            return NOTHING
        if outcome.status is not Status.SUCCEEDED or outcome.conflicts:
            return REFUSED
        return REBASED if _is_rebased(app, ref, outcome.job_id) else THROUGH

    return compact


def _is_rebased(app: App, table: TableRef, job_id: str) -> bool:
    snapshots = app.maintenance.surveyor.outline(table).snapshots
    return any(s.job_id == job_id and REBASED_FROM_PROPERTY in s.summary for s in snapshots)


def by_procedure(session: SparkSession) -> Contender:
    def compact(table: str) -> str:
        try:
            (row,) = session.sql(
                f"CALL lake.system.rewrite_data_files(table => '{table}', "
                "options => map('min-input-files', '2', 'delete-file-threshold', '1'))"
            ).collect()
        except (Py4JJavaError, PySparkException):
            return REFUSED
        return THROUGH if row[0] else NOTHING

    return compact


def make_table(session: SparkSession, table: str) -> None:
    session.sql(
        f"CREATE TABLE {table} (id BIGINT, k INT, v BIGINT) USING iceberg PARTITIONED BY (k) "
        "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read', "
        "'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read', "
        "'write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true')"
    )
    rows = session.range(0, ROWS, 1, FILES // PARTITIONS)
    rows.selectExpr("id", f"cast(id % {PARTITIONS} AS int) k", "0L v").writeTo(table).append()


def contest(
    session: SparkSession,
    catalogs: dict[str, dict[str, str]],
    name: str,
    compact: Contender,
    arguments: argparse.Namespace,
    folder: Path,
    writer_kind: str = "somewhere",
) -> dict[str, Any]:
    table, here = f"lake.busy.{name}", folder / name
    here.mkdir()
    make_table(session, table)
    order = json.dumps([catalogs, table, ROWS, arguments.pace, str(here), writer_kind])
    program = str(Path(__file__).with_name("mor_writer.py"))
    writer = subprocess.Popen([sys.executable, program, order])
    try:
        while not (here / "ready").exists():
            if writer.poll() is not None:
                raise SystemExit("the writer ended before it began")
            time.sleep(0.1)
        counts, slowest = dict.fromkeys(RESULTS, 0), 0.0
        started = time.monotonic()
        while (begun := time.monotonic()) < started + arguments.seconds:
            counts[compact(table)] += 1
            took = time.monotonic() - begun
            slowest = max(slowest, took)
            time.sleep(max(0.0, arguments.every - took))
    finally:
        (here / "stop").touch()
        writer.wait(timeout=120)
    answer = json.loads((here / "answer.json").read_text(encoding="utf-8"))
    session.catalog.refreshTable(table)
    found = sorted((row.id, row.v) for row in session.sql(f"SELECT id, v FROM {table}").collect())
    files = session.sql(f"SELECT content, count(*) n FROM {table}.files GROUP BY 1").collect()
    left = {row.content: row.n for row in files}
    return {
        "runs": sum(counts.values()),
        **counts,
        "share_through": _share(counts),
        "slowest_run_s": slowest,
        "data_files_left": left.get(0, 0),
        "delete_files_left": left.get(1, 0),
        "rows": len(found),
        "rows_exact": found == sorted((int(key), v) for key, v in answer["rows"].items()),
        "writes": answer["writes"],
        "writer_retries": answer["retries"],
    }


def _share(counts: dict[str, int]) -> float | None:
    """Of the runs that had work, those that got all of it through."""
    done = counts[THROUGH] + counts[REBASED]
    return done / (done + counts[REFUSED]) if done + counts[REFUSED] else None


def run(
    folder: Path, arguments: argparse.Namespace, writer_kind: str = "somewhere"
) -> dict[str, Any]:
    catalogs = {
        "lake": {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": (folder / "warehouse").as_uri(),
        }
    }
    session = build_session(catalogs, master="local[2]", conf={}, reporter=lambda _: None)
    session.sparkContext.setLogLevel("OFF")
    session.sql("CREATE NAMESPACE lake.busy")
    result: dict[str, Any] = {"seconds": arguments.seconds, "pace_s": arguments.pace}
    neve = by_neve(session, catalogs, folder, copies=arguments.copy)
    contenders = {"neve": neve, "iceberg": by_procedure(session)}
    for name, compact in contenders.items():
        # A first table warms the session up for both.
        make_table(session, f"lake.busy.warm_{name}")
        compact(f"lake.busy.warm_{name}")
    for name, compact in contenders.items():
        result[name] = contest(session, catalogs, name, compact, arguments, folder, writer_kind)
    session.stop()
    return result


def line(name: str, side: dict[str, Any]) -> str:
    share = side["share_through"]
    return (
        f"  {name:8} {'no work' if share is None else f'{share:.0%} got through'}: "
        f"{side[THROUGH] + side[REBASED]} of {side['runs']} runs, "
        f"{side[REBASED]} of them with deletes that came meanwhile, "
        f"{side[REFUSED]} refused, {side[NOTHING]} without work; "
        f"{side['data_files_left']} data and {side['delete_files_left']} delete files left; "
        f"rows {'exact' if side['rows_exact'] else 'WRONG'}; "
        f"writer tried {side['writer_retries']} of {side['writes']} writes again"
    )


def parse_arguments(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    add_options(parser)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--pace", type=float, default=1.0, help="Seconds between writes.")
    parser.add_argument("--every", type=float, default=2.0, help="Seconds between runs.")
    parser.add_argument("--copy", action="store_true", help="Copy row groups of any size.")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments(__doc__)
    with tempfile.TemporaryDirectory(prefix="neve-bench-") as name:
        result = run(Path(name), arguments)
    tell(
        arguments,
        result,
        f"A writer every {arguments.pace:g} s, for {arguments.seconds:g} s a side\n"
        + "\n".join(line(side, result[side]) for side in ("neve", "iceberg")),
    )
    if not all(result[side]["rows_exact"] for side in ("neve", "iceberg")):
        raise SystemExit("rows were lost or came back")


if __name__ == "__main__":
    main()
