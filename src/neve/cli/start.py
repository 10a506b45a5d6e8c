"""The installed command: signals are seen to before anything is imported, which takes a while."""

from __future__ import annotations

import os
import signal
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
EXIT_INTERRUPTED = 130
#: What is said where a signal comes before a command has opened anything, or after it.
SENTENCE = ["Interrupted; nothing was changed."]
#: Whether this process is a command's own, so that it may be ended without further ado.
IS_OWN_PROCESS = [False]


def run() -> None:
    """Entry point of the installed command."""
    IS_OWN_PROCESS[:] = [True]
    for number in heeded():
        signal.signal(number, _end)
    from neve.cli.main import app

    app()


def heeded() -> list[signal.Signals]:
    """Signals that end a command; those that nohup or a shell has switched off are left off."""
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def _end(_: int, __: FrameType | None) -> None:
    end_now(SENTENCE[-1])


def end_now(sentence: str, document: str = "") -> None:
    """Say it past everything that might be locked, and end; programs are given a document."""
    clean = "\r\x1b[2K\x1b[?25h" if os.isatty(2) else ""
    for number, text in ((1, document), (2, f"{clean}{sentence}\n")):
        try:
            os.write(number, text.encode())
        except OSError:
            # The terminal may be gone.
            break
    os._exit(EXIT_INTERRUPTED)
