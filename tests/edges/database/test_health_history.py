"""How tables were is kept beside them, a row for each judgement."""

from __future__ import annotations

from datetime import datetime

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from tests.edges.database.lake import open_neve
from typer.testing import CliRunner

from neve.cli.main import app as command_line
from neve.database.health_history import COLUMNS, HISTORY_TABLE_NAME
from neve.model.errors import CatalogError
from neve.testing.facts import MB
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
HISTORY = ("db", HISTORY_TABLE_NAME)


@pytest.fixture
def lake(tmp_path):
    made = LocalLake(tmp_path / "lake")
    for name in ("db.a", "db.b", "other.c"):
        table = made.create(name, SCHEMA)
        files = [FileEntry(f"file:///{name}{i}", (), size_bytes=MB) for i in range(5)]
        made.commit(table, Manifest(files))
    return made


@pytest.fixture
def neve(lake, tmp_path):
    with open_neve(tmp_path) as opened:
        yield opened


def rows(lake, *name):
    with load_catalog("lake", **lake.properties) as catalog:
        return catalog.load_table(name).scan().to_arrow().to_pylist()


def test_each_namespace_has_its_history(neve, lake):
    judged = [neve.health(table) for table in neve.tables()]
    written = neve.record_health(judged)

    assert [str(table) for table in written] == [
        "lake.db._health_history",
        "lake.other._health_history",
    ]
    kept = rows(lake, *HISTORY)
    assert [row["table_name"] for row in kept] == ["a", "b"]
    assert (kept[0]["data_files"], kept[0]["total_bytes"]) == (5, 5 * MB)
    assert (kept[0]["score"], kept[0]["tier"]) == (judged[0].score, str(judged[0].tier))
    assert isinstance(kept[0]["judged_at"], datetime)
    assert kept[0].keys() == {column.name for column in COLUMNS}


def test_histories_grow_and_are_no_tables_of_users(neve, lake):
    for _ in range(3):
        neve.record_health([neve.health("db.a")])

    assert len(rows(lake, *HISTORY)) == 3
    assert [str(table) for table in neve.tables("lake.db.*")] == ["lake.db.a", "lake.db.b"]


def test_nothing_is_written_for_nothing(neve, lake):
    assert neve.record_health([]) == []


def test_a_table_of_that_name_that_is_no_history_is_left_alone(neve, lake):
    lake.create("db._health_history", Schema(NestedField(1, "x", LongType(), required=True)))

    with pytest.raises(CatalogError, match="is no history of health"):
        neve.record_health([neve.health("db.a")])
    assert rows(lake, *HISTORY) == []


def test_the_command_records_when_it_is_asked_to(lake, tmp_path):
    open_neve(tmp_path).close()
    config = ["--config", str(tmp_path / "neve.yaml")]
    looked = CliRunner().invoke(command_line, ["health", "lake.db.*", *config])
    assert looked.exit_code == 0, looked.output
    assert (HISTORY[1],) not in {name[1:] for name in tables(lake)}

    asked = CliRunner().invoke(command_line, ["health", "lake.db.*", "--record", *config])
    assert asked.exit_code == 0, asked.output
    assert "Recorded in lake.db._health_history." in asked.output
    assert len(rows(lake, *HISTORY)) == 2


def tables(lake):
    with load_catalog("lake", **lake.properties) as catalog:
        return catalog.list_tables("db")
