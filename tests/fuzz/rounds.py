"""Histories by the dozen: drawn by Hypothesis from a seed, made smaller where one fails."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from tests.fuzz.histories import History, histories
from tests.fuzz.twins import Verdict

#: How long a failing history is made smaller, unless somebody says otherwise.
SHRINK_SECONDS = 120.0
Examine = Callable[[History], Verdict]


class Found(AssertionError):
    """A history that fails, the smallest that was seen."""


@dataclass
class Tally:
    """What histories came to, so that a run that shows nothing is seen as one."""

    histories: int = 0
    engines: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict) -> None:
        self.histories += 1
        self.engines[verdict.engines] += 1
        if "went to Spark" in verdict.reason:
            self.reasons[verdict.reason.partition("went to Spark")[2]] += 1
        self.done += verdict.done
        self.notes.update(verdict.notes)


def run(
    examine: Examine,
    *,
    seed: int,
    examples: int,
    tally: Tally,
    shrink_seconds: float = SHRINK_SECONDS,
) -> None:
    """Examine so many histories; raises Found with the replay line of the smallest that fails."""
    failures: list[tuple[History, str]] = []
    first_failure: list[float] = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @hypothesis.given(histories())
    def attempt(history: History) -> None:
        if first_failure and time.monotonic() > first_failure[0] + shrink_seconds:
            return
        try:
            verdict = examine(history)
        except Exception:
            # Whatever is raised is what a fuzzer looks for.
            first_failure[:] = first_failure or [time.monotonic()]
            failures.append((history, traceback.format_exc()))
            raise
        if not failures:
            tally.add(verdict)

    try:
        attempt()
    except Exception as error:
        if not failures:
            raise
        history, told = min(failures, key=lambda failure: len(failure[0].to_json()))
        raise Found(f"{told}\n{replay_line(history)}") from error


def replay_line(history: History) -> str:
    return f"To see it again: python -m tests.fuzz.run --replay '{history.to_json()}'"
