"""What a REST catalog answers to an append, and what that means: one request, nothing deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from tests.unit.catalog.rest_server import RestTable, serving

from neve.catalog import connect
from neve.catalog.appending import open_table
from neve.catalog.connect import Catalogs
from neve.model.database import WriteKey
from neve.model.errors import CommitConflict, CommitUnknown, ExecutionError
from neve.testing.local_lake import LocalLake

pytestmark = pytest.mark.promise(53)
KEY = WriteKey("k" * 16, "c" * 8)


@pytest.fixture
def table(tmp_path):
    lake = LocalLake(tmp_path / "lake")
    made = lake.create("db.events", Schema(NestedField(1, "id", LongType(), required=False)))
    metadata = json.loads(Path(made.metadata_location.removeprefix("file://")).read_text())
    return RestTable(metadata, made.metadata_location)


@pytest.fixture
def opened(table, monkeypatch):
    monkeypatch.setattr(connect, "REST_TIMEOUT_SECONDS", (5.0, 0.5))
    with serving(table) as uri:
        catalogs = Catalogs({"rest": {"type": "rest", "uri": uri}})
        ref = catalogs.parse("rest.db.events")
        yield lambda: open_table(ref, catalogs.writable("rest"))


def append(opened):
    now = opened()
    staged = now.stage([{"id": 1}])
    return now, staged, lambda: now.commit(staged, [KEY], "w1")


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 409, 419, 429, 500, 502, 503, 504])
def test_what_was_applied_is_done_whatever_was_answered(table, opened, status):
    table.status = status
    _, staged, commit = append(opened)
    snapshot_id = commit()

    assert [s["snapshot-id"] for s in table.metadata["snapshots"]] == [snapshot_id]
    assert len(table.commits) == 1
    assert opened().written([KEY]) == {KEY.key: KEY.content}
    assert opened().has_landed("w1")
    there = {
        path.name for path in Path(staged.paths[0].removeprefix("file://")).parents[1].rglob("*")
    }
    assert any(name.startswith("snap-") for name in there)
    assert sum(name.endswith(".avro") for name in there) == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (409, CommitConflict),
        (400, ExecutionError),
        (401, ExecutionError),
        (403, ExecutionError),
        (429, CommitUnknown),
        (500, CommitUnknown),
        (502, CommitUnknown),
        (503, CommitUnknown),
        (504, CommitUnknown),
    ],
)
def test_what_was_not_applied_is_told_as_far_as_it_is_known(table, opened, status, kind):
    table.applies, table.status = False, status
    _, staged, commit = append(opened)
    with pytest.raises(kind):
        commit()

    assert len(table.commits) == 1
    assert all(Path(path.removeprefix("file://")).exists() for path in staged.paths)


def test_an_answer_that_does_not_come_is_looked_up(table, opened):
    table.silent_seconds = 1.0
    _, _, commit = append(opened)
    commit()
    assert len(table.commits) == 1


def test_who_comes_in_between_is_a_conflict(table, opened):
    _, _, commit = append(opened)
    other, staged, _ = append(opened)
    other.commit(staged, [], "w2")
    with pytest.raises(CommitConflict):
        commit()
    assert not opened().has_landed("w1")
