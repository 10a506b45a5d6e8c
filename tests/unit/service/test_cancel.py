"""A job that is to stop does so at its next boundary, and what it committed before stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neve.model.errors import TableBusy
from neve.model.events import JobEvent
from neve.model.job import JobState
from neve.model.outcome import Status
from neve.model.policy import Strategy
from neve.service.maintain import MaintainRequest, maintain_tables
from neve.service.operations.rollback import RollbackTarget
from neve.testing.facts import MB, TABLE, data_file
from neve.testing.operations import roll_back


def state(store):
    return store.jobs()[0].state


def tags(lake):
    return [ref.name for ref in lake.facts.refs if ref.kind == "tag"]


def test_a_job_that_is_cancelled_before_its_first_group_changes_nothing(
    services, plan, lake, store
):
    services.stop.ask()

    outcome = services.apply(plan())

    assert (outcome.status, state(store)) == (Status.CANCELLED, JobState.CANCELLED)
    assert outcome.reason.endswith("was cancelled. Nothing was changed.")
    assert (lake.facts.snapshot_id, tags(lake)) == (1, [])


def test_a_job_that_is_cancelled_in_the_store_stops_before_its_commit(services, plan, lake, store):
    lake.before_stage = lambda: store.cancel(store.jobs()[0].job_id)

    outcome = services.apply(plan())

    assert (outcome.status, lake.facts.snapshot_id) == (Status.CANCELLED, 1)
    assert store.uncommitted_files(TABLE), "what was written and not committed is for the sweeper"


def test_what_was_committed_before_stays_and_is_told(services, plan, lake, store):
    lake.after_commit = services.stop.ask

    outcome = services.apply(plan())

    # Nothing came after the commit that could have been stopped.
    assert (outcome.status, outcome.proof.holds, lake.facts.snapshot_id) == (
        Status.SUCCEEDED,
        True,
        2,
    )


def test_a_proof_that_fails_is_taken_back_although_the_job_is_to_stop(services, plan, lake, store):
    lake.lose_rows = 7
    lake.after_commit = services.stop.ask

    outcome = services.apply(plan(strategy=Strategy.SORT, sort_columns=("id",)))

    assert (outcome.status, lake.facts.snapshot_id) == (Status.FAILED, 1)
    assert "rolled back" in outcome.reason


def test_a_rollback_that_is_cancelled_changes_nothing(services, lake, store):
    lake.append(data_file("bad", MB))
    services.stop.ask()

    outcome = roll_back(services, TABLE, RollbackTarget(snapshot_id=1), undo_window_seconds=60)

    assert (outcome.status, lake.facts.snapshot_id) == (Status.CANCELLED, 2)


def test_a_table_is_free_after_a_job_was_cancelled(services, plan, store):
    services.stop.ask()
    services.apply(plan())

    assert not services.stop.has_jobs
    assert store.claim("next", TABLE, "rollback", 60).epoch == 2


def test_a_job_that_finds_its_table_busy_is_not_remembered(services, plan, store):
    store.claim("other", TABLE, "rollback", 60)

    with pytest.raises(TableBusy):
        services.apply(plan())
    assert [job.job_id for job in store.jobs()] == ["other"]


def test_tables_whose_turn_has_not_come_are_left_alone(services, lake, store):
    services.stop.ask()

    (report,) = maintain_tables(services, [TABLE], MaintainRequest())

    assert (report.skipped, store.jobs()) == ("The run was stopped before its turn.", [])
    assert lake.facts.snapshot_id == 1


def test_a_job_tells_its_phases(services, plan):
    events: list[JobEvent] = []

    outcome = replace(services, events=events.append).apply(plan())

    assert {event.job_id for event in events} == {outcome.job_id}
    assert list(dict.fromkeys(event.phase for event in events)) == [
        JobState.REWRITING,
        JobState.COMMITTING,
        JobState.VERIFYING,
        JobState.SUCCEEDED,
    ]
    assert events[-1].message == outcome.reason
