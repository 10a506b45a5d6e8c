from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType
from tests.json_documents import check_document
from typer.main import get_command

from neve.app import utc_now
from neve.catalog.surveyor import CatalogSurveyor
from neve.cli.main import app
from neve.spark import jars, java
from neve.spark.java import Java
from neve.testing.facts import MB, table_facts
from neve.testing.local_engine import LocalEngine
from neve.testing.local_lake import FileEntry, LocalLake, Manifest
from neve.testing.orphans import StoredLake

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "kind", StringType(), required=False),
)
BY_KIND = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "kind"))


COMMAND = get_command(app)


@dataclass(frozen=True)
class Result:
    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; an exception that is no exit would be a traceback."""
    monkeypatch.setattr("sys.stdin", StringIO())

    def invoke(*words: object) -> Result:
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            COMMAND.main([str(word) for word in words], prog_name="neve")
        result = Result(int(ended.value.code or 0), out.getvalue(), err.getvalue())
        assert "Traceback" not in result.output
        if "json" in words and result.stdout:
            check_document([str(word) for word in words], result.stdout)
        return result

    return invoke


@pytest.fixture
def run_json(run: Run) -> Callable[..., tuple[Any, int]]:
    """The one document that a command prints with `-o json`, and its exit code."""

    def invoke(*words: object) -> tuple[Any, int]:
        result = run(*words, "-o", "json")
        return json.loads(result.stdout), result.exit_code

    return invoke


def make_events(lake: LocalLake) -> Table:
    """A table with work to do: five small files in one partition, one in another."""
    table = lake.create("db.events", SCHEMA, BY_KIND)
    clicks = [FileEntry(f"file:///c{i}", ("click",), size_bytes=MB) for i in range(5)]
    lake.commit(table, Manifest([*clicks, FileEntry("file:///v", ("view",), size_bytes=MB)]))
    return table


@pytest.fixture
def lake(tmp_path: Path) -> LocalLake:
    """The embedded lakehouse of the current folder, where Neve looks without configuration."""
    return LocalLake(tmp_path / ".neve")


@pytest.fixture
def events(lake: LocalLake) -> Table:
    return make_events(lake)


@pytest.fixture(scope="session")
def shared_lake(tmp_path_factory: pytest.TempPathFactory) -> LocalLake:
    lake = LocalLake(tmp_path_factory.mktemp("shared") / ".neve")
    make_events(lake)
    return lake


@pytest.fixture
def only_looking(shared_lake: LocalLake, monkeypatch: pytest.MonkeyPatch, no_engine: None) -> None:
    """In a folder that tests share, because they change nothing in it."""
    monkeypatch.chdir(shared_lake.folder.parent)


@pytest.fixture
def logged(lake: LocalLake) -> Callable[[str], list[Any]]:
    """A column of the maintenance log, oldest row first."""

    def read(column: str) -> list[Any]:
        rows = lake.catalog.load_table("db._maintenance_log").scan().to_arrow()
        found: list[Any] = rows.sort_by("executed_at")[column].to_pylist()
        return found

    return read


@pytest.fixture
def engine(lake: LocalLake, monkeypatch: pytest.MonkeyPatch) -> LocalEngine:
    """Spark's place, taken by an engine without a JVM."""
    fake = LocalEngine(lake)
    monkeypatch.setattr("neve.app.make_engine", lambda *_: fake)
    return fake


@pytest.fixture
def stored(events: Table, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Spark's place and the store below, taken by a twin: nine reachable files, one orphan."""
    facts = table_facts(location=events.location(), table_uuid=str(events.metadata.table_uuid))
    made: Any = StoredLake(facts)
    old = utc_now() - timedelta(days=9)
    for number in range(9):
        made.put(f"data/f{number}", at=old, is_reached=True)
    made.orphan = made.put("data/orphan", at=old)
    monkeypatch.setattr("neve.app.make_engine", lambda *_: made)
    monkeypatch.setattr(CatalogSurveyor, "reachable", lambda _, table: made.reachable(table))
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without anything in it, in a folder without anything in it."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("PYICEBERG_HOME", str(folder))
    monkeypatch.delenv("NEVE_STACK_JSON", raising=False)
    return folder


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with Java 21 and jars that were fetched."""
    monkeypatch.setenv("NEVE_CACHE", str(Path.cwd() / "cache"))
    monkeypatch.setattr(java, "find_java", lambda _: Java(Path("/jdk"), 21, "PATH"))
    monkeypatch.setattr(jars, "cached_jars", lambda *_: ["a.jar", "b.jar"])
    monkeypatch.setattr("neve.machine.version", lambda _: "4.1.2")


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test where a command that only looks asks for Spark."""

    def refuse(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("neve.app.make_engine", refuse)
