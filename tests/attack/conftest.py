"""Real runs of the command line, with something happening at a chosen point of each.

Everything is seeded: `ATTACK_SEED` chooses other cases, `ATTACK_CASES` more of them.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession
from tests.attack.oracle import Oracle
from tests.attack.points import Points, watch
from typer.testing import CliRunner, Result

from neve.app import build_app
from neve.cli import context
from neve.cli.main import app as command_line
from neve.spark.engine import BorrowedEngine
from neve.spark.session import build_session
from neve.testing.lake import SilentReporter

SEED = int(os.environ.get("ATTACK_SEED", "20261117"))
CASES = int(os.environ.get("ATTACK_CASES", "1"))
TEST_SIZED = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
}
CONFIG = """
catalogs:
  lake:
    type: sql
    uri: sqlite:///{folder}/catalog.db
    warehouse: {folder}/warehouse
state:
  url: sqlite:///{folder}/{state}.db
  lease_seconds: 5
compaction:
  min_row_group_size: 1KB
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
_names = count(1)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", "ignore:unclosed:ResourceWarning")


@dataclass(frozen=True)
class Operation:
    """One command, what it needs beforehand, and whether it runs on Spark."""

    words: tuple[str, ...]
    prepare: str = ""


OPERATIONS = {
    "compact by copying": Operation(("compact", "{table}")),
    "compact by Spark": Operation(("compact", "{table}", "--engine", "spark")),
    "sort": Operation(("compact", "{table}", "--strategy", "sort", "--sort-by", "id")),
    "roll back": Operation(("rollback", "{table}", "--job", "{job}"), prepare="compacted"),
    "expire": Operation(("expire", "{table}", "--apply"), prepare="aged"),
    "manifests": Operation(("manifests", "{table}")),
    "deletes": Operation(("deletes", "{table}")),
    "stats": Operation(("stats", "{table}")),
    "quarantine": Operation(("orphans", "{table}", "--quarantine"), prepare="littered"),
    "purge": Operation(("orphans", "{table}", "--purge"), prepare="quarantined"),
    "maintain": Operation(("maintain", "{table}", "--apply"), prepare="aged"),
}


@dataclass
class Attack:
    """One lake, one Spark session, and ways to run Neve over it while something happens."""

    folder: Path
    session: SparkSession
    oracle: Oracle
    passed: dict[str, list[str]] = field(default_factory=dict)

    def table(self, *, version: int = 2) -> str:
        """A table that needs everything: small files, position deletes, snapshots, a tag."""
        name = f"`lake`.`db`.`t{next(_names)}`"
        self.session.sql(
            f"CREATE TABLE {name} (id BIGINT, kind STRING, amount DOUBLE) USING iceberg "
            "PARTITIONED BY (kind) TBLPROPERTIES ("
            f"'format-version' = '{version}', 'write.distribution-mode' = 'none', "
            "'write.spark.fanout.enabled' = 'true', 'write.delete.mode' = 'merge-on-read', "
            "'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')"
        )
        for start in (0, 30):
            self._append(name, start)
        self.session.sql(f"DELETE FROM {name} WHERE id % 9 = 1")
        self.session.sql(f"ALTER TABLE {name} CREATE TAG kept")
        self._append(name, 60)
        return name

    def _append(self, name: str, start: int) -> None:
        frame = self.session.range(start, start + 30, 1, 3)
        rows = frame.selectExpr("id", "concat('k', id % 3) AS kind", "cast(id AS double) AS amount")
        rows.writeTo(name).append()

    def prepare(self, name: str, how: str) -> dict[str, str]:
        """Bring the table to where the operation has something to do."""
        words = {"table": plain(name)}
        if how == "compacted":
            document = self.run(["compact", plain(name), "-o", "json"])
            assert document.exit_code == 0, document.output
            words["job"] = self._newest_job(name)
        if how == "aged":
            time.sleep(1.1)
        if how in ("littered", "quarantined"):
            self._litter(name)
            self.run(["orphans", plain(name)])
        if how == "quarantined":
            assert self.run(["orphans", plain(name), "--quarantine"]).exit_code == 0
            with closing(sqlite3.connect(self.folder / "state.db")) as db, db:
                db.execute("UPDATE quarantine SET marked_at = marked_at - 40 * 86400")
        return words

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

    def config(self, state: str = "state") -> Path:
        path = self.folder / f"{state}.yaml"
        conf = "{" + ", ".join(f"{key}: '{value}'" for key, value in TEST_SIZED.items()) + "}"
        path.write_text(CONFIG.format(folder=self.folder, state=state, conf=conf))
        return path

    def run(self, words: list[str], points: Points | None = None, state: str = "state") -> Result:
        """The command line, in this process and on the shared session."""

        def build(settings: Any, say: Any) -> Any:
            app = build_app(settings, SilentReporter())
            app.engine.use(BorrowedEngine(self.session))
            return watch(app, points) if points else app

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(context, "build_app", build)
            return CliRunner().invoke(command_line, [*words, "-c", str(self.config(state))])

    def points_of(self, operation: str) -> list[str]:
        """The points of an undisturbed run."""
        if operation not in self.passed:
            points = Points()
            known = OPERATIONS[operation]
            name = self.table()
            words = self.prepare(name, known.prepare)
            result = self.run([word.format(**words) for word in known.words], points)
            assert result.exit_code == 0, result.output
            assert points.passed
            self.passed[operation] = points.passed
        return self.passed[operation]

    def unfinished(self, name: str, state: str = "state") -> list[tuple[str, str]]:
        with closing(sqlite3.connect(self.folder / f"{state}.db")) as db:
            return db.execute(
                "SELECT operation, state FROM jobs WHERE table_name = ? "
                "AND state NOT IN ('succeeded', 'failed', 'cancelled')",
                (plain(name),),
            ).fetchall()


def plain(name: str) -> str:
    return name.replace("`", "")


def choices(*parts: object) -> random.Random:
    """The same choices for the same case, whatever ran before it."""
    return random.Random(f"{SEED}:{':'.join(map(str, parts))}")


@pytest.fixture(scope="session")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attack]:
    folder = tmp_path_factory.mktemp("attack")
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"{(folder / 'warehouse').as_uri()}",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in [key for key in os.environ if key.startswith(("NEVE_", "PYICEBERG_"))]:
            if name != "NEVE_CACHE":
                patch.delenv(name)
        patch.setenv("PYICEBERG_HOME", str(tmp_path_factory.mktemp("home")))
        session = build_session(
            {"lake": properties}, master="local[2]", conf=TEST_SIZED, say=SilentReporter()
        )
        session.sql("CREATE NAMESPACE lake.db")
        catalog = load_catalog("lake", **properties)
        yield Attack(folder, session, Oracle(session, catalog))
        session.stop()


Check = Callable[[Attack, str], None]
