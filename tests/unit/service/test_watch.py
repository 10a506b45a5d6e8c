"""What the scheduler knows of tables: read once in a while, and kept where a catalog is away."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from neve.model.errors import CatalogError, TableUnreadable
from neve.model.found import Found
from neve.model.job import JobState, Trigger
from neve.model.policies import PolicyRule, TableMatch
from neve.model.table import TableRef
from neve.policy.documents import read_policies
from neve.service.policies import Policies
from neve.service.scheduler import ScheduledTable, Scheduler
from neve.service.watch import TableWatch, WatchSettings, read_policy
from neve.testing.facts import MB, TABLE, data_file


def table(name):
    return TableRef("lake", ("db",), name)


class Catalog:
    """Tables that are listed, and how often each was read."""

    def __init__(self, *names):
        self.tables = [table(name) for name in names]
        self.problems = {}
        self.reads = []
        self.errors = {}
        self.now = 0.0

    def find(self):
        return Found(self.tables, self.problems)

    def read(self, ref, known):
        self.reads.append(ref.name)
        if ref.name in self.errors:
            raise self.errors[ref.name]
        return ScheduledTable(ref, ("rewrite_data_files",), "0 * * * *")


@pytest.fixture
def catalog():
    return Catalog("a", "b")


@pytest.fixture
def watch(catalog):
    settings = WatchSettings(looks=2, parallel=1)
    return TableWatch(catalog.find, catalog.read, settings, monotonic=lambda: catalog.now)


def names(watch):
    return sorted(entry.table.name for entry in watch.entries())


def test_tables_are_read_once_and_again_after_a_while(watch, catalog):
    for _ in range(5):
        assert not watch.refresh()
        catalog.now += 100
    assert sorted(catalog.reads) == ["a", "b"]
    catalog.now += 100
    watch.refresh()

    assert sorted(catalog.reads) == ["a", "a", "b", "b"]


def test_many_tables_are_read_a_few_at_a_time(watch, catalog):
    catalog.tables = [table(str(number)) for number in range(5)]

    assert [watch.refresh() for _ in range(4)] == [True, True, False, False]
    assert names(watch) == ["0", "1", "2", "3", "4"]


def test_new_tables_are_found_and_dropped_ones_forgotten(watch, catalog):
    watch.refresh()
    catalog.tables = [table("b"), table("c")]
    watch.refresh()
    assert names(watch) == ["a", "b"]
    catalog.now += 60
    watch.refresh()

    assert names(watch) == ["b", "c"]


def test_tables_of_a_catalog_that_is_away_stay(watch, catalog):
    watch.refresh()
    catalog.tables, catalog.problems = [], {"lake": CatalogError("away")}
    catalog.now += 60
    watch.refresh()

    assert names(watch) == ["a", "b"]


def test_one_tables_problem_is_its_own(watch, catalog):
    catalog.errors = {"a": TableUnreadable("corrupt")}
    watch.refresh()
    assert (names(watch), list(watch.problems)) == (["b"], [table("a")])
    watch.refresh()
    assert catalog.reads.count("a") == 1
    catalog.errors = {}
    catalog.now += 60
    watch.refresh()

    assert (names(watch), watch.problems) == (["a", "b"], {})


def test_a_table_that_was_known_is_scheduled_while_it_cannot_be_read(watch, catalog):
    watch.refresh()
    catalog.errors = {"a": CatalogError("away")}
    catalog.now += 601
    watch.refresh()

    assert names(watch) == ["a", "b"]


def reader(services, **values):
    (rule,) = read_policies([{"name": "p", **values}])
    book = replace(services.policies.book, rules=(rule,))
    return read_policy(replace(services, policies=Policies(book)))


def test_a_policy_says_when_and_what(services):
    entry = reader(services, schedule="0 3 * * *")(TABLE, None)

    assert (entry.schedule, entry.look) == ("0 3 * * *", None)
    assert entry.operations[0] == "rewrite_data_files"
    assert "expire_snapshots" not in entry.operations


def test_a_policy_that_is_turned_off_leaves_nothing_to_do(services):
    assert reader(services, schedule="0 3 * * *", enabled=False)(TABLE, None).operations == ()


def test_snapshots_tell_of_commits_without_reading_files(services, lake, monkeypatch):
    read = reader(services, trigger={"commits": 2, "delete_files": 1})
    monkeypatch.setattr(lake, "outline", lambda ref: replace(lake.facts, data_files=()))
    monkeypatch.setattr(lake, "survey", None)
    lake.append(data_file("late", MB), **{"total-delete-files": "7"})
    entry = read(TABLE, None)

    assert (entry.triggers.commits, entry.triggers.delete_files) == (2, 1)
    assert (len(entry.look.commits), entry.look.delete_files) == (2, 7)


def test_files_are_read_where_somebody_has_committed(services, lake, monkeypatch):
    read = reader(
        services,
        trigger={"small_file_ratio": 0.5},
        operations={"rewrite_data_files": {"options": {"target-file-size-bytes": "100MB"}}},
    )
    first = read(TABLE, None)
    assert first.look.small_file_ratio == 0.75
    surveyed = []
    survey = lake.survey
    monkeypatch.setattr(lake, "outline", lambda ref: lake.facts)
    monkeypatch.setattr(lake, "survey", lambda *a, **k: surveyed.append(1) or survey(*a, **k))

    assert read(TABLE, first).look == first.look
    assert surveyed == []
    lake.append(data_file("late", MB))
    assert read(TABLE, first).look.small_file_ratio == 0.8
    assert surveyed == [1]


@pytest.mark.promise(43)
@pytest.mark.parametrize("ahead", [timedelta(minutes=100), timedelta(days=400)])
def test_a_writer_whose_clock_is_ahead_puts_off_no_turn(services, lake, store, clock, ahead):
    read = reader(services, schedule="0 * * * *", trigger={"commits": 1})
    snapshots = [*lake.facts.snapshots]
    snapshots[-1] = replace(snapshots[-1], committed_at=clock() + ahead)
    lake.facts = replace(lake.facts, snapshots=tuple(snapshots))
    known = [read(TABLE, None)]
    turns = Scheduler(store, lambda: known)
    store.record_run([TABLE])
    clock.advance(60)
    known[0] = read(TABLE, None)

    by_event = turns.tick(clock())
    end_all(store)
    again = []
    for _ in range(10):
        clock.advance(30)
        known[0] = read(TABLE, known[0])
        again += turns.tick(clock()).jobs
    clock.advance(3600)
    by_schedule = turns.tick(clock())

    assert {job.trigger for job in by_event.jobs} == {Trigger.EVENT}
    assert again == []
    assert {job.trigger for job in by_schedule.jobs} == {Trigger.SCHEDULE}


def end_all(store):
    while lease := store.claim_next(60):
        store.end(lease, JobState.SUCCEEDED, "")
        store.release(lease)


def test_rules_by_name_need_no_properties(services):
    rule = PolicyRule("p", TableMatch(tables=("*.events",)), values={"schedule": "0 3 * * *"})
    policies = Policies(replace(services.policies.book, rules=(rule,)))

    assert policies.by_name(TABLE).schedule == "0 3 * * *"
    assert policies.by_name(table("other")).schedule is None


def test_every_table_is_looked_at_where_policies_have_changed(catalog):
    version = [1]
    settings = WatchSettings(looks=2, parallel=1)
    watch = TableWatch(
        catalog.find,
        catalog.read,
        settings,
        monotonic=lambda: catalog.now,
        version=lambda: list(version),
    )
    watch.refresh()
    watch.refresh()
    assert sorted(catalog.reads) == ["a", "b"]
    version.append(2)
    watch.refresh()
    watch.refresh()

    assert sorted(catalog.reads) == ["a", "a", "b", "b"]
