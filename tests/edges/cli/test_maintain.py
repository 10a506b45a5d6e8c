from __future__ import annotations

import pytest
from tests.edges.cli.conftest import BY_KIND, SCHEMA

from neve.model.errors import InputError
from neve.model.maintenance import MaintainRequest
from neve.model.policy import Verify
from neve.testing.facts import MB
from neve.testing.local_lake import FileEntry, Manifest


@pytest.fixture
def statuses(run_json):
    """What `neve maintain` says of each operation on the one table there is."""

    def ask(*words):
        document, _ = run_json("maintain", *words)
        (table,) = document["tables"]
        return {item["operation"]: item["status"] for item in table["operations"]}

    return ask


def test_a_dry_run_says_what_would_be_done_without_an_engine(only_looking, statuses):
    found = statuses("db.events", "--dry-run")

    assert found["rewrite_data_files"] == "planned"
    assert found["rewrite_manifests"] == "nothing_to_do"


def test_what_deletes_needs_a_policy_or_the_word(only_looking, statuses):
    deleting = ("expire_snapshots", "remove_orphan_files")

    assert [statuses("--dry-run")[name] for name in deleting] == ["skipped", "skipped"]
    asked = statuses("--dry-run", "--apply")
    assert [asked[name] for name in deleting] == ["nothing_to_do", "planned"]


def test_a_policy_enables_and_disables(
    events, run_json, statuses, tmp_path, monkeypatch, no_engine
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "neve.yaml").write_text(
        "catalogs: {lake: {type: sql, uri: 'sqlite:///.neve/catalog.db', "
        "warehouse: .neve/warehouse}}\n"
        "policies:\n"
        "  - name: all\n"
        "    operations: {remove_orphan_files: {}, expire_snapshots: {enabled: false}}\n"
    )
    found = statuses("--dry-run", "--apply")

    assert found["remove_orphan_files"] == "planned"
    # What a policy turned off stays off, whatever the command line says.
    assert found["expire_snapshots"] == "skipped"


def test_a_dry_run_shows_what_has_work_and_says_so_to_programs(only_looking, run):
    result = run("maintain", "--dry-run")

    assert result.exit_code == 2
    assert result.stdout.splitlines() == [
        "lake.db.events",
        "  compact: 5 files in 1 partition become about 1.",
        "1 table: 1 would change",
    ]


def test_all_operations_are_shown_where_that_is_asked_for(only_looking, run):
    shown = run("maintain", "--dry-run", "--all").stdout

    assert "rewrite_manifests" in shown
    assert "remove_orphan_files" in shown


@pytest.fixture
def two_tables(lake, events, engine):
    by_spark = {"neve.rewrite_data_files.engine": "spark"}
    with events.transaction() as change:
        change.set_properties(by_spark)
    quiet = lake.create("db.quiet", SCHEMA, BY_KIND)
    lake.commit(quiet, Manifest([FileEntry("file:///q", ("view",), size_bytes=MB)]))
    return events, quiet


def test_a_turn_tells_what_changed_and_what_it_came_to(two_tables, run):
    result = run("maintain")
    header, changed, count, total, undo = result.stdout.splitlines()

    assert result.exit_code == 0
    assert header.split() == ["table", "files", "size", "time", "cost", "done"]
    assert changed.split()[0] == "lake.db.events"
    assert "6 → 2" in changed
    assert changed.split()[-1] == "compact"
    assert count == "2 tables: 1 changed, 1 with nothing to do"
    assert total.startswith("total: 6 → 2 files, ")
    assert undo.startswith("undo: neve rollback --turn ")


@pytest.mark.promise(8)
def test_a_turn_is_undone_by_its_id(two_tables, run, run_json):
    events, _ = two_tables
    document, _ = run_json("maintain")
    assert document["totals"]["tables_changed"] == 1
    turn = document["turn_id"][:8]

    undone, code = run_json("rollback", "--turn", turn)

    assert code == 0
    assert [item["table"] for item in undone["outcomes"]] == ["lake.db.events"]
    events.refresh()
    assert events.metadata.current_snapshot_id == 1
    again, code = run_json("rollback", "--turn", turn)
    assert (code, again["outcomes"]) == (1, [])


@pytest.mark.promise(8)
def test_a_turn_with_a_writer_after_it_is_not_undone(two_tables, run, run_json, lake):
    events, _ = two_tables
    document, _ = run_json("maintain")
    head = events.refresh().metadata.current_snapshot_id
    lake.commit(events, Manifest([FileEntry("file:///new", ("click",), size_bytes=MB)]))

    refused = run("rollback", "--turn", document["turn_id"])

    assert refused.exit_code == 1
    assert "1 commits of writers came after" in refused.stderr
    assert head in {s.snapshot_id for s in events.refresh().metadata.snapshots}


@pytest.mark.parametrize("words", [("--turn", "nonsense"), ("--turn", ""), ()])
def test_a_turn_that_nobody_knows_is_refused(two_tables, run, words):
    assert run("rollback", *words).exit_code == 1


def test_no_table_is_an_error(only_looking, run_json):
    document, code = run_json("maintain", "nothing.*", "--dry-run")

    assert code == 1
    assert "nothing.*" in document["error"]["message"]


@pytest.mark.parametrize(("verify", "level"), [((), "metadata"), (("--verify", "off"), "counts")])
def test_what_is_verified_can_be_said_for_all_tables(events, engine, run_json, verify, level):
    with events.transaction() as change:
        change.set_properties({"neve.rewrite_data_files.engine": "spark"})

    document, _ = run_json("maintain", "db.events", *verify)

    done = document["tables"][0]["operations"][0]
    assert (done["operation"], done["status"]) == ("rewrite_data_files", "succeeded")
    assert done["outcome"]["proof"]["level"] == level


def test_nothing_that_trino_writes_can_be_verified_before():
    with pytest.raises(InputError, match="Trino commits by itself"):
        MaintainRequest(verify=Verify.METADATA).check("trino")
