"""What a run leaves behind: its snapshot, its tag, its job, its line in the maintenance log."""

from __future__ import annotations

from datetime import timedelta

import pytest

from neve.documents import to_text
from neve.model.job import JobState
from neve.model.outcome import Proof, Status
from neve.model.policy import CompactionPolicy, Strategy

LOG_COLUMNS = [
    ("table_name", "string"),
    ("operation", "string"),
    ("status", "string"),
    ("details", "string"),
    ("snapshots_before", "int"),
    ("snapshots_after", "int"),
    ("files_before", "int"),
    ("files_after", "int"),
    ("dag_run_id", "string"),
    ("executed_at", "timestamp_ntz"),
    ("job_id", "string"),
]


def log_of(lake):
    return lake.session.table(f"lake.{lake.namespace}._maintenance_log")


@pytest.mark.conformance("properties of the snapshot")
@pytest.mark.parametrize(
    ("strategy", "by", "layout"),
    [
        (Strategy.AUTO, (), "binpack"),
        (Strategy.SORT, ("kind", "id"), "sort(kind,id)"),
        (Strategy.ZORDER, ("kind", "id"), "zorder(kind,id)"),
    ],
)
def test_the_snapshot_says_who_made_it_and_how(lake, strategy, by, layout):
    table = lake.create()
    lake.fill(table)
    plan = lake.plan(
        table, strategy, by=by, policy=CompactionPolicy(target_file_size_bytes=1_000_000)
    )

    outcome = lake.app.maintenance.apply(plan)

    head = lake.head(table)
    assert head.snapshot_id == outcome.snapshot_after
    assert head.parent_id == outcome.snapshot_before == plan.snapshot_id
    assert head.operation == "replace"
    expected = {
        "neve.job-id": outcome.job_id,
        "neve.plan": plan.plan_id,
        "neve.epoch": "1",
        "neve.target-file-size-bytes": "1000000",
        "neve.layout": layout,
    }
    assert {key: head.summary.get(key) for key in expected} == expected


def test_the_epoch_grows_with_each_run(lake):
    table = lake.create()
    for epoch in ("1", "2"):
        lake.fill(table)
        lake.compact(table)
        assert lake.head(table).summary["neve.epoch"] == epoch


def test_the_snapshot_before_is_tagged_for_the_undo_window(lake):
    table = lake.create()
    lake.fill(table)
    policy = CompactionPolicy(undo_window_seconds=9 * 86400)

    outcome = lake.compact(table, policy=policy)

    tag = f"neve-undo-{outcome.job_id}"
    [ref] = [ref for ref in lake.facts(table).refs if ref.name != "main"]
    assert (ref.name, ref.kind, ref.snapshot_id) == (tag, "tag", outcome.snapshot_before)
    # Iceberg counts from the snapshot's commit, which was a moment before.
    assert 0 <= ref.max_age_ms - 9 * 86400 * 1000 < 600_000
    assert lake.rows(table, at=f"VERSION AS OF '{tag}'") == lake.rows(table)


def test_the_job_and_its_outcome_are_remembered(lake):
    table = lake.create(by="kind")
    lake.fill(table)
    sizes = sum(file.size_bytes for file in lake.facts(table).data_files)

    outcome = lake.compact(table)

    (job,) = lake.app.store.jobs(table)
    assert (job.job_id, job.state, job.reason) == (
        outcome.job_id,
        JobState.SUCCEEDED,
        "6 files became 2.",
    )
    assert job.outcome == to_text(outcome)
    assert lake.app.store.outcomes() == [outcome]
    assert lake.app.store.unfinished(table) == []
    assert (outcome.bytes_rewritten, outcome.stats.bytes_before) == (sizes, sizes)
    assert outcome.stats.bytes_after == lake.facts(table).total_bytes


def test_the_proof_counts_rows_for_each_partition(lake):
    table = lake.create(by="kind")
    lake.fill(table)

    proof = lake.compact(table).proof

    assert isinstance(proof, Proof)
    assert (proof.rows_in, proof.rows_deleted, proof.rows_out) == (30, 0, 30)
    assert proof.deletes_counted_by == "metadata"
    assert sorted((p.partition, p.rows_in, p.rows_out) for p in proof.partitions) == [
        ("kind=k0", 15, 15),
        ("kind=k1", 15, 15),
    ]


def test_the_maintenance_log_has_its_columns(lake):
    table = lake.create()
    lake.fill(table)

    outcome = lake.compact(table)

    log = log_of(lake)
    assert log.dtypes == LOG_COLUMNS
    (row,) = log.collect()
    executed_at = outcome.finished_at.replace(tzinfo=None)
    assert tuple(row)[:9] == (
        *("events", "optimize", "completed", "3 files became 1. Verified by the values of rows."),
        *(1, 2, 3, 1),
        "",
    )
    assert row["job_id"] == outcome.job_id
    assert abs(row["executed_at"] - executed_at) < timedelta(milliseconds=1)


def test_every_run_adds_a_line_to_the_log(lake):
    table = lake.create()
    lake.fill(table)

    jobs = [lake.compact(table).job_id, lake.compact(table).job_id]

    rows = log_of(lake).orderBy("executed_at").collect()
    assert [row["job_id"] for row in rows] == jobs
    assert [row["status"] for row in rows] == ["completed", "completed"]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_log_that_spark_made_goes_on(lake, version):
    table = lake.create()
    # Without its column for jobs, as earlier versions made it.
    columns = ", ".join(f"{name} {kind}" for name, kind in LOG_COLUMNS[:-1])
    lake.create(columns, name="_maintenance_log", version=version)
    lake.fill(table)

    jobs = [lake.compact(table).job_id, lake.compact(table).job_id]

    log = log_of(lake)
    assert log.dtypes == LOG_COLUMNS
    assert [row["job_id"] for row in log.orderBy("executed_at").collect()] == jobs


def test_a_log_that_cannot_be_written_does_not_hide_the_outcome(lake):
    table = lake.create()
    lake.create("something INT", name="_maintenance_log")
    lake.fill(table)

    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED
    assert outcome.reason.startswith("3 files became 1. The maintenance log was not written: ")
    assert [job.state for job in lake.app.store.jobs(table)] == [JobState.SUCCEEDED]


def test_an_engine_that_fails_leaves_the_table_as_it_was(lake):
    table = lake.create("id BIGINT, `dotted.name` STRING")
    lake.fill(table, "id", "concat('k', k) AS `dotted.name`")
    before = lake.facts(table)

    outcome = lake.compact(table, Strategy.ZORDER, by=("id", "dotted.name"))

    after = lake.facts(table)
    assert outcome.status is Status.FAILED
    assert outcome.reason.startswith(f"Compacting table {table} failed: ")
    assert (after.snapshot_id, after.refs) == (before.snapshot_id, before.refs)
    assert after.data_files == before.data_files
    assert [job.state for job in lake.app.store.jobs(table)] == [JobState.FAILED]
    assert [row["status"] for row in log_of(lake).collect()] == ["failed"]
