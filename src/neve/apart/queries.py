"""Queries, each in a process of its own that was forked from one with everything imported."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from neve.apart.confined import GRACE_SECONDS, environment
from neve.apart.messages import LENGTH, MessageLost, QueryTask, read_exactly, read_result, receive
from neve.apart.messages import send as send_message
from neve.documents import to_text
from neve.model.database import QueryLimits, QueryResult
from neve.model.errors import EnvironmentProblem, QueryLimit
from neve.model.query import QueryRelation
from neve.model.sizes import format_size

#: For the imports of the process that forks, on a machine that is busy.
STARTING_SECONDS = 120.0
COMMAND = (sys.executable, "-P", "-m", "neve.apart.child")


class ProcessQueries:
    """Runs statements where a crash, a bomb or a decoder without end takes nothing along."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None

    def run(
        self,
        statement: str,
        relations: Mapping[str, QueryRelation],
        limits: QueryLimits,
        seconds: float,
    ) -> QueryResult:
        """The rows of the statement, or QueryLimit where it takes too long or too much."""
        task = to_text(QueryTask(statement, relations, limits, seconds)).encode()
        with self._knock() as connection:
            begun = time.monotonic()
            connection.settimeout(max(seconds, 0.0) + 2 * GRACE_SECONDS)
            try:
                send_message(connection, task)
                return read_result(receive(connection))
            except (MessageLost, OSError) as error:
                raise _ended(limits, time.monotonic() - begun >= seconds) from error

    def close(self) -> None:
        """Let the process that forks go; it ends when nobody can knock any more."""
        with self._lock:
            self._stop()

    @contextmanager
    def _knock(self) -> Iterator[socket.socket]:
        """A connection to a new process, which is ended in any case."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                self._send_door(theirs)
            ours.settimeout(STARTING_SECONDS)
            try:
                (pid,) = LENGTH.unpack(read_exactly(ours, LENGTH.size))
            except (MessageLost, OSError) as error:
                self.close()
                raise EnvironmentProblem(
                    "The process that runs queries cannot be started.",
                    next_step="See what it says: python -m neve.apart.child < /dev/null",
                ) from error
            # It waits for its task: until then the number is its own.
            handle = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
            try:
                yield ours
            finally:
                _end(handle)

    def _send_door(self, theirs: socket.socket) -> None:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()
            assert self._door is not None
            try:
                socket.send_fds(self._door, [b"q"], [theirs.fileno()])
            except OSError:
                self._start()
                socket.send_fds(self._door, [b"q"], [theirs.fileno()])

    def _start(self) -> None:
        self._stop()
        self._door, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                self._command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=environment(os.environ, sys.path),
                # Ctrl-C is for the server, which closes the door.
                start_new_session=True,
            )

    def _stop(self) -> None:
        if self._door is not None:
            self._door.close()
            self._door = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _end(handle: int | None) -> None:
    """Without a handle it ends by itself, when its time is over."""
    if handle is None:
        return
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    os.close(handle)


def _ended(limits: QueryLimits, is_late: bool) -> QueryLimit:
    if is_late:
        return QueryLimit(
            f"The query took longer than {limits.max_seconds:g} seconds.",
            next_step="Ask for less, or ask another engine.",
        )
    return QueryLimit(
        f"The query needs more than {format_size(limits.memory_bytes)} of memory, or read a file "
        "that nobody can read: its process ended.",
        next_step="Ask for less, or let somebody look at the table: neve doctor --deep.",
    )
