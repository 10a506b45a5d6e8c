from __future__ import annotations

import json
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType
from tests.json_documents import check_document
from typer.main import get_command

from neve.catalog.connect import Catalogs
from neve.catalog.surveyor import CatalogSurveyor
from neve.cli.main import app
from neve.model.rewrite import StagedFiles
from neve.testing.facts import MB, NOW
from neve.testing.local_lake import EXISTING, FileEntry, LocalLake, Manifest

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


@pytest.fixture
def run(monkeypatch):
    """Run a command; an exception that is no exit would be a traceback."""
    monkeypatch.setattr("sys.stdin", StringIO())

    def invoke(*words):
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            COMMAND.main([str(word) for word in words], prog_name="neve")
        result = Result(ended.value.code or 0, out.getvalue(), err.getvalue())
        assert "Traceback" not in result.output
        if "json" in words and result.stdout:
            check_document([str(word) for word in words], result.stdout)
        return result

    return invoke


@pytest.fixture
def run_json(run):
    """The one document that a command prints with `-o json`, and its exit code."""

    def invoke(*words):
        result = run(*words, "-o", "json")
        return json.loads(result.stdout), result.exit_code

    return invoke


def make_events(lake):
    """A table with work to do: five small files in one partition, one in another."""
    table = lake.create("db.events", SCHEMA, BY_KIND)
    clicks = [FileEntry(f"file:///c{i}", ("click",), size_bytes=MB) for i in range(5)]
    lake.commit(table, Manifest([*clicks, FileEntry("file:///v", ("view",), size_bytes=MB)]))
    return table


@pytest.fixture
def lake(tmp_path):
    """The embedded lakehouse of the current folder, where Neve looks without configuration."""
    return LocalLake(tmp_path / ".neve")


@pytest.fixture
def events(lake):
    return make_events(lake)


@pytest.fixture(scope="session")
def shared_lake(tmp_path_factory):
    lake = LocalLake(tmp_path_factory.mktemp("shared") / ".neve")
    make_events(lake)
    return lake


@pytest.fixture
def only_looking(shared_lake, monkeypatch, no_engine):
    """In a folder that tests share, because they change nothing in it."""
    monkeypatch.chdir(shared_lake.folder.parent)


class LocalEngine:
    """An engine that writes metadata only: what Spark would commit, without Spark."""

    def __init__(self, lake):
        self._lake = lake

    def _load(self, table):
        return self._lake.catalog.load_table((*table.namespace, table.name))

    def job(self, job_id):
        return nullcontext()

    def cancel(self, job_id):
        """It has no tasks that could be ended."""

    def warm_up(self):
        return False

    def stage(self, table, snapshot_id, orders, reporter):
        facts = self._survey(table)
        rows = {file.path: file.record_count for file in facts.data_files}
        return [
            StagedFiles(
                order.order_id,
                (f"file:///new-{order.order_id}",),
                sum(rows[path] for path in order.paths),
                handle=order,
            )
            for order in orders
        ]

    def _survey(self, table):
        catalogs = Catalogs({self._lake.name: self._lake.properties})
        return CatalogSurveyor(catalogs, lambda: NOW).survey(table)

    def commit_staged(self, table, snapshot_id, staged, properties):
        files = {file.path: file for file in self._survey(table).data_files}
        gone = {path for item in staged for path in item.handle.paths}
        kept = [
            FileEntry(
                file.path,
                file.partition[1],
                file.size_bytes,
                file.record_count,
                status=EXISTING,
                snapshot_id=file.added_snapshot_id,
                sequence_number=file.data_sequence_number,
            )
            for file in files.values()
            if file.path not in gone
        ]
        made = [
            FileEntry(
                item.paths[0],
                files[item.handle.paths[0]].partition[1],
                item.handle.input_bytes,
                item.rows,
            )
            for item in staged
        ]
        summary = {**properties, "added-data-files": str(len(made))}
        manifest = Manifest([*kept, *made])
        self._lake.commit(
            self._load(table), manifest, keeps=False, operation="replace", summary=summary
        )

    def stop(self):
        pass


@pytest.fixture
def logged(lake):
    """A column of the maintenance log, oldest row first."""

    def read(column):
        rows = lake.catalog.load_table("db._maintenance_log").scan().to_arrow()
        return rows.sort_by("executed_at")[column].to_pylist()

    return read


@pytest.fixture
def engine(lake, monkeypatch):
    """Spark's place, taken by an engine without a JVM."""
    fake = LocalEngine(lake)
    monkeypatch.setattr("neve.app.make_engine", lambda *_: fake)
    return fake


@pytest.fixture
def no_engine(monkeypatch):
    """Fails the test where a command that only looks asks for Spark."""

    def refuse(*_):
        raise AssertionError("Spark was started")

    monkeypatch.setattr("neve.app.make_engine", refuse)
