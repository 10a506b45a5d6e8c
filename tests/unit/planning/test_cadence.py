from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.planning.cadence import (
    MAX_PERIOD_SECONDS,
    MIN_COMMITS,
    MIN_COMMITS_FOR_GAP,
    fits_before_next,
    seconds_to_wait,
    usual_gap,
)
from neve.testing.facts import NOW

pytestmark = pytest.mark.promise(3)


def commits(period, number=10, ago=0.0):
    """Commits in a steady rhythm, the last of them so long ago."""
    last = NOW - timedelta(seconds=ago)
    return [last - timedelta(seconds=period * step) for step in range(number)]


@pytest.mark.parametrize(
    ("ago", "window", "wait"),
    [
        (0.0, 1.0, 0.0),
        (0.5, 1.0, 0.0),
        (1.5, 1.0, 0.5),
        (1.9, 1.0, 0.1),
        # It missed one commit, and the next is due in half a second.
        (3.5, 1.0, 0.5),
        # Work that takes longer than a gap is not helped by waiting.
        (1.5, 2.0, 0.0),
    ],
)
def test_work_is_put_between_two_commits(ago, window, wait):
    assert seconds_to_wait(commits(2.0, ago=ago), NOW, window_seconds=window) == pytest.approx(wait)


@pytest.mark.parametrize(
    "times",
    [
        [],
        commits(2.0, MIN_COMMITS - 1, ago=1.9),
        commits(MAX_PERIOD_SECONDS + 1, ago=MAX_PERIOD_SECONDS),
        # The writer has stopped.
        commits(2.0, ago=7.9),
        # The clocks of writer and reader differ.
        commits(2.0, ago=-5.0),
        # All at once.
        [NOW] * 8,
        # No rhythm.
        [NOW - timedelta(seconds=s) for s in (1.9, 2.0, 9.0, 9.1, 20.0, 20.1, 33.0)],
    ],
)
def test_without_a_rhythm_nobody_waits(times):
    assert seconds_to_wait(times, NOW, window_seconds=1.0) == 0


@given(
    times=st.lists(st.floats(-200, 200), max_size=30),
    window=st.floats(0, 100),
)
def test_nobody_waits_longer_than_a_period(times, window):
    moments = [NOW + timedelta(seconds=seconds) for seconds in times]

    wait = seconds_to_wait(moments, NOW, window_seconds=window)

    assert 0 <= wait <= MAX_PERIOD_SECONDS


@given(period=st.floats(0.5, 60), phase=st.floats(0, 0.999), share=st.floats(0.05, 0.9))
def test_the_work_crosses_no_commit(period, phase, share):
    window, ago = period * share, period * phase

    wait = seconds_to_wait(commits(period, ago=ago), NOW, window_seconds=window)

    begins, until_next = wait, period - ago
    slack = period * 1e-3
    assert begins + window <= until_next + slack or begins >= until_next - slack


@pytest.mark.parametrize(
    ("times", "gap"),
    [
        ([], None),
        (commits(2.0, MIN_COMMITS_FOR_GAP - 1), None),
        (commits(2.0, MIN_COMMITS_FOR_GAP), 2.0),
        (commits(2.0, ago=5.9), 2.0),
        # It has stopped.
        (commits(2.0, ago=6.0), None),
        (commits(MAX_PERIOD_SECONDS + 1), None),
        # The clock of the writer is ahead.
        (commits(2.0, ago=-1.0), 2.0),
        # No rhythm, and still a writer.
        ([*commits(2.0, 3), *commits(0.5, 1, ago=-0.5), *commits(1.0, 1, ago=9.0)], 2.0),
    ],
)
def test_a_writer_at_work_has_a_usual_gap(times, gap):
    assert usual_gap(times, NOW) == gap


@pytest.mark.parametrize(("ago", "fits"), [(-3.0, True), (0.0, True), (1.0, True), (1.1, False)])
def test_work_fits_before_the_next_commit_is_due(ago, fits):
    assert fits_before_next(commits(2.0, ago=ago), NOW, 2.0, window_seconds=1.0) is fits
