"""A skipped test shows nothing: in CI it fails, unless the test itself says why it may be skipped.

`@pytest.mark.may_skip("This Java has no archive")` names how such a reason begins.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

#: Set by .ci/run; a developer's machine may lack what a test needs.
VARIABLE = "UNEXPECTED_SKIPS"


def unexpected(reason: str, allowed: tuple[str, ...]) -> str | None:
    """What is wrong with a skip for this reason, or None."""
    words = reason.removeprefix("Skipped: ")
    if os.environ.get(VARIABLE) != "fail" or words.startswith(allowed):
        return None
    return f"Skipped, and nobody expects it: {words}"


def _refuse(report: pytest.TestReport | pytest.CollectReport, allowed: tuple[str, ...]) -> None:
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if problem := unexpected(reason, allowed):
        report.outcome, report.longrepr = "failed", problem


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    marks = item.iter_markers("may_skip")
    _refuse(report, tuple(str(reason) for mark in marks for reason in mark.args))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse(report, ())
    return report
