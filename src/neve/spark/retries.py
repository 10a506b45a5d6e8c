"""Commits that Iceberg itself does not try again."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from neve.model.errors import CommitConflict

ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.2

Result = TypeVar("Result")


def despite_writers(
    attempt: Callable[[], Result], *, sleep: Callable[[float], None] = time.sleep
) -> Result:
    """Try again where a writer was faster; each attempt must look at the table again."""
    for number in range(ATTEMPTS - 1):
        try:
            return attempt()
        except CommitConflict:
            sleep(FIRST_PAUSE_SECONDS * 2**number)
    return attempt()
