"""For the tests of all tiers."""

from __future__ import annotations

from tests.expected_skips import pytest_make_collect_report, pytest_runtest_makereport

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]
