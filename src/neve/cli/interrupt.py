"""Ctrl-C: running jobs stop at their next boundary, and a second one ends at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from neve.cli.output import Output
from neve.neve import Neve

EXIT_INTERRUPTED = 130
STOPPING = "Stopping at the next boundary; press Ctrl-C again to end at once."


@contextmanager
def interruptible(neve: Neve, output: Output) -> Iterator[None]:
    """Let an interrupt stop jobs cleanly for the length of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(_: int, __: FrameType | None) -> None:
        if not neve.has_jobs or neve.is_stopping:
            raise KeyboardInterrupt
        neve.stop()
        output.warn(STOPPING)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
