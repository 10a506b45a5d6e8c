"""A plan is applied as it was made, or refused."""

from __future__ import annotations

import hashlib
import json

import pytest

from neve.documents import canonical_text
from neve.model.errors import PlanFileError, PlanStale, TableBusy, TableNotFound
from neve.model.job import JobState
from neve.model.outcome import Status
from neve.service.plan_file import plan_document, read_plan_file, write_plan_file

pytestmark = pytest.mark.promise(7)


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
    lake.sql(f"DELETE FROM {table} WHERE id < 5")
    paths = lake.paths(table)

    with pytest.raises(PlanStale, match="is not a data file of the table now"):
        lake.app.maintenance.apply(plan)

    assert lake.paths(table) == paths
    assert lake.app.store.jobs(table) == []


def test_what_others_append_does_not_make_a_plan_stale(lake):
    table = lake.create()
    lake.fill(table)
    plan = lake.plan(table)
    lake.fill(table, start=30)
    lake.sql(
        f"CALL lake.system.expire_snapshots(table => '{table}', retain_last => 1, "
        "older_than => TIMESTAMP '2100-01-01 00:00:00')"
    )
    lake.sql(f"CALL lake.system.rewrite_manifests('{table}')")
    rows = lake.rows(table)

    outcome = lake.app.maintenance.apply(plan)

    assert outcome.reason == "3 files became 1."
    assert (len(lake.paths(table)), lake.rows(table)) == (4, rows)


def reseal(plan, path, tamper):
    """Edit the plan's file, and compute the digest as whoever can edit it could."""
    body = {key: value for key, value in plan_document([plan]).items() if key != "digest"}
    tamper(body["plans"][0])
    digest = hashlib.sha256(canonical_text(body).encode()).hexdigest()
    path.write_text(json.dumps({**body, "digest": f"sha256:{digest}"}))
    (read,) = read_plan_file(path)
    return read


def test_a_plan_that_was_sealed_again_does_not_renumber_rows(lake, tmp_path):
    table = lake.create(version=3)
    lake.fill(table)
    lineage = lake.lineage(table)

    def copy(plan):
        plan["min_row_group_bytes"] = 0
        for step in plan["steps"]:
            step["engine"] = "copy"

    plan = reseal(lake.plan(table), tmp_path / "plan.json", copy)

    with pytest.raises(PlanStale, match="format v3 keeps row ids"):
        lake.app.maintenance.apply(plan)

    assert lake.lineage(table) == lineage
    assert [ref.name for ref in lake.facts(table).refs] == ["main"]


def test_a_plan_that_was_sealed_again_does_not_read_foreign_files(lake, tmp_path):
    table, other = lake.create(), lake.create(name="other")
    lake.fill(table)
    lake.fill(other, start=100)
    (path, *_) = lake.paths(other)

    def steal(plan):
        plan["steps"][0]["groups"][0]["files"][0]["path"] = path

    plan = reseal(lake.plan(table), tmp_path / "plan.json", steal)

    with pytest.raises(PlanStale, match="is not a data file of the table now"):
        lake.app.maintenance.apply(plan)

    assert len(lake.facts(table).snapshots) == 1


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

    with pytest.raises(PlanStale, match="was dropped and made again"):
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


def test_a_job_that_was_left_behind_is_settled_by_the_snapshot_log(lake, monkeypatch):
    table = lake.create()
    lake.fill(table)
    with monkeypatch.context() as patch:
        patch.setattr(lake.app.store, "finish", lambda lease, outcome: None)
        landed = lake.compact(table).job_id
    assert not lake.app.store.job(landed).state.is_final
    lake.app.store.release(lake.app.store.claim("vanished", table, "rewrite_data_files", 60))
    lake.fill(table, start=30)

    lake.compact(table)

    states = {job.job_id: job.state for job in lake.app.store.jobs(table)}
    assert states[landed] is JobState.SUCCEEDED
    assert states["vanished"] is JobState.FAILED
