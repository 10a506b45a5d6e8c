from __future__ import annotations

import json
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from tests.edges.cli.conftest import SCHEMA

from neve import __version__
from neve.cli.render import why_engines, why_left_alone
from neve.model.plan import NothingToDo, Reason
from neve.store.redis.store import RedisStore
from neve.testing.facts import MB
from neve.testing.local_lake import FileEntry, Manifest

EMPTY = Schema()
MAIN = {
    "name": "main",
    "snapshot_id": "1",
    "kind": "branch",
    "max_age_ms": None,
    "min_snapshots_to_keep": None,
    "max_snapshot_age_ms": None,
}
pytestmark = pytest.mark.usefixtures("no_engine")


def test_the_version_is_printed(run):
    result = run("--version")

    assert (result.exit_code, result.stdout) == (0, f"neve {__version__}\n")


def test_tables_are_listed_with_their_figures(run_json, events):
    document, code = run_json("tables")

    assert code == 0
    assert document == [
        {
            "table": "lake.db.events",
            "format_version": 2,
            "snapshot_id": "1",
            "data_files": 6,
            "delete_files": 0,
            "total_bytes": 6 * MB,
            "records": 600,
            "live_records": 600,
            "snapshots": 1,
            "refs": [MAIN],
        }
    ]


def test_tables_of_machinery_are_listed_when_asked_for(run_json, lake, events):
    lake.create("db._maintenance_log", events.schema())

    shown = [[row["table"] for row in run_json("tables", glob)[0]] for glob in ("*", "db._*")]

    assert shown == [["lake.db.events"], ["lake.db._maintenance_log"]]


def test_a_catalog_without_tables_lists_none(run_json, lake):
    assert run_json("tables") == ([], 0)


def test_people_get_a_table(run, events):
    result = run("tables", "lake.db.*")

    header, row = result.stdout.splitlines()
    assert header.split() == ["table", "files", "deletes", "size", "rows", "snapshots"]
    assert row.split() == ["lake.db.events", "6", "0", "6.0", "MB", "600", "1"]


def test_nothing_but_the_result_is_printed_into_a_pipe(run, events):
    for words in (["tables"], ["health", "db.events"], ["plan", "db.events"], ["history"]):
        result = run(*words)
        assert (result.stderr, "\x1b" in result.stdout) == ("", False)


def test_health_is_a_document_with_its_parts(run_json, events):
    document, code = run_json("health", "db.events")

    assert code == 0
    assert (document["table"], document["data_files"], document["small_files"]) == (
        "lake.db.events",
        6,
        5,
    )
    assert [part["name"] for part in document["partitions"]] == ["kind=click", "kind=view"]


def test_health_of_a_table_for_people(run, events):
    result = run("health", "lake.db.events")

    assert result.exit_code == 0
    assert result.stdout.startswith("lake.db.events  ")
    assert "kind=click" in result.stdout


@pytest.mark.parametrize("version", [1, 2, 3])
def test_tables_of_every_version_are_looked_at(run_json, lake, version):
    table = lake.create("db.t", EMPTY, format_version=version)
    lake.commit(table, Manifest([FileEntry("file:///a")]))

    assert run_json("health", "db.t")[0]["data_files"] == 1


def test_history_is_empty_at_first(run, run_json, lake):
    assert run_json("history") == ([], 0)
    assert run("history").stdout == "No jobs yet.\n"


def test_history_tells_what_was_done(run, run_json, events, engine):
    run("compact", "db.events", "--engine", "spark")

    (job,), code = run_json("history", "db.events")

    assert code == 0
    assert (job["table"], job["operation"], job["state"], job["reason"]) == (
        "lake.db.events",
        "rewrite_data_files",
        "succeeded",
        "5 files became 1.",
    )
    assert job["outcome"]["stats"]["files_compacted"] == 5
    assert run_json("history", "db.other") == ([], 0)


def test_names_with_brackets_are_no_markup(run, lake):
    lake.create("db.x", EMPTY)
    lake.catalog.rename_table("db.x", ("db", "[bold]:smile:[/]"))

    result = run("tables")

    assert "lake.db.`[bold]:smile:[/]`" in result.stdout


@pytest.fixture(params=["nobody listens", "no database", "a folder"])
def broken_state(request, tmp_path, monkeypatch):
    """A state that cannot be used."""
    patient = {**RedisStore.__init__.__kwdefaults__, "patience_seconds": 0.1}
    monkeypatch.setattr(RedisStore.__init__, "__kwdefaults__", patient)
    file = tmp_path / "state"
    if request.param == "no database":
        file.write_text("these are not the pages of a database" * 100)
    elif request.param == "a folder":
        file.mkdir()
    is_redis = request.param == "nobody listens"
    monkeypatch.setenv(
        "NEVE_STATE__URL", "redis://127.0.0.1:1" if is_redis else f"sqlite:///{file}"
    )


def test_health_goes_on_without_the_state_and_says_so(run, events, broken_state):
    result = run("health", "db.events", "-o", "json")

    assert (json.loads(result.stdout)["table"], result.exit_code) == ("lake.db.events", 0)
    said = " ".join(result.stderr.split())
    assert "do not count here" in said
    assert "Redis server" in said or "state database" in said


def test_a_state_that_is_away_is_asked_once_for_all_tables(run, lake, events, broken_state):
    lake.create("db.second", events.schema())

    result = run("health", "*")

    assert result.exit_code == 0
    assert "".join(result.stderr.split()).count("donotcounthere") == 1


@pytest.mark.usefixtures("events", "broken_state")
@pytest.mark.parametrize("command", ["compact", "expire --apply", "rollback --snapshot-id 1"])
def test_what_changes_something_does_not_go_on_without_the_state(run, command):
    verb, *options = command.split()

    assert run(verb, "db.events", *options).exit_code == 1


def test_advice_is_given_with_evidence_gain_and_a_command(run, run_json, lake):
    table = lake.create("db.unsorted", SCHEMA)
    target = {"neve.rewrite_data_files.options.target-file-size-bytes": "500"}
    table.transaction().set_properties(target).commit_transaction()
    for _ in range(4):
        rows = {"id": pa.array([1, 2]), "kind": pa.array(["a", "b"], pa.large_string())}
        table.append(pa.table(rows))

    (advice,), code = run_json("health", "db.unsorted", "--advice")

    assert (code, advice["code"]) == (0, "unsorted")
    assert all(advice[key] for key in ("sentence", "evidence", "gain"))
    assert advice["command"] == "neve compact lake.db.unsorted --strategy sort --sort-by id"
    shown = run("health", "db.unsorted", "--advice").stdout
    assert "  neve compact lake.db.unsorted --strategy sort --sort-by id" in shown.splitlines()


def test_advice_is_about_one_table(run, events):
    assert run("health", "*", "--advice").exit_code == 1


def test_tables_are_ranked_by_what_a_cure_would_gain(run_json, lake, events):
    many = lake.create("db.many", SCHEMA)
    lake.commit(many, Manifest([FileEntry(f"file:///m{n}", (), size_bytes=MB) for n in range(40)]))

    judged, _ = run_json("health", "*")

    assert [item["table"] for item in judged] == ["lake.db.many", "lake.db.events"]
    assert judged[0]["gain"]["file_opens"] == 39


def test_reasons_that_differ_in_their_figures_are_told_once():
    reasons = ["groups of 19.9 KB", "groups of 20.0 KB", "groups of 20.0 KB", "groups of 3 B"]
    groups = [SimpleNamespace(engine="rewrite", engine_reason=reason) for reason in reasons]
    other = SimpleNamespace(engine="copy", engine_reason="groups of 1.0 MB")
    assert why_engines([*groups, other]) == [
        "engine rewrite (4 groups): for example, groups of 20.0 KB",
        "engine copy (1 group): groups of 1.0 MB",
    ]


def test_a_plan_tells_reasons_of_one_kind_once():
    def reason(code, partition):
        return Reason(code, f"Partition {partition} is as it is.", partition)

    few, dear = NothingToDo.TOO_FEW_FILES, NothingToDo.OVER_BUDGET
    reasons = [reason(few, "a"), reason(dear, "b"), reason(few, "c")]

    assert why_left_alone(reasons) == [
        "left alone (2 of its kind): for example, Partition a is as it is.",
        "left alone: Partition b is as it is.",
    ]
