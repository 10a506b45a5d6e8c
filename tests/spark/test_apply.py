"""A plan is applied as it was made, or refused."""

from __future__ import annotations

import pytest

from neve.model.errors import PlanFileError, PlanStale, TableBusy, TableNotFound
from neve.model.job import JobState, Lease
from neve.model.outcome import Status
from neve.service.plan_file import read_plan_file, write_plan_file


def test_a_plan_goes_through_a_file(lake, tmp_path):
    table = lake.create(name="odd `name`.é", by="kind")
    lake.fill(table, "id", "if(k = 0, null, 'o''clock') kind")
    before, plan = lake.rows(table), lake.plan(table)
    write_plan_file(tmp_path / "plan.json", [plan])

    (read,) = read_plan_file(tmp_path / "plan.json")
    outcome = lake.app.maintenance.apply(read)

    assert read == plan
    assert outcome.reason == "6 files became 2."
    assert lake.head(table).summary["neve.plan"] == plan.plan_id
    assert lake.rows(table) == before


def test_a_plan_that_was_edited_is_refused(lake, tmp_path):
    table = lake.create()
    lake.fill(table)
    path = tmp_path / "plan.json"
    write_plan_file(path, [lake.plan(table)])
    path.write_text(path.read_text().replace('"min_input_files": 2', '"min_input_files": 3'))

    with pytest.raises(PlanFileError, match="was changed after the plan was made"):
        read_plan_file(path)


def test_a_stale_plan_is_refused(lake):
    table = lake.create()
    lake.fill(table)
    plan = lake.plan(table)
    lake.fill(table, start=30)
    paths = lake.paths(table)

    with pytest.raises(PlanStale, match="has moved on from snapshot"):
        lake.app.maintenance.apply(plan)

    assert lake.paths(table) == paths
    assert lake.app.store.jobs(table) == []


def test_a_plan_is_not_applied_twice(lake):
    table = lake.create()
    lake.fill(table)
    plan = lake.plan(table)
    lake.app.maintenance.apply(plan)

    with pytest.raises(PlanStale):
        lake.app.maintenance.apply(plan)


def test_a_plan_for_a_table_that_was_made_anew_is_refused(lake):
    table = lake.create()
    lake.fill(table)
    plan = lake.plan(table)
    lake.sql(f"DROP TABLE {table} PURGE")
    lake.create()
    lake.fill(table)

    with pytest.raises(PlanStale, match="was dropped and made anew"):
        lake.app.maintenance.apply(plan)

    assert len(lake.paths(table)) == 3


def test_a_plan_for_a_table_that_is_gone_is_refused(lake):
    table = lake.create()
    lake.fill(table)
    plan = lake.plan(table)
    lake.sql(f"DROP TABLE {table} PURGE")

    with pytest.raises(TableNotFound):
        lake.app.maintenance.apply(plan)


def test_a_table_that_another_job_holds_is_refused(lake):
    table = lake.create()
    lake.fill(table)
    plan = lake.plan(table)
    lease = lake.app.store.claim("another", table, "rewrite_data_files", 60)

    with pytest.raises(TableBusy):
        lake.app.maintenance.apply(plan)
    lake.app.store.release(lease)

    assert len(lake.paths(table)) == 3
    assert lake.app.maintenance.apply(plan).status is Status.SUCCEEDED


def test_a_job_that_was_left_behind_is_settled_by_the_snapshot_log(lake):
    table = lake.create()
    lake.fill(table)
    landed = lake.compact(table).job_id
    job = lake.app.store.job(landed)
    lease = Lease(landed, table, job.epoch, job.updated_at)
    lake.app.store.end(lease, JobState.UNKNOWN, "the answer was lost")
    lake.app.store.release(lake.app.store.claim("vanished", table, "rewrite_data_files", 60))
    lake.fill(table, start=30)

    lake.compact(table)

    states = {job.job_id: job.state for job in lake.app.store.jobs(table)}
    assert states[landed] is JobState.SUCCEEDED
    assert states["vanished"] is JobState.FAILED
