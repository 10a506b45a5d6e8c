from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from neve.testing.facts import MB
from neve.testing.local_lake import FileEntry, Manifest

pytestmark = pytest.mark.promise(9)

SPARK = ("--engine", "spark")


def test_a_plan_with_work_exits_with_2(run_json, events, no_engine):
    document, code = run_json("plan", "db.events")

    assert code == 2
    (plan,) = document["plans"]
    assert (plan["table"], plan["snapshot_id"]) == ("lake.db.events", "1")
    assert [len(group["files"]) for step in plan["steps"] for group in step["groups"]] == [5]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 2),
        (("--target-size", "1KB"), 0),
        (("--where", "kind = 'view'"), 0),
        (("--where", "kind = 'click'"), 2),
        (("--where", "kind = 'nothing'"), 0),
        (("--max-cost", "0"), 0),
        (("--strategy", "delete_files"), 0),
        (("--strategy", "sort", "--sort-by", "id"), 2),
    ],
)
def test_the_exit_code_of_a_plan_tells_whether_there_is_work(run, only_looking, options, code):
    result = run("plan", "db.events", *options)

    assert (result.exit_code, result.stderr) == (code, "")
    assert result.stdout.startswith("lake.db.events  ")


def test_a_plan_of_several_tables(run_json, lake, events, no_engine):
    lake.create("db.empty", events.schema())

    document, code = run_json("plan", "db.*", "lake.db.events")

    assert (code, [plan["table"] for plan in document["plans"]]) == (
        2,
        ["lake.db.empty", "lake.db.events"],
    )


def test_a_plan_is_written_to_a_file_as_it_is_printed(run_json, events, no_engine):
    document, _ = run_json("plan", "db.events", "--out", "plan.json")

    assert json.loads(Path("plan.json").read_text()) == document


def test_a_dry_run_is_a_plan_that_exits_with_0(run_json, events, no_engine):
    document, code = run_json("compact", "db.events", "--dry-run")

    assert (code, len(document["plans"][0]["steps"])) == (0, 1)
    events.refresh()
    assert len(events.metadata.snapshots) == 1


def test_a_compaction_for_programs(run_json, events, engine, logged):
    outcome, code = run_json("compact", "db.events", *SPARK)

    assert (code, outcome["status"], outcome["reason"]) == (0, "succeeded", "5 files became 1.")
    assert (outcome["stats"]["files_before"], outcome["stats"]["files_after"]) == (6, 2)
    assert outcome["proof"]["rows_out"] == 500
    assert logged("job_id") == [outcome["job_id"]]


@pytest.mark.parametrize(
    ("verify", "level", "told"),
    [
        ((), "metadata", "Verified by row counts and metadata."),
        (("--verify", "metadata"), "metadata", "Verified by row counts and metadata."),
        (("--verify", "off"), "counts", "Verified by row counts."),
    ],
)
def test_what_was_verified_is_told_to_programs_and_in_the_log(
    run_json, events, engine, logged, verify, level, told
):
    outcome, code = run_json("compact", "db.events", *SPARK, *verify)

    assert (code, outcome["proof"]["level"]) == (0, level)
    assert logged("details") == [f"5 files became 1. {told}"]


def test_an_engine_that_cannot_read_back_commits_nothing_where_it_is_asked_for(
    run_json, events, engine
):
    outcome, code = run_json("compact", "db.events", *SPARK, "--verify", "full")

    assert (code, outcome["status"]) == (1, "failed")
    assert "were not read back" in outcome["reason"]
    events.refresh()
    assert [s.summary.operation.value for s in events.metadata.snapshots] == ["append"]


def test_a_plan_says_what_will_be_verified(run_json, events, no_engine):
    for said, kept in (((), None), (("--verify", "off"), "off")):
        document, _ = run_json("plan", "db.events", *said)
        assert document["plans"][0]["verify"] == kept


def test_a_compaction_without_work_is_logged_without_an_engine(
    run_json, lake, events, logged, no_engine
):
    lake.create("db.quiet", events.schema())

    outcome, code = run_json("compact", "db.quiet")

    assert (code, outcome["status"]) == (0, "nothing_to_do")
    assert logged("job_id") == [outcome["job_id"]]


def test_a_compaction_for_people_ends_with_how_to_undo_it(run, events, engine):
    result = run("compact", "db.events", *SPARK)

    lines = result.stdout.splitlines()
    assert (result.exit_code, lines[0]) == (0, "succeeded  lake.db.events  5 files became 1.")
    assert "proof (metadata) holds: 500 rows in, 0 deleted, 500 out" in lines
    assert "undo: neve rollback lake.db.events --job " in lines[-1]


def test_a_compaction_of_a_good_table_does_nothing(run_json, events, engine):
    run_json("compact", "db.events", *SPARK)

    outcome, code = run_json("compact", "db.events", *SPARK)

    assert (code, outcome["status"]) == (0, "nothing_to_do")


def test_a_plan_is_applied_as_it_was_made(run, run_json, events, engine):
    run("plan", "db.events", *SPARK, "--out", "plan.json")

    document, code = run_json("apply", "plan.json")

    assert (code, document["refused"]) == (0, [])
    assert [outcome["status"] for outcome in document["outcomes"]] == ["succeeded"]


def test_a_plan_is_applied_once(run, run_json, events, engine):
    run("plan", "db.events", *SPARK, "--out", "plan.json")
    run("apply", "plan.json")

    document, code = run_json("apply", "plan.json")

    assert (code, document["outcomes"]) == (1, [])
    assert [refusal["type"] for refusal in document["refused"]] == ["PlanStale"]


def test_a_stale_plan_does_not_stop_the_others(run, run_json, lake, events, engine):
    other = lake.create("db.other", events.schema())
    files = [FileEntry(f"file:///{i}", size_bytes=MB) for i in range(5)]
    lake.commit(other, Manifest(files))
    run("plan", "db.*", *SPARK, "--out", "plan.json")
    lake.commit(events, Manifest([FileEntry("file:///late", ("view",))]), keeps=False)

    document, code = run_json("apply", "plan.json")

    assert code == 1
    assert [(o["table"], o["status"]) for o in document["outcomes"]] == [
        ("lake.db.other", "succeeded")
    ]
    assert [refusal["table"] for refusal in document["refused"]] == ["lake.db.events"]


def test_a_job_is_undone(run_json, events, engine):
    done, _ = run_json("compact", "db.events", *SPARK)

    outcome, code = run_json("rollback", "db.events", "--job", done["job_id"])

    assert (code, outcome["snapshot_after"], outcome["stats"]["files_after"]) == (0, "1", 6)


def test_going_back_by_snapshot(run_json, lake, events, engine):
    lake.commit(events, Manifest([FileEntry("file:///late", ("view",))]))

    outcome, code = run_json("rollback", "db.events", "--to-snapshot", "1")

    assert (code, outcome["snapshot_after"]) == (0, "1")


def test_going_back_by_time(run_json, lake, events, engine):
    lake.commit(events, Manifest([FileEntry("file:///late", ("view",))]))
    first = datetime.fromtimestamp(events.metadata.snapshots[0].timestamp_ms / 1000, tz=UTC)

    outcome, code = run_json("rollback", "db.events", "--to-time", first.isoformat())

    assert (code, outcome["snapshot_after"]) == (0, "1")


def test_a_plan_that_is_written_names_its_file_and_the_next_command(run, events, tmp_path):
    result = run("plan", "db.events", "--out", "my plan.json")

    assert result.stdout.splitlines()[-1] == (
        "The plan is in my plan.json. Run exactly it: neve apply 'my plan.json'"
    )
    as_json = run("plan", "db.events", "--out", "plan.json", "-o", "json")
    assert "neve apply plan.json" in as_json.stderr


def test_a_plan_says_why_each_engine_runs(run, events):
    shown = run("plan", "db.events", "--engine", "spark").stdout

    assert "engine spark (1 group): asked for" in shown
