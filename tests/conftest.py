"""For the tests of all tiers."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator

import pytest
from tests.expected_skips import pytest_make_collect_report, pytest_runtest_makereport
from xdist.workermanage import NodeManager

__all__ = ["pytest_make_collect_report", "pytest_runtest_makereport"]

# What is imported and collected stays to the end: looking through it for garbage costs seconds.
gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    # The order of tests is random. What they draw has seeds of its own, so that none is sown anew
    # for every part of every test.
    config.option.randomly_reset_seed = False
    # What a shell starts in the background ignores Ctrl-C, and so would all that tests start; and
    # what nohup starts ignores that its terminal is closed.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # A worker that is killed while it writes down what it has covered has covered nothing.
    NodeManager.EXIT_TIMEOUT = 300


def pytest_unconfigure() -> None:
    # Libraries complain about what nobody cleared away.
    gc.unfreeze()
