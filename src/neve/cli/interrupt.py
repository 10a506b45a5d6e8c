"""Signals that end a command: one sentence, jobs with an end, within two seconds.

Jobs are asked to stop at their next boundary. Those that do not reach one in time are given up,
and so is everything at a second signal: the next command on a table settles what was left there.
A thread watches, because Python's own handlers wait for whatever the main thread has called.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from neve.cli.interrupted_jobs import NOTHING, SeenJobs
from neve.cli.output import Output
from neve.cli.start import EXIT_INTERRUPTED, IS_OWN_PROCESS, SENTENCE, end_now, heeded
from neve.model.errors import Interrupted, NeveError

if TYPE_CHECKING:
    from neve.neve import Neve

__all__ = ["EXIT_INTERRUPTED", "interruptible"]

#: How long jobs have to reach a boundary, and how long giving them up may take.
GRACE_SECONDS = 1.3
LEAVE_SECONDS = 0.4
OVER = b"\0"


@contextmanager
def interruptible(neve: Neve | None, output: Output, nothing: str = NOTHING) -> Iterator[None]:
    """Let a signal end what is done in the block, which raises Interrupted then.

    `nothing` is what to say where no job has changed anything.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = _Watch(neve, output, nothing)
    with watch.watching(), ExitStack() as stack:
        if neve is not None:
            stack.enter_context(neve.events(watch.jobs.note))
        try:
            yield
        except (KeyboardInterrupt, NeveError) as error:
            if watch.is_told or isinstance(error, KeyboardInterrupt):
                watch.raise_interrupted()
            raise
        if watch.is_told:
            watch.raise_interrupted()
        if watch.jobs.ids:
            SENTENCE[:] = ["Interrupted; what was done stays: neve history"]


class _Watch:
    """One thread that is told of signals by a pipe."""

    def __init__(self, neve: Neve | None, output: Output, nothing: str) -> None:
        self.jobs = SeenJobs(neve, nothing)
        self.is_told = False
        self._is_handled = False
        self._neve = neve
        self._output = output
        self._read, self._write = os.pipe()
        self._terminals = [number for number in (1, 2) if os.isatty(number)]

    @contextmanager
    def watching(self) -> Iterator[None]:
        os.set_blocking(self._write, False)
        before = {number: signal.signal(number, self._handle) for number in heeded()}
        pipe_before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        thread = threading.Thread(target=self._watch, name="neve-interrupt", daemon=True)
        thread.start()
        try:
            yield
        finally:
            # Of a command that was interrupted, the end of the process is watched, too.
            if not (self.is_told and IS_OWN_PROCESS[-1]):
                for number, handler in before.items():
                    signal.signal(number, handler)
                signal.set_wakeup_fd(pipe_before)
                os.write(self._write, OVER)
                thread.join()
                os.close(self._read)
                os.close(self._write)

    def _handle(self, number: int, _: FrameType | None) -> None:
        """In the main thread, as soon as it is at Python code."""
        self._note(number)
        if self._is_handled:
            # The second one ends the process, by the thread that watches.
            return
        self._is_handled = True
        if self._neve is None or not self._neve.has_jobs:
            raise KeyboardInterrupt
        self._neve.stop(wakes=False)

    def raise_interrupted(self) -> NoReturn:
        if self._neve is not None:
            self._neve.leave()
        raise Interrupted(self.jobs.sentence()) from None

    def _watch(self) -> None:
        if not self._signalled(None):
            return
        if self._neve is not None:
            self._neve.stop()
        # A process that is not the command's own is not for us to end.
        if IS_OWN_PROCESS[-1] and (self._signalled(GRACE_SECONDS) or self._is_late):
            self._end()

    def _note(self, number: int) -> None:
        self.is_told = True
        if number == signal.SIGHUP and self._terminals:
            # A closed terminal fails all that is written to it, the sentence at the end, too.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for terminal in self._terminals:
                os.dup2(nowhere, terminal)
            os.close(nowhere)

    def _signalled(self, seconds: float | None) -> bool:
        """Wait for one of our signals; False where the block is over, or time is."""
        self._is_late = False
        numbers = {int(number) for number in heeded()}
        # select() refuses descriptors from 1024 on, which whoever has many files open gets.
        waiting = select.poll()
        waiting.register(self._read, select.POLLIN)
        while waiting.poll(None if seconds is None else seconds * 1000):
            told = os.read(self._read, 1)
            if told == OVER:
                return False
            if told[0] in numbers:
                self._note(told[0])
                return True
        self._is_late = True
        return False

    def _end(self) -> None:
        """The process ends here, whatever it is at."""
        said: list[str] = []

        def leave() -> None:
            # First, since leaving may take longer than there is time for.
            self._output.stop_bar()
            left = self._neve.leave() if self._neve is not None else []
            said.append(self.jobs.sentence(left))

        thread = threading.Thread(target=leave, name="neve-leave", daemon=True)
        thread.start()
        thread.join(LEAVE_SECONDS)
        sentence = said[0] if said else self.jobs.GENERAL
        end_now(sentence, self._output.error_text(Interrupted(sentence)))


def finish_interrupted() -> NoReturn:
    """End after the sentence was said; threads that are still at something are not waited for."""
    if IS_OWN_PROCESS[-1]:
        sys.stdout.flush()
        os._exit(EXIT_INTERRUPTED)
    sys.exit(EXIT_INTERRUPTED)
