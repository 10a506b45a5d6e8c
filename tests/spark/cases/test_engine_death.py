"""The JVM is killed while the command works: a failure like others, of one table, with an end.

The shared session must live on, so that every case here runs the command in a process of its own.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
import yaml
from pyiceberg.catalog.sql import SqlCatalog
from tests.json_documents import check_document

from neve.model.table import TableRef
from neve.store.sqlite import SqliteStore

#: Every case starts one JVM or two.
pytestmark = [pytest.mark.promise(9), pytest.mark.timeout(900)]
#: A machine that is busy takes its time to start a JVM.
PATIENCE_SECONDS = 240
COMMAND = "from neve.cli.main import run; run()"


def _heed_interrupts() -> None:
    """A shell that starts these tests in the background has switched them off."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass(frozen=True)
class Place:
    """A folder with a catalog, a state database and the configuration of both."""

    folder: Path
    catalog: SqlCatalog

    @property
    def store(self) -> SqliteStore:
        return SqliteStore(self.folder / "state.db")

    def make(self, name: str) -> None:
        """A table of four small files, written without Spark."""
        rows = pa.table({"id": pa.array(range(10), pa.int64())})
        table = self.catalog.create_table(("db", name), rows.schema)
        for _ in range(4):
            table.append(rows)

    def rows(self, name: str) -> Counter[int]:
        scanned = self.catalog.load_table(("db", name)).scan().to_arrow()
        return Counter(scanned["id"].to_pylist())

    def files(self, name: str) -> int:
        return len(list(self.catalog.load_table(("db", name)).scan().plan_files()))

    def is_tagged(self, name: str) -> bool:
        refs = self.catalog.load_table(("db", name)).metadata.refs
        return any(ref.startswith("neve-undo-") for ref in refs)

    def states(self, name: str) -> list[str]:
        return [str(job.state) for job in self.store.jobs(TableRef("lake", ("db",), name))]

    def start(self, *words: str, in_own_group: bool = False) -> subprocess.Popen[str]:
        environ = {k: v for k, v in os.environ.items() if k != "NEVE_CONFIG"}
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words, "-c", str(self.folder / "neve.yaml")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
            cwd=self.folder,
            start_new_session=in_own_group,
            preexec_fn=_heed_interrupts if in_own_group else None,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{tmp_path / 'catalog.db'}",
        "warehouse": (tmp_path / "warehouse").as_uri(),
    }
    settings = {
        "catalogs": {"lake": properties},
        "state": {"url": f"sqlite:///{tmp_path / 'state.db'}"},
        "spark": {"master": "local[1]", "conf": {"spark.driver.memory": "1g"}},
        "maintain": {"parallel_tables": 1},
    }
    (tmp_path / "neve.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    catalog = SqlCatalog("lake", **properties)
    catalog.create_namespace("db")
    return Place(tmp_path, catalog)


def wait_until(holds, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def jvms_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            # The launcher's scripts end in the JVM itself, under the same id.
            if any(word.endswith("SparkSubmit") for word in child.cmdline()):
                found.append(child)
    return found


def kill_jvm(process: subprocess.Popen[str]) -> None:
    # While it starts, a launcher may stand beside it that names the same class.
    for jvm in jvms_of(process):
        with suppress(psutil.NoSuchProcess):
            jvm.kill()


def end_of(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    stdout, stderr = process.communicate(timeout=PATIENCE_SECONDS)
    assert "Traceback" not in stderr, stderr
    return process.returncode, stdout, stderr


def test_a_compaction_whose_jvm_is_killed_ends_with_a_sentence(place):
    place.make("events")
    before = place.rows("events")
    process = place.start("compact", "lake.db.events", "--engine", "spark", "-o", "json")
    wait_until(lambda: place.is_tagged("events"), process)
    kill_jvm(process)

    code, stdout, _ = end_of(process)

    document = json.loads(stdout)
    said = document["error"]["message"] if "error" in document else document["reason"]
    if code == 0:
        # Nothing was under way in the JVM just then, so that a new one took its place.
        assert (place.states("events"), place.files("events")) == (["succeeded"], 1), document
    else:
        assert "Spark's process has ended" in said, document
        assert (place.states("events"), place.files("events")) == (["failed"], 4)
    assert place.rows("events") == before


def test_a_jvm_that_is_killed_while_it_starts_is_told(place):
    place.make("events")
    before = place.rows("events")
    process = place.start("compact", "lake.db.events", "--engine", "spark", "-o", "json")
    wait_until(lambda: jvms_of(process), process)
    kill_jvm(process)

    code, stdout, _ = end_of(process)

    assert (code, list(json.loads(stdout))) == (1, ["error"])
    # Its job has an end, and says why.
    assert place.states("events") == ["failed"]
    assert place.rows("events") == before


def test_the_next_tables_of_a_run_are_maintained_on_a_new_jvm(place):
    for name in ("a", "b", "c"):
        place.make(name)
    before = {name: place.rows(name) for name in "abc"}
    process = place.start("maintain", "lake.db.*", "-o", "json")
    # The tag comes with the first commit.
    wait_until(lambda: place.is_tagged("a"), process)
    kill_jvm(process)

    code, stdout, _ = end_of(process)

    document = check_document(["maintain"], stdout)
    reports = {item["table"]: item for item in document["tables"]}
    first = {name: reports[f"lake.db.{name}"]["operations"][0] for name in "abc"}
    ended = {
        name
        for name, done in first.items()
        if done["status"] == "failed" and "Spark's process has ended" in done["reason"]
    }
    # With no table under way in the JVM just then, a new one took its place.
    assert (code, len(ended)) in [(0, 0), (1, 1)]
    for name in {"a", "b", "c"} - ended:
        assert (first[name]["status"], place.files(name)) == ("succeeded", 1)
    assert {name: place.rows(name) for name in "abc"} == before
    with closing(sqlite3.connect(place.folder / "state.db")) as db:
        states = {row[0] for row in db.execute("SELECT state FROM jobs")}
    assert states <= {"succeeded", "failed"}
