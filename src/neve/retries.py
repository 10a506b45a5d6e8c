"""Trying again, in one way for everybody: stamina decides, the caller's `sleep` waits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

Result = TypeVar("Result")
Sleep = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and how long between; pauses double up to the longest one."""

    attempts: int
    first_pause_seconds: float = 0.0
    max_pause_seconds: float = 5.0


def retrying(
    attempt: Callable[[], Result],
    *,
    on: Callable[[Exception], bool],
    policy: RetryPolicy,
    sleep: Sleep = time.sleep,
) -> Result:
    """Attempt it until it succeeds, fails in a way that is not to be tried again, or too often.

    The last error comes through as it is. Every attempt must look at the world again.
    """
    # Most programs never try again, and starting has to be quick.
    import stamina

    def is_again(error: Exception) -> float | bool:
        if not on(error):
            return False
        keep_output_clean()
        # No seconds, because the waiting is done below.
        return 0.0

    pause = 0.0
    for turn in stamina.retry_context(
        on=is_again,
        attempts=policy.attempts,
        timeout=None,
        wait_initial=policy.first_pause_seconds,
        wait_max=policy.max_pause_seconds,
    ):
        if pause > 0:
            # Those who were refused together must not come back together.
            sleep(pause * random.uniform(0.5, 1.5))
        pause = turn.next_wait
        with turn:
            return attempt()
    raise AssertionError("The last attempt returns or raises.")


@cache
def keep_output_clean() -> None:
    """stamina tells of every pause, which is printed where nobody has configured it."""
    import structlog
    from stamina.instrumentation import get_on_retry_hooks, set_on_retry_hooks

    if not structlog.is_configured():
        is_its_own = "stamina.instrumentation"
        hooks = get_on_retry_hooks()
        set_on_retry_hooks([h for h in hooks if not h.__module__.startswith(is_its_own)])
