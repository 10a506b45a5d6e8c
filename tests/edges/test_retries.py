from __future__ import annotations

import subprocess
import sys

import pytest

from neve.retries import RetryPolicy, retrying

POLICY = RetryPolicy(attempts=6, first_pause_seconds=1.0, max_pause_seconds=5.0)


def failing(*errors):
    waiting = list(errors)

    def attempt():
        attempt.calls += 1
        if waiting:
            raise waiting.pop(0)
        return "done"

    attempt.calls = 0
    return attempt


def is_timeout(error):
    return isinstance(error, TimeoutError)


def test_pauses_double_up_to_the_longest_and_only_lie_between_attempts():
    pauses = []

    answer = retrying(
        failing(*[TimeoutError()] * 5), on=is_timeout, policy=POLICY, sleep=pauses.append
    )

    assert answer == "done"
    expected = [1.0, 2.0, 4.0, 5.0, 5.0]
    assert len(pauses) == len(expected)
    for pause, wanted in zip(pauses, expected, strict=True):
        assert 0.5 * wanted <= pause <= 1.5 * wanted


def test_the_last_error_comes_through_and_nothing_is_waited_for_after_it():
    errors = [TimeoutError(str(number)) for number in range(9)]
    attempt, pauses = failing(*errors), []

    with pytest.raises(TimeoutError) as raised:
        retrying(attempt, on=is_timeout, policy=POLICY, sleep=pauses.append)

    assert raised.value is errors[POLICY.attempts - 1]
    assert (attempt.calls, len(pauses)) == (POLICY.attempts, POLICY.attempts - 1)


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_what_is_not_to_be_tried_again_comes_through_at_once(error):
    attempt, pauses = failing(error), []

    with pytest.raises(type(error)) as raised:
        retrying(attempt, on=is_timeout, policy=POLICY, sleep=pauses.append)

    assert raised.value is error
    assert (attempt.calls, pauses) == (1, [])


def test_a_policy_without_pauses_never_sleeps():
    pauses = []

    retrying(
        failing(TimeoutError()), on=is_timeout, policy=RetryPolicy(attempts=2), sleep=pauses.append
    )

    assert pauses == []


PROGRAM = """
import stamina
{before}
from neve.retries import RetryPolicy, retrying

errors = [TimeoutError("a secret")]

def attempt():
    if errors:
        raise errors.pop()

retrying(attempt, on=lambda e: True, policy=RetryPolicy(2), sleep=lambda _: None)
"""


@pytest.mark.parametrize(
    ("before", "printed"),
    [
        ("", ""),
        # A program's own hook is left in its place.
        (
            "stamina.instrumentation.set_on_retry_hooks([lambda details: print('again')])",
            "again\n",
        ),
    ],
)
def test_nothing_is_printed_where_a_document_is_expected(before, printed):
    """In a process of its own, because hooks are for all of it."""
    program = PROGRAM.format(before=before)

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == printed


def test_a_redis_server_that_is_away_is_told_by_the_error_alone():
    program = """
import sys, time
from neve.model.errors import StoreError
from neve.store.opening import open_store

store = open_store("redis://127.0.0.1:1/0")
store._server._patience_seconds = 0.3
try:
    store.jobs()
except StoreError as error:
    sys.exit(0 if "cannot be reached" in error.message else 3)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert (done.stdout, done.stderr) == ("", "")
