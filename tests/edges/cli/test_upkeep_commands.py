from __future__ import annotations

import pytest

from neve.model.errors import ExecutionError
from neve.testing.facts import MB
from neve.testing.local_lake import EXISTING, FileEntry, Manifest


@pytest.fixture
def busy(lake, events):
    """Ten more commits, each with a manifest of its own."""
    for index in range(10):
        lake.commit(events, Manifest([FileEntry(f"file:///m{index}", ("view",), size_bytes=MB)]))
    return events


@pytest.fixture
def merging(lake, engine, busy):
    """An engine that lists every file in one manifest."""

    def execute(table, step, properties, reporter):
        loaded = lake.catalog.load_table((*table.namespace, table.name))
        files = [
            FileEntry(
                entry.data_file.file_path,
                (entry.data_file.partition[0],),
                entry.data_file.file_size_in_bytes,
                entry.data_file.record_count,
                status=EXISTING,
                snapshot_id=entry.snapshot_id,
                sequence_number=entry.sequence_number,
            )
            for manifest in loaded.current_snapshot().manifests(loaded.io)
            for entry in manifest.fetch_manifest_entry(loaded.io)
        ]
        manifest = Manifest(files)
        lake.commit(loaded, manifest, keeps=False, operation="replace", summary=properties)

    engine.execute = execute
    return engine


def test_manifests_are_merged_once(run_json, run, merging, logged):
    document, code = run_json("manifests", "db.events")
    again = run("manifests", "db.events")

    (outcome,) = document["outcomes"]
    assert (code, outcome["status"], outcome["reason"]) == (
        0,
        "succeeded",
        "11 manifests became 1.",
    )
    assert outcome["figures_before"]["manifests"] == 11
    assert outcome["figures_after"]["manifests"] == 1
    assert again.exit_code == 0
    assert "nothing_to_do" in again.stdout
    assert logged("operation") == ["rewrite_manifests"] * 2


def test_figures_and_the_way_back_are_shown(run, merging):
    result = run("manifests", "db.events")

    assert "11 manifests became 1." in result.stdout
    assert "undo: neve rollback lake.db.events --job " in result.stdout


def test_a_dry_run_of_manifests_starts_no_engine(run_json, run, busy, no_engine):
    document, code = run_json("manifests", "db.events", "--dry-run")

    (plan,) = document["plans"]
    assert (code, plan["operation"], plan["snapshot_id"]) == (0, "rewrite_manifests", "11")
    assert plan["steps"] == [{"spec_id": 0, "use_caching": False, "sort_by": []}]
    text = run("manifests", "db.events", "--dry-run").stdout
    assert text.startswith("lake.db.events  rewrite_manifests: would run. 11 manifests of ")


def test_deletes_are_two_operations(run_json, only_looking):
    document, code = run_json("deletes", "db.events", "--dry-run")

    assert code == 0
    assert [(plan["operation"], plan["steps"], plan["reason"]) for plan in document["plans"]] == [
        (
            "rewrite_position_delete_files",
            [],
            "No position delete file applies to the table.",
        ),
        ("remove_dangling_deletes", [], "The table has no delete files."),
    ]


def test_stats_are_of_the_columns_that_are_asked_for(run_json, only_looking):
    document, code = run_json("stats", "db.events", "--columns", "kind, id", "--dry-run")

    assert code == 0
    assert [step for plan in document["plans"] for step in plan["steps"]] == [
        {"snapshot_id": "1", "columns": ["id", "kind"]},
        {"snapshot_id": "1"},
    ]


def test_a_column_that_is_not_there_is_refused(run_json, only_looking):
    document, code = run_json("stats", "db.events", "--columns", "nope", "--dry-run")

    assert code == 1
    assert document["error"]["type"] == "InputError"
    assert document["error"]["next_step"] == "Its columns are id, kind."


def test_an_operation_that_fails_is_the_last(run_json, engine, events):
    def fail(*_):
        raise ExecutionError("The engine broke.")

    engine.execute = fail

    document, code = run_json("stats", "db.events")

    assert code == 1
    assert [(item["operation"], item["status"]) for item in document["outcomes"]] == [
        ("compute_table_stats", "failed")
    ]
