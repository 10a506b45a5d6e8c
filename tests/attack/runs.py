"""Runs of the command line over one lake, with something happening at a chosen point of each."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.attack.cases import IS_SAMPLE, MAX_POINTS, choices
from tests.attack.oracle import Oracle
from tests.attack.points import Points, inside, watch
from tests.attack.writers import rewrite
from tests.small_jvm import OPTIONS
from typer.testing import CliRunner, Result

from neve import neve as facade
from neve.app import build_app
from neve.cli.main import app as command_line
from neve.spark.engine import BorrowedEngine
from neve.testing.lake import SilentReporter

TEST_SIZED = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": OPTIONS,
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
}
#: Everything is over after a second, so that whatever can be removed is removed.
CONFIG = """
catalogs:
  lake:
    type: sql
    uri: sqlite:///{folder}/catalog.db
    warehouse: file://{folder}/warehouse
state:
  url: sqlite:///{folder}/{state}.db
  lease_seconds: 5
compaction:
  min_row_group_size: 1
spark:
  master: local[2]
  conf: {conf}
policies:
  - name: everything
    match: {{tables: ['*']}}
    undo_window: 1s
    operations:
      expire_snapshots: {{older_than: 1s, retain_last: 1}}
"""
AGE_SECONDS = 1.1
_names = count(1)


@dataclass(frozen=True)
class Operation:
    """One command, the point after which its work is done, and what it needs beforehand."""

    words: tuple[str, ...]
    work: str
    prepare: str = ""
    versions: tuple[int, ...] = (2, 3)
    #: Whether the same command may be given again, once it has done its work.
    is_repeatable: bool = True
    #: False for what is done without a JVM that could be killed.
    needs_engine: bool = True


OPERATIONS = {
    # Format version 3 keeps row ids, so that its files are not copied.
    "compact by copying": Operation(("compact", "{table}"), "engine.replace_files", versions=(2,)),
    "compact in tasks": Operation(("compact", "{table}"), "engine.replace_files", versions=(3,)),
    "compact by Spark": Operation(
        ("compact", "{table}", "--engine", "spark"), "engine.commit_staged"
    ),
    "sort": Operation(
        ("compact", "{table}", "--strategy", "sort", "--sort-by", "id"), "engine.rewrite"
    ),
    "apply": Operation(
        ("apply", "{plan}"), "engine.replace_files", prepare="planned", is_repeatable=False
    ),
    "roll back": Operation(
        ("rollback", "{table}", "--job", "{job}"),
        "metadata.commit",
        prepare="compacted",
        is_repeatable=False,
        needs_engine=False,
    ),
    "undo a rollback": Operation(
        ("rollback", "{table}", "--job", "{job}"),
        "metadata.commit",
        prepare="rolled back",
        is_repeatable=False,
        needs_engine=False,
    ),
    "expire": Operation(("expire", "{table}", "--apply"), "engine.delete_files", prepare="aged"),
    "manifests": Operation(("manifests", "{table}"), "engine.execute", prepare="scattered"),
    "deletes": Operation(("deletes", "{table}"), "engine.execute", prepare="deleted"),
    "stats": Operation(("stats", "{table}"), "engine.execute"),
    "quarantine": Operation(
        ("orphans", "{table}", "--quarantine"),
        "store.quarantine.add",
        prepare="littered",
        # A table of few files is swept without one.
        needs_engine=False,
    ),
    "restore": Operation(
        ("orphans", "{table}", "--restore"),
        "store.quarantine.move",
        prepare="quarantined",
        is_repeatable=False,
        needs_engine=False,
    ),
    "purge": Operation(
        ("orphans", "{table}", "--purge"),
        "engine.delete_files",
        prepare="quarantined",
        needs_engine=False,
    ),
    "maintain": Operation(
        ("maintain", "{table}", "--apply"), "engine.delete_files", prepare="aged"
    ),
}


@dataclass
class Attack:
    """One lake, one Spark session, and ways to run Neve over it while something happens."""

    folder: Path
    session: SparkSession
    oracle: Oracle
    #: How many cases got to their point.
    reached: list[bool] = field(default_factory=list)
    passed: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    def make(self, operation: str, version: int) -> tuple[str, list[str]]:
        """A table on which the operation has something to do, and the words to run it."""
        # A table of version 3 has delete files to merge where it was one of version 2 before.
        is_late = OPERATIONS[operation].prepare == "deleted"
        name = self._table(2 if is_late else version)
        words = self._prepare(operation, name)
        if is_late and version == 3:
            self.session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('format-version' = '3')")
        return name, words

    def _table(self, version: int) -> str:
        """A table that needs everything: small files, position deletes, snapshots, a tag."""
        name = f"`lake`.`db`.`t{next(_names)}`"
        self.session.sql(
            f"CREATE TABLE {name} (id BIGINT, kind STRING, amount DOUBLE) USING iceberg "
            "PARTITIONED BY (kind) TBLPROPERTIES ("
            f"'format-version' = '{version}', 'write.distribution-mode' = 'none', "
            "'write.spark.fanout.enabled' = 'true', 'write.delete.mode' = 'merge-on-read', "
            "'write.update.mode' = 'merge-on-read', 'write.delete.granularity' = 'partition', "
            "'commit.manifest-merge.enabled' = 'false')"
        )
        for start in (0, 30):
            self._append(name, start)
        self.session.sql(f"DELETE FROM {name} WHERE id % 9 = 1")
        self.session.sql(f"ALTER TABLE {name} CREATE TAG kept")
        self._append(name, 60)
        return name

    def _append(self, name: str, start: int, *, rows: int = 30, files: int = 3) -> None:
        frame = self.session.range(start, start + rows, 1, files)
        columns = ("id", "concat('k', id % 3) AS kind", "cast(id AS double) AS amount")
        frame.selectExpr(*columns).writeTo(name).append()

    def _prepare(self, operation: str, name: str) -> list[str]:
        """Bring the table to where the operation has something to do; returns its words."""
        how, words = OPERATIONS[operation].prepare, {"table": plain(name)}
        if how in ("compacted", "rolled back"):
            self._run_through(["compact", plain(name)])
            words["job"] = self._newest_job(name)
        if how == "rolled back":
            self._run_through(["rollback", plain(name), "--job", words["job"]])
            words["job"] = self._newest_job(name)
        if how == "planned":
            words["plan"] = str(self.folder / f"{plain(name)}.json")
            self.run(["plan", plain(name), "--out", words["plan"]])
        if how == "aged":
            time.sleep(AGE_SECONDS)
        if how == "scattered":
            for start in range(100, 107):
                self._append(name, start, rows=1, files=1)
        if how == "deleted":
            # Two delete files in a partition are merged, those of a rewritten one are dangling.
            self.session.sql(f"DELETE FROM {name} WHERE id % 9 = 2")
            self.session.sql(f"DELETE FROM {name} WHERE id % 9 = 4")
            rewrite(self.session, name, kind="k2")
        if how in ("littered", "quarantined"):
            self._litter(name)
            # The first sweep of a table only looks.
            self._run_through(["orphans", plain(name)])
        if how == "quarantined":
            self._run_through(["orphans", plain(name), "--quarantine"])
            with closing(sqlite3.connect(self.folder / "state.db")) as db, db:
                db.execute("UPDATE quarantine SET marked_at = marked_at - 40 * 86400")
        return [word.format(**words) for word in OPERATIONS[operation].words]

    def _run_through(self, words: list[str]) -> None:
        done = self.run(words)
        assert done.exit_code == 0, done.output

    def _litter(self, name: str) -> None:
        old = time.time() - 20 * 86400
        data = self.folder / "warehouse" / "db" / name.split(".")[2].strip("`") / "data"
        for number in range(3):
            orphan = data / f"orphan-{number}.parquet"
            orphan.write_bytes(b"not referenced")
            os.utime(orphan, (old, old))

    def _newest_job(self, name: str) -> str:
        with closing(sqlite3.connect(self.folder / "state.db")) as db:
            rows = db.execute(
                "SELECT job_id FROM jobs WHERE table_name = ? ORDER BY created_at DESC",
                (plain(name),),
            ).fetchall()
        return str(rows[0][0])

    def config(self, state: str) -> Path:
        path = self.folder / f"{state}.yaml"
        conf = "{" + ", ".join(f"{key}: '{value}'" for key, value in TEST_SIZED.items()) + "}"
        text = CONFIG.format(folder=self.folder, state=state, conf=conf)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, words: list[str], points: Points | None = None, state: str = "state") -> Result:
        """The command line, in this process and on the shared session."""

        def build(settings: Any, reporter: Any, spark_log: Any = None) -> Any:
            app = build_app(settings, SilentReporter())
            app.engine.use(BorrowedEngine(self.session))
            return watch(app, points) if points else app

        with pytest.MonkeyPatch.context() as patch, inside(points or Points()):
            patch.setattr(facade, "build_app", build)
            result = CliRunner().invoke(command_line, [*words, "-c", str(self.config(state))])
        ending = result.exception
        assert ending is None or isinstance(ending, SystemExit), (words, ending)
        # A plan with work in it is told by another code.
        expected = (0, 2) if words[0] == "plan" else (0, 1)
        assert result.exit_code in expected, (words, result.output)
        assert "defect of Neve" not in result.output, (words, result.output)
        return result

    def points_of(self, operation: str, version: int) -> list[str]:
        """The points of an undisturbed run, which does its work."""
        if (operation, version) not in self.passed:
            points = Points()
            name, words = self.make(operation, version)
            before = self.oracle.state(name)
            result = self.run(words, points)
            assert result.exit_code == 0, result.output
            self.oracle.check(name, before, operation)
            assert f"after {OPERATIONS[operation].work} #1" in points.passed, result.output
            assert len(points.passed) <= MAX_POINTS
            self.passed[operation, version] = points.passed
        return self.passed[operation, version]

    def settle(self, name: str, told: str, state: str = "state") -> None:
        """Every job has an end, once somebody looks; Spark is asked where only Spark can tell."""
        self.run(["jobs", plain(name)], state=state)
        if self.unfinished(name, state):
            self.run(["compact", plain(name)], state=state)
        assert self.unfinished(name, state) == [], told

    def let_leases_end(self) -> None:
        """As if the time since the last heartbeat had passed."""
        with closing(sqlite3.connect(self.folder / "state.db")) as db, db:
            db.execute("UPDATE claims SET expires_at = 0")

    def unfinished(self, name: str, state: str) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(self.folder / f"{state}.db")) as db:
            return db.execute(
                "SELECT operation, state, reason FROM jobs WHERE table_name = ? "
                "AND state NOT IN ('succeeded', 'failed', 'cancelled')",
                (plain(name),),
            ).fetchall()

    def operations(self, state: str = "state") -> dict[str, str]:
        """The operation of every job."""
        with closing(sqlite3.connect(self.folder / f"{state}.db")) as db:
            return dict(db.execute("SELECT job_id, operation FROM jobs").fetchall())

    def forget_tables(self) -> None:
        """What deletes asks every table of the catalog, and cases must not wait for each other."""
        with closing(sqlite3.connect(self.folder / "catalog.db")) as db, db:
            db.execute("DELETE FROM iceberg_tables")


def plain(name: str) -> str:
    return name.replace("`", "")


def version_of(operation: str, happening: object) -> int:
    """The format version of a case; in a sample an operation has one, whose points are known."""
    chosen = choices("version", operation, "" if IS_SAMPLE else happening)
    return chosen.choice(OPERATIONS[operation].versions)
