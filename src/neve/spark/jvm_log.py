"""What Spark's JVM writes: kept in a file without a name, and handed on line by line.

The file has no name so that nothing is left behind, however the JVM or this process ends.
"""

from __future__ import annotations

import atexit
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
POLL_SECONDS = 0.5
_EVENT = re.compile(r"spark-log (?P<level>[A-Z]+) (?P<logger>\S*): (?P<message>.*)")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One event of Spark's log."""

    level: str
    logger: str
    message: str


Sink = Callable[[LogLine], None]


class JvmLog:
    """The output of one JVM. Events at WARN and above go to the sink, if there is one."""

    def __init__(self, sink: Sink | None = None) -> None:
        # Appending, so that the JVM and its workers never write over each other.
        self.file: IO[bytes] = tempfile.TemporaryFile("a+b", prefix="neve-spark-")  # noqa: SIM115
        self._sink = sink
        self._read = 0
        self._rest = b""
        self._reading = threading.Lock()

    def follow(self, has_ended: Callable[[], bool]) -> None:
        """Hand events on as they come, until the JVM or this process ends."""
        if self._sink is None:
            self.close()
            return

        def poll() -> None:
            while not has_ended():
                time.sleep(POLL_SECONDS)
                self._hand_on()
            self.close()

        atexit.register(self.close)
        threading.Thread(target=poll, name="neve-spark-log", daemon=True).start()

    def close(self) -> None:
        """Hand on what is left. The JVM may go on writing: nobody reads it any more."""
        self._hand_on()
        with self._reading:
            self.file.close()

    def tail(self, lines: int = 3) -> str:
        """The last lines, as one text."""
        self.file.seek(0)
        written = self.file.read().decode("utf-8", "replace").splitlines()
        told = [line.strip() for line in written if line.strip()]
        return " / ".join(told[-lines:]) or "nothing"

    def _hand_on(self) -> None:
        with self._reading:
            if self._sink is None or self.file.closed:
                return
            for line in self._fresh_lines():
                if event := _EVENT.match(line):
                    self._sink(LogLine(event["level"], event["logger"], event["message"]))

    def _fresh_lines(self) -> Iterator[str]:
        self.file.seek(self._read)
        fresh = self.file.read()
        self._read += len(fresh)
        # The last piece may be a line that is still being written.
        *whole, self._rest = (self._rest + fresh).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
