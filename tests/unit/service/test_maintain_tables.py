from __future__ import annotations

from dataclasses import replace

import pytest

from neve.model.errors import ExecutionError, TableUnreadable
from neve.model.maintenance import ReportStatus
from neve.model.operation import Operation
from neve.model.policies import PolicyBook, PolicyRule
from neve.service.maintain import MaintainRequest, maintain_tables
from neve.service.maintenance import Maintenance
from neve.service.policies import Policies
from neve.testing.facts import TABLE
from neve.testing.lakes import MemoryLakes
from neve.testing.services import ManualClock, memory_services
from neve.testing.store import MemoryStore

pytestmark = pytest.mark.promise(9, 25, 28, 29, 30)

ORDER = [
    "rewrite_data_files",
    "rewrite_position_delete_files",
    "remove_dangling_deletes",
    "rewrite_manifests",
    "compute_table_stats",
    "compute_partition_stats",
    "expire_snapshots",
    "remove_orphan_files",
]


@pytest.fixture
def lakes() -> MemoryLakes:
    return MemoryLakes("a", "b", "c")


@pytest.fixture
def services(lakes: MemoryLakes, store: MemoryStore, clock: ManualClock) -> Maintenance:
    return memory_services(lakes, store, clock)


def maintain(services, lakes, *rules, **options):
    services = replace(services, policies=Policies(PolicyBook(tuple(rules))))
    request = MaintainRequest(
        parallel_tables=2,
        **options,
    )
    tables = [TABLE.sibling(name) for name in lakes.members]
    return maintain_tables(services, tables, request)


def statuses(report):
    return {str(r.operation): r.status for r in report.operations}


def test_every_operation_is_reported_in_its_order(services, lakes):
    report, *_ = maintain(services, lakes)

    assert [str(r.operation) for r in report.operations] == ORDER
    assert statuses(report)["rewrite_data_files"] is ReportStatus.SUCCEEDED
    assert len(lakes.members["a"].facts.data_files) == 1


def test_what_deletes_for_good_waits_until_somebody_asks(services, lakes):
    report, *_ = maintain(services, lakes)

    skipped = [r for r in report.operations if r.status is ReportStatus.SKIPPED]
    assert {str(r.operation) for r in skipped} >= {"expire_snapshots", "remove_orphan_files"}
    assert "--apply" in skipped[-1].reason


def test_a_policy_turns_operations_off(services, lakes):
    rule = PolicyRule("quiet", values={"rewrite_data_files.enabled": False})
    report, *_ = maintain(services, lakes, rule)

    assert statuses(report)["rewrite_data_files"] is ReportStatus.SKIPPED
    assert "'quiet'" in report.operations[0].reason
    assert len(lakes.members["a"].facts.data_files) == 3


def test_one_operation_that_fails_is_logged_and_the_next_runs(services, lakes, monkeypatch):
    def fail(*_args, **_named):
        raise ExecutionError("the disk is full")

    monkeypatch.setattr(lakes.members["b"], "run_tasks", fail)
    _, failing, other = maintain(services, lakes)

    assert statuses(failing)["rewrite_data_files"] is ReportStatus.FAILED
    assert statuses(failing)["rewrite_manifests"] is ReportStatus.NOTHING_TO_DO
    assert not failing.is_good
    assert other.is_good
    logged = [(o.table.name, o.operation, str(o.status)) for o in lakes.logged[0]]
    assert ("b", "rewrite_data_files", "failed") in logged


def test_an_operation_that_is_refused_is_logged_too(services, lakes, store):
    store.claim("other", TABLE.sibling("b"), "rewrite_data_files", 60)
    _, busy, _ = maintain(services, lakes)

    assert statuses(busy)["rewrite_data_files"] is ReportStatus.FAILED
    assert ("b", "failed") in [(o.table.name, str(o.status)) for o in lakes.logged[0]]


def test_one_table_that_cannot_be_read_leaves_the_others_alone(services, lakes, monkeypatch):
    def fail(*_args, **_named):
        raise TableUnreadable("half a manifest", next_step="neve doctor")

    monkeypatch.setattr(lakes.members["b"], "survey", fail)
    first, broken, last = maintain(services, lakes)

    assert (broken.problem, broken.next_step) == ("half a manifest", "neve doctor")
    assert first.is_good
    assert last.is_good
    assert [o.table.name for o in lakes.logged[0] if o.operation == ORDER[0]] == ["a", "c"]


def test_a_defect_that_one_table_shows_leaves_the_others_alone(services, lakes, monkeypatch):
    def fail(*_args, **_named):
        raise ZeroDivisionError("nobody thought of this")

    monkeypatch.setattr(lakes.members["b"], "survey", fail)
    first, broken, _ = maintain(services, lakes)

    assert "ZeroDivisionError: nobody thought of this" in broken.problem
    assert first.is_good


def test_one_log_is_written_for_all_tables_of_a_namespace(services, lakes):
    maintain(services, lakes)

    (rows,) = lakes.logged
    assert {(o.table.name, o.operation) for o in rows} == {
        (name, operation) for name in "abc" for operation in ORDER[:4]
    }


def test_a_log_that_cannot_be_written_is_said(services, lakes, monkeypatch):
    def fail(_outcomes):
        raise ExecutionError("no such namespace")

    monkeypatch.setattr(lakes, "write", fail)
    report, *_ = maintain(services, lakes)

    assert report.log_problem == "no such namespace"
    assert report.is_good


def test_a_second_run_changes_nothing(services, lakes):
    maintain(services, lakes)
    before = [lake.facts for lake in lakes.members.values()]
    reports = maintain(services, lakes)

    assert [lake.facts for lake in lakes.members.values()] == before
    assert {r.status for report in reports for r in report.operations} == {
        ReportStatus.NOTHING_TO_DO,
        ReportStatus.SKIPPED,
    }


def test_a_dry_run_changes_nothing_and_logs_nothing(services, lakes):
    before = [lake.facts for lake in lakes.members.values()]
    report, *_ = maintain(services, lakes, dry_run=True)

    assert statuses(report)["rewrite_data_files"] is ReportStatus.PLANNED
    assert [lake.facts for lake in lakes.members.values()] == before
    assert lakes.logged == []


def test_a_table_may_be_turned_off(services, lakes):
    lake = lakes.members["b"]
    lake.facts = replace(lake.facts, properties={"neve.enabled": "false"})
    _, off, _ = maintain(services, lakes)

    assert off.operations == ()
    assert "table property neve.enabled" in off.skipped


def test_a_typing_error_in_a_tables_property_is_its_own_trouble(services, lakes):
    lake = lakes.members["b"]
    lake.facts = replace(lake.facts, properties={"neve.expire_snapshot.older_than": "7d"})
    first, wrong, _ = maintain(services, lakes)

    assert "neve.expire_snapshot.older_than" in wrong.problem
    assert "expire_snapshots" in wrong.next_step
    assert first.is_good


def test_a_closed_window_is_respected_unless_told_otherwise(services, lakes):
    values = {"window.start": "01:00", "window.end": "02:00"}
    book_rule = PolicyRule("night", values=_read(values))

    closed, *_ = maintain(services, lakes, book_rule)
    assert "window" in closed.skipped
    opened, *_ = maintain(services, lakes, book_rule, any_time=True)
    assert opened.skipped is None


def test_only_tables_that_are_due_run_where_that_is_asked(services, lakes, clock):
    rule = PolicyRule("daily", values=_read({"schedule": "0 3 * * *"}))

    first, *_ = maintain(services, lakes, rule, only_due=True)
    assert first.skipped is None
    clock.advance(60)
    again, *_ = maintain(services, lakes, rule, only_due=True)
    assert again.skipped == "Its schedule has not come yet."
    clock.advance(86400)
    next_day, *_ = maintain(services, lakes, rule, only_due=True)
    assert next_day.skipped is None


def test_every_turn_is_remembered_also_without_work_and_invents_no_job(
    services, lakes, store, clock
):
    for _ in range(2):
        clock.advance(3600)
        maintain(services, lakes)

    table = TABLE.sibling("a")
    assert [job.operation for job in store.jobs(table)] == ["rewrite_data_files"]
    assert store.schedule_state(table).last_run == clock()


def test_without_a_schedule_nothing_is_due(services, lakes):
    report, *_ = maintain(services, lakes, only_due=True)

    assert report.skipped == "It has no schedule."


def test_the_time_budget_ends_a_tables_turn(services, lakes):
    report, *_ = maintain(services, lakes, PolicyRule("short", values={"budget.max_seconds": 0}))

    assert {r.status for r in report.operations} == {ReportStatus.SKIPPED}


def _read(values):
    from neve.policy.keys import read_value

    return {key: read_value(key, value) for key, value in values.items()}


def test_operations_are_the_ones_that_exist():
    assert [str(operation) for operation in Operation] == ORDER
