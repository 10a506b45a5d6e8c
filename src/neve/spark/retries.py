"""Commits that Iceberg itself does not try again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from neve.model.errors import CommitConflict
from neve.retries import RetryPolicy, Sleep, retrying

POLICY = RetryPolicy(attempts=5, first_pause_seconds=0.2)

Result = TypeVar("Result")


def despite_writers(attempt: Callable[[], Result], *, sleep: Sleep = time.sleep) -> Result:
    """Try again where a writer was faster; each attempt must look at the table again."""
    return retrying(
        attempt,
        on=lambda error: isinstance(error, CommitConflict),
        policy=POLICY,
        sleep=sleep,
    )
