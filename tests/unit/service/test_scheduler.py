"""Turns of tables: each becomes its jobs once, whoever looks, however often, and whatever dies."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neve.model.job import ENGINE, TRINO, JobState, Trigger
from neve.model.policies import Triggers, Window
from neve.model.table import TableRef
from neve.planning.triggers import TableLook
from neve.service.scheduler import ScheduledTable, Scheduler, submit_turn
from neve.testing.services import ManualClock
from neve.testing.store import MemoryStore

pytestmark = pytest.mark.promise(43)

T = TableRef("lake", ("db",), "t")
HOURLY = ScheduledTable(T, ("rewrite_data_files", "rewrite_manifests"), "0 * * * *")
OTHER = TableRef("lake", ("db",), "other")
START = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def clock():
    return ManualClock(START)


@pytest.fixture
def store(clock):
    return MemoryStore(clock)


def scheduler(store, *entries, **changes):
    return Scheduler(store, lambda: entries, **changes)


def end_all(store):
    while lease := store.claim_next(60):
        store.end(lease, JobState.SUCCEEDED, "")
        store.release(lease)


def operations(tick):
    return [job.operation for job in tick.jobs]


def test_a_table_that_never_had_a_turn_has_one_at_once(store, clock):
    tick = scheduler(store, HOURLY).tick(clock())

    assert operations(tick) == ["rewrite_data_files", "rewrite_manifests"]
    assert {job.trigger for job in tick.jobs} == {Trigger.SCHEDULE}
    assert {job.requested_by for job in tick.jobs} == {"scheduler"}
    assert store.schedule_state(T).last_run == START


def test_jobs_of_a_turn_are_claimed_in_the_order_of_operations(store, clock):
    scheduler(store, HOURLY).tick(clock())
    first = store.claim_next(60)

    assert store.job(first.job_id).operation == "rewrite_data_files"
    # The table is held: its second job waits for the first.
    assert store.claim_next(60) is None


def test_turns_come_with_the_schedule_and_missed_ones_once(store, clock):
    turns = scheduler(store, HOURLY)
    turns.tick(clock())
    end_all(store)
    clock.advance(29 * 60)
    assert turns.tick(clock()).due == 0
    clock.advance(60)
    assert len(turns.tick(clock()).jobs) == 2
    end_all(store)
    clock.advance(7 * 3600)

    assert len(turns.tick(clock()).jobs) == 2
    end_all(store)
    assert turns.tick(clock()).due == 0


def test_what_a_clock_ahead_of_the_store_takes_for_missed_is_had_once(store, clock):
    store.record_run([T])
    ahead, punctual = scheduler(store, HOURLY), scheduler(store, HOURLY)

    def turns_in_a_minute(hours):
        found = 0
        for second in range(60):
            now = clock() + timedelta(seconds=second)
            found += len(ahead.tick(now + hours * HOUR).jobs) + len(punctual.tick(now).jobs)
            end_all(store)
        return found

    assert turns_in_a_minute(7) == 2
    clock.advance(3600)
    assert turns_in_a_minute(7) == 2


def test_a_table_has_one_turn_at_a_time(store, clock):
    turns = scheduler(store, HOURLY)
    turns.tick(clock())
    clock.advance(3600)
    tick = turns.tick(clock())
    assert (tick.due, tick.active, tick.jobs) == (1, 1, ())

    end_all(store)
    assert len(turns.tick(clock()).jobs) == 2


@pytest.mark.parametrize("submitted_first", [True, False])
def test_two_schedulers_submit_a_turn_once(store, clock, submitted_first):
    """Also where the second has seen the table before the first has remembered its turn."""
    store.record_run([T])
    clock.advance(3600)
    first, second = scheduler(store, HOURLY), scheduler(store, HOURLY)
    seen = store.schedule_states()
    a = first.tick(clock())
    end_all(store)
    if submitted_first:
        store.schedule_states, states = (lambda: seen), store.schedule_states
    b = second.tick(clock() + timedelta(minutes=20))
    if submitted_first:
        store.schedule_states = states

    assert len(a.jobs) == 2
    assert {job.job_id for job in b.jobs} <= {job.job_id for job in a.jobs}
    assert len(store.jobs()) == 2


def test_a_scheduler_that_dies_before_it_remembers_a_turn_loses_none_and_repeats_none(
    store, clock, monkeypatch
):
    class Killed(BaseException):
        pass

    def die(turns):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(store, "record_turns", die)
        with pytest.raises(Killed):
            scheduler(store, HOURLY).tick(clock())
    assert len(store.jobs()) == 2
    end_all(store)
    clock.advance(60)

    scheduler(store, HOURLY).tick(clock())

    assert len(store.jobs()) == 2
    assert store.schedule_state(T).last_run == clock()


def test_a_turn_of_which_some_jobs_were_submitted_is_completed(store, clock):
    one = scheduler(store, ScheduledTable(T, HOURLY.operations[:1], HOURLY.schedule))
    submit = store.record_turns
    store.record_turns = lambda turns: set()
    one.tick(clock())
    end_all(store)
    store.record_turns = submit

    scheduler(store, HOURLY).tick(clock())

    assert sorted(job.operation for job in store.jobs()) == sorted(HOURLY.operations)


def test_paused_turns_are_left_out_and_caught_up(store, clock):
    turns = scheduler(store, HOURLY)
    store.pause(T)
    assert turns.tick(clock()).due == 0
    store.resume(T)

    assert len(turns.tick(clock()).jobs) == 2


def test_a_turn_waits_for_its_window(store, clock):
    window = Window(time(20), time(22), "Europe/Zurich")
    turns = scheduler(store, ScheduledTable(T, ("rewrite_data_files",), "0 3 * * *", window=window))
    assert turns.tick(clock()).due == 0
    # Eight in the evening there is seven in the evening of UTC.
    assert turns.tick(datetime(2026, 3, 1, 18, 59, tzinfo=UTC)).due == 0

    assert turns.tick(datetime(2026, 3, 1, 19, 0, tzinfo=UTC)).due == 1


def test_turns_of_an_interval_come_after_the_last_one(store, clock):
    turns = scheduler(store, ScheduledTable(T, ("rewrite_data_files",), "rate(90 minutes)"))
    turns.tick(clock())
    end_all(store)
    clock.advance(89 * 60)
    assert turns.tick(clock()).due == 0
    clock.advance(60)

    assert turns.tick(clock()).due == 1


@pytest.mark.parametrize(
    ("last", "fires"),
    [
        # Clocks go forward: half past two does not exist, and counts as three.
        ("2026-03-28T12:00", "2026-03-29T01:00"),
        # Clocks go back: half past two comes twice, and counts once.
        ("2026-10-24T12:00", "2026-10-25T00:30"),
        ("2026-10-25T00:31", "2026-10-26T01:30"),
    ],
)
def test_schedules_follow_the_clock_of_their_zone(store, clock, last, fires):
    entry = ScheduledTable(T, ("rewrite_data_files",), "30 2 * * *", "Europe/Zurich")
    clock.now = datetime.fromisoformat(last).replace(tzinfo=UTC)
    store.record_run([T])
    fires = datetime.fromisoformat(fires).replace(tzinfo=UTC)

    assert scheduler(store, entry).tick(fires - timedelta(seconds=1)).due == 0
    assert scheduler(store, entry).tick(fires).due == 1


def test_tables_without_schedule_or_operations_have_no_turns(store, clock):
    entries = (ScheduledTable(T, ("rewrite_data_files",)), ScheduledTable(T, (), "0 * * * *"))

    assert scheduler(store, *entries).tick(clock()).due == 0
    assert store.jobs() == []


def test_one_tick_submits_a_bounded_number_of_jobs_and_the_next_goes_on(store, clock):
    entries = [
        ScheduledTable(TableRef("lake", ("db",), f"t{i}"), HOURLY.operations, "0 * * * *")
        for i in range(300)
    ]
    turns = scheduler(store, *entries, max_jobs=250, monotonic=lambda: 0.0)
    counts = [len(turns.tick(clock()).jobs) for _ in range(4)]

    assert counts == [250, 250, 100, 0]
    assert len(store.jobs(limit=1000)) == 600


def test_a_tick_on_a_slow_store_goes_on_with_the_next(store, clock):
    entries = [
        ScheduledTable(TableRef("lake", ("db",), f"t{i}"), HOURLY.operations, "0 * * * *")
        for i in range(60)
    ]
    seconds = iter(range(100))
    turns = scheduler(store, *entries, monotonic=lambda: next(seconds))
    counts = [len(turns.tick(clock()).jobs) for _ in range(4)]

    assert counts == [50, 50, 20, 0]


def test_jobs_of_another_engine_say_so(store, clock):
    entry = ScheduledTable(T, ("rewrite_data_files",), "0 * * * *", arguments={ENGINE: TRINO})
    (job,) = scheduler(store, entry).tick(clock()).jobs

    assert job.request.is_for_trino


# What writers did


def look(*minutes_ago, **changes):
    commits = tuple(START - timedelta(minutes=ago) for ago in minutes_ago)
    return TableLook(len(minutes_ago) or None, commits, **changes)


EVENTS = [
    (Triggers(commits=3), look(1, 2, 3), True),
    (Triggers(commits=3), look(1, 2), False),
    (Triggers(commits=3), look(1, 2, 90), False),
    (Triggers(delete_files=5), look(1, delete_files=5), True),
    (Triggers(delete_files=5), look(1, delete_files=4), False),
    (Triggers(small_file_ratio=0.5), look(1, small_file_ratio=0.6), True),
    (Triggers(small_file_ratio=0.5), look(1, small_file_ratio=0.5), False),
    (Triggers(small_file_ratio=0.5), look(1), False),
    # Nobody has committed since the last turn, which has seen all of it.
    (Triggers(small_file_ratio=0.5), look(90, small_file_ratio=0.9), False),
    (Triggers(delete_files=1), look(90, delete_files=9), False),
    (Triggers(commits=1), look(), False),
    (Triggers(), look(1, 2, 3, delete_files=9, small_file_ratio=1.0), False),
]


@pytest.mark.parametrize(("triggers", "seen", "is_due"), EVENTS)
def test_a_turn_comes_by_what_writers_did(store, clock, triggers, seen, is_due):
    clock.now = START - HOUR
    store.record_run([T])
    clock.now = START
    entry = ScheduledTable(T, ("rewrite_data_files",), triggers=triggers, look=seen)
    tick = scheduler(store, entry).tick(clock())

    assert (tick.due == 1) is is_due
    assert {job.trigger for job in tick.jobs} <= {Trigger.EVENT}


def test_what_a_commit_has_triggered_it_does_not_trigger_again(store, clock):
    entry = ScheduledTable(T, ("rewrite_data_files",), triggers=Triggers(commits=1), look=look(1))
    turns = scheduler(store, entry)
    assert len(turns.tick(clock()).jobs) == 1
    end_all(store)
    clock.advance(60)

    assert turns.tick(clock()).jobs == ()
    assert len(store.jobs()) == 1


def test_somebody_may_ask_for_a_turn(store, clock):
    store.record_run([T])
    clock.advance(60)
    jobs = submit_turn(store, HOURLY, clock())

    assert [job.operation for job in jobs] == list(HOURLY.operations)
    assert store.schedule_state(T).last_run == clock()


def turns_of(jobs):
    return {job.turn_id for job in jobs}


def test_the_jobs_of_a_turn_have_its_id_and_those_of_the_next_another(store, clock):
    turns = scheduler(store, HOURLY, ScheduledTable(OTHER, ("rewrite_manifests",), "0 * * * *"))
    first = turns.tick(clock()).jobs
    ids = {table: turns_of(job for job in first if job.table == table) for table in (T, OTHER)}
    end_all(store)
    clock.advance(3600)
    second = turns.tick(clock()).jobs

    assert all(len(of_table) == 1 for of_table in ids.values())
    assert None not in turns_of(first)
    assert ids[T] != ids[OTHER]
    assert turns_of(first) & turns_of(second) == set()


def test_a_turn_has_the_same_id_whichever_scheduler_finds_it(clock):
    ticks = [scheduler(MemoryStore(clock), HOURLY).tick(clock()) for _ in range(2)]

    assert turns_of(ticks[0].jobs) == turns_of(ticks[1].jobs)


def test_turns_by_a_commit_or_that_somebody_asks_for_have_an_id_too(store, clock):
    entry = ScheduledTable(T, ("rewrite_data_files",), triggers=Triggers(commits=1), look=look(1))
    by_event = scheduler(store, entry).tick(clock()).jobs
    asked = submit_turn(store, HOURLY, clock())

    assert len(turns_of([*by_event, *asked]) - {None}) == 2


def test_what_trino_runs_cannot_be_undone_and_has_no_id(store, clock):
    by_trino = ScheduledTable(T, ("optimize",), "0 * * * *", arguments={ENGINE: TRINO})

    assert turns_of(scheduler(store, by_trino).tick(clock()).jobs) == {None}


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(1, 7200), st.booleans(), st.booleans()),
        max_size=12,
    )
)
def test_no_slot_is_had_twice_whatever_happens(steps):
    """Two schedulers, the second with a clock of its own, jobs that end or not, and crashes."""
    clock = ManualClock(START)
    store = MemoryStore(clock)
    remember = store.record_turns
    for who, seconds, ends, dies in steps:
        clock.advance(seconds)
        store.record_turns = (lambda turns: set()) if dies else remember
        scheduler(store, HOURLY).tick(clock() + timedelta(seconds=7 * who))
        if ends:
            end_all(store)
    per_operation = [j for j in store.jobs() if j.operation == "rewrite_manifests"]
    elapsed = (clock() - START).total_seconds() / 3600

    assert len(per_operation) <= elapsed + 3
    assert len(store.jobs()) == 2 * len(per_operation)
