"""Commands that need no engine start none: what changes metadata alone, and what finds nothing."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.edges.cli.conftest import BY_KIND, SCHEMA

from neve.model.errors import EnvironmentProblem


@pytest.fixture(autouse=True)
def no_session(monkeypatch):
    """Spark's own engine, whose session cannot be started."""

    def refuse(*_, **__):
        raise EnvironmentProblem("A Spark session was started.")

    monkeypatch.setattr("neve.spark.session.build_session", refuse)


@pytest.fixture
def well(lake):
    """A table with one real file in each of its partitions, written twice."""
    table = lake.create("db.well", SCHEMA, BY_KIND)
    for kind in ("a", "b"):
        rows = pa.table({"id": pa.array([1, 2]), "kind": pa.array([kind] * 2, pa.large_string())})
        table.append(rows)
    return table


def test_the_session_would_be_missed(events, run):
    """Without this the other tests could not fail."""
    result = run("compact", "db.events", "--engine", "spark")

    assert result.exit_code == 1
    assert "A Spark session was started." in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("compact", "db.well"),
        ("manifests", "db.well"),
        ("deletes", "db.well"),
        ("expire", "db.well", "--apply"),
        ("orphans", "db.well"),
        ("orphans", "db.well", "--quarantine"),
        ("orphans", "db.well", "--purge"),
        ("maintain", "db.well"),
        ("maintain", "db.well", "--apply"),
    ],
    ids=" ".join,
)
def test_where_all_is_well_nothing_is_started(well, run, words):
    run("orphans", "db.well")
    result = run(*words)

    assert (result.exit_code, result.stderr) == (0, "")


def test_a_rollback_its_tag_and_its_undoing(well, run_json, logged):
    first, second = [snapshot.snapshot_id for snapshot in well.metadata.snapshots]
    outcome, code = run_json("rollback", "db.well", "--to-snapshot", first)
    assert (code, outcome["status"]) == (0, "succeeded")
    well.refresh()
    assert well.metadata.current_snapshot_id == first
    (tag,) = [name for name in well.metadata.refs if name != "main"]
    assert well.metadata.refs[tag].snapshot_id == second

    undone, code = run_json("rollback", "db.well", "--job", outcome["job_id"])
    assert (code, undone["status"]) == (0, "succeeded")
    well.refresh()
    assert well.metadata.current_snapshot_id == second
    assert logged("operation") == ["rollback", "rollback"]
