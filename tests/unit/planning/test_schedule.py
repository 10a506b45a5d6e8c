from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import InputError
from neve.model.policies import Window
from neve.planning.schedule import (
    FIRST_SLOT,
    check_cron,
    in_window,
    interval_seconds,
    is_due,
    next_opening,
    next_run,
    next_slot,
)

pytestmark = pytest.mark.promise(29)

NIGHTLY = "0 3 * * *"
BERLIN = "Europe/Berlin"
NIGHT = Window(time(22), time(6), BERLIN)
FRIDAY_NIGHT = Window(time(22), time(6), BERLIN, frozenset({4}))


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_what_never_ran_is_due_and_without_a_schedule_nothing_is():
    now = at("2026-05-01 12:00")

    assert is_due(NIGHTLY, None, now)
    assert not is_due(None, now, now)
    assert not is_due(None, None, now)
    assert next_run(None, None, None, now) is None


@pytest.mark.parametrize(
    ("last_run", "now", "due"),
    [
        ("2026-05-01 03:00", "2026-05-02 02:59", False),
        ("2026-05-01 03:00", "2026-05-02 03:00", True),
        ("2026-05-01 02:59", "2026-05-01 03:01", True),
        ("2026-05-01 03:00", "2026-05-09 00:00", True),
    ],
)
def test_a_schedule_is_due_once_it_fired_since_the_last_run(last_run, now, due):
    assert is_due(NIGHTLY, at(last_run), at(now)) is due


def test_a_schedule_follows_the_clock_of_its_zone():
    winter, summer = at("2026-01-10 01:59"), at("2026-07-10 00:59")

    assert next_run(NIGHTLY, None, winter, winter, BERLIN) == at("2026-01-10 02:00")
    assert next_run(NIGHTLY, None, summer, summer, BERLIN) == at("2026-07-10 01:00")


def test_a_schedule_in_the_hour_that_is_left_out_fires_right_after_it():
    """On 29 March 2026, clocks in Berlin go from 02:00 to 03:00."""
    before = at("2026-03-28 20:00")

    assert next_run("30 2 * * *", None, before, before, BERLIN) == at("2026-03-29 01:00")


LORD_HOWE, SANTIAGO = "Australia/Lord_Howe", "America/Santiago"


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "fires"),
    [
        # What the clock shows: it skips the hour in spring, and shows it twice in autumn.
        ("*/30 2 * * *", BERLIN, "2026-03-29 00:00", ["2026-03-30 00:00", "2026-03-30 00:30"]),
        (
            "*/30 2 * * *",
            BERLIN,
            "2026-10-24 23:00",
            ["2026-10-25 00:00", "2026-10-25 00:30", "2026-10-25 01:00", "2026-10-25 01:30"],
        ),
        ("15 * * * *", BERLIN, "2026-03-29 00:00", ["2026-03-29 00:15", "2026-03-29 01:15"]),
        # Half an hour, and midnight itself.
        ("15 2 * * *", LORD_HOWE, "2026-10-03 14:00", ["2026-10-03 15:30", "2026-10-04 15:15"]),
        ("45 1 * * *", LORD_HOWE, "2026-04-04 13:30", ["2026-04-04 14:45", "2026-04-05 15:15"]),
        ("0 0 * * *", SANTIAGO, "2026-09-06 03:00", ["2026-09-06 04:00", "2026-09-07 03:00"]),
    ],
)
def test_clocks_that_are_changed_lose_no_turn_of_a_day(schedule, zone, after, fires):
    found, moment = [], at(after)
    for _ in fires:
        moment = next_slot(schedule, zone, moment)
        found.append(moment)

    assert found == [at(text) for text in fires]


def test_a_schedule_in_the_hour_that_comes_twice_fires_once():
    """On 25 October 2026, clocks in Berlin go from 03:00 to 02:00."""
    first = next_run("30 2 * * *", None, at("2026-10-24 20:00"), at("2026-10-24 20:00"), BERLIN)

    assert first == at("2026-10-25 00:30")
    assert not is_due("30 2 * * *", first, at("2026-10-25 02:00"), BERLIN)


@pytest.mark.parametrize(
    ("now", "is_open"),
    [
        ("2026-07-10 19:59", False),
        ("2026-07-10 20:00", True),
        ("2026-07-10 23:30", True),
        ("2026-07-11 03:59", True),
        ("2026-07-11 04:00", False),
        ("2026-07-11 21:00", False),
        ("2026-07-10 01:00", False),
    ],
)
def test_a_window_past_midnight_belongs_to_the_day_on_which_it_opened(now, is_open):
    assert in_window(FRIDAY_NIGHT, at(now)) is is_open


def test_without_a_window_work_may_always_begin():
    assert in_window(None, at("2026-05-01 12:00"))


def test_a_window_of_days_alone_is_open_all_day():
    weekend = Window(days=frozenset({5, 6}))

    assert in_window(weekend, at("2026-05-02 00:00"))
    assert not in_window(weekend, at("2026-05-01 23:59"))
    assert next_opening(weekend, at("2026-05-01 12:00")) == at("2026-05-02 00:00")


def test_a_window_moves_with_the_clocks():
    assert next_opening(NIGHT, at("2026-03-28 12:00")) == at("2026-03-28 21:00")
    assert next_opening(NIGHT, at("2026-03-29 12:00")) == at("2026-03-29 20:00")


def test_a_window_that_begins_in_the_hour_left_out_opens_when_that_ends():
    window = Window(time(2, 30), time(5), BERLIN)

    assert next_opening(window, at("2026-03-28 20:00")) == at("2026-03-29 01:00")


def test_a_window_within_the_hour_left_out_is_skipped_that_day():
    window = Window(time(2, 15), time(2, 45), BERLIN)

    assert next_opening(window, at("2026-03-28 20:00")) == at("2026-03-30 00:15")


def test_a_window_in_the_hour_that_comes_twice_is_open_twice():
    window = Window(time(2), time(3), BERLIN)

    assert [in_window(window, at(f"2026-10-25 0{hour}:30")) for hour in range(3)] == [
        True,
        True,
        False,
    ]


def test_what_fires_outside_of_the_window_waits_for_it():
    noon = "0 12 * * *"
    last = at("2026-07-09 23:00")

    assert next_run(noon, NIGHT, last, at("2026-07-10 00:00"), BERLIN) == at("2026-07-10 20:00")
    assert next_run(noon, NIGHT, last, at("2026-07-10 15:00"), BERLIN) == at("2026-07-10 20:00")
    assert next_run(noon, NIGHT, last, at("2026-07-10 21:00"), BERLIN) == at("2026-07-10 21:00")


@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)),
    st.integers(0, 1439),
    st.integers(1, 1439),
    st.frozensets(st.integers(0, 6)),
)
def test_a_window_opens_at_a_moment_that_is_in_it(moment, start, length, days):
    end = (start + length) % 1440
    window = Window(time(start // 60, start % 60), time(end // 60, end % 60), BERLIN, days)
    now = moment.replace(tzinfo=UTC)

    opening = next_opening(window, now)

    assert opening >= now
    assert in_window(window, opening)


@pytest.mark.parametrize(
    "text", ["0 3 * *", "0 25 * * *", "0 0 3 * * *", "@daily", "x * * * *", "0 0 31 2 *", ""]
)
def test_what_is_not_a_schedule_is_refused(text):
    with pytest.raises(InputError):
        check_cron(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("rate(6 hours)", 21600), ("rate(90m)", 5400), ("rate(1 day)", 86400), ("0 3 * * *", None)],
)
def test_intervals_are_told_from_cron(text, seconds):
    assert interval_seconds(text) == seconds
    check_cron(text)


@pytest.mark.parametrize(
    "text", ["rate(6)", "rate()", "rate(10s)", "rate(0h)", "rate(1h", "every 6h"]
)
def test_intervals_that_cannot_be_meant_are_refused(text):
    with pytest.raises(InputError) as caught:
        check_cron(text)
    assert caught.value.next_step


def test_an_interval_counts_from_the_last_turn():
    last = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert not is_due("rate(1h)", last, last + timedelta(minutes=59))
    assert is_due("rate(1h)", last, last + timedelta(minutes=60))
    assert next_run("rate(1h)", None, last, last + timedelta(minutes=10)) == last + timedelta(
        hours=1
    )


def test_a_slot_is_the_same_whenever_it_is_looked_for():
    """The first turn that was missed, not the last one: schedulers look at different moments."""
    last = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
    assert next_slot("0 * * * *", "UTC", last) == datetime(2026, 1, 1, 13, tzinfo=UTC)
    assert next_slot("0 * * * *", "UTC", None) == FIRST_SLOT
    assert next_slot(None, "UTC", last) is None
