"""Everything that the command line says: text for people, JSON for programs."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Any, ClassVar

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from neve.documents import strict, with_text_ids
from neve.model.errors import Interrupted, NeveError
from neve.model.events import JobEvent
from neve.model.job import JobState
from neve.model.sizes import format_size

#: Narrower ones are mistakes.
LEAST_WIDTH = 20


class Format(StrEnum):
    """How results are printed."""

    TEXT = "text"
    JSON = "json"


class Output:
    """Results go to stdout; what is going on and what went wrong goes to stderr."""

    #: Whether what is going on is left out, as `neve -q` asks.
    is_quiet: ClassVar[bool] = False

    def __init__(self, format: Format) -> None:
        self.format = format
        #: Whether what is going on is told in lines, where no bar shows it.
        self.tells_steps = False
        self._out = Console(highlight=False, emoji=False, width=_width())
        self._err = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._jobs: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def result(self, document: Any, *render: RenderableType | Callable[[], RenderableType]) -> None:
        """Print a result: the document as JSON, or its renderings."""
        # A bar on stderr would stay between the lines of stdout.
        self.stop_bar()
        if self.format is Format.JSON:
            _print_json(document)
            return
        for item in render:
            # A command that is longer than a line must not lose its end.
            self._out.print(item() if callable(item) else item, crop=False)

    def error(self, error: NeveError) -> None:
        """One sentence, and what to do next."""
        if self.format is Format.JSON:
            _print_json({"error": _error_body(error)})
        self.complain(error)

    def error_text(self, error: NeveError) -> str:
        """The document of an error, where documents are asked for."""
        return json_text({"error": _error_body(error)}) if self.format is Format.JSON else ""

    def interrupted(self, end: Interrupted) -> None:
        """One sentence; the terminal may be gone."""
        with suppress(OSError):
            if self.format is Format.JSON:
                _print_json({"error": _error_body(end)})
            self._err.print(escape(end.message))

    def complain(self, error: NeveError) -> None:
        """The sentence alone, beside a result that is printed already."""
        self._err.print(f"[bold red]Error:[/] {escape(error.message)}")
        if error.next_step:
            self._err.print(f"[dim]→[/] {escape(error.next_step)}")

    def warn(self, message: str) -> None:
        """A sentence for whoever watches, beside results and errors."""
        self._err.print(f"[yellow]{escape(message)}[/]")

    def note(self, message: str) -> None:
        """A line below a result, beside the document where that is one."""
        console = self._err if self.format is Format.JSON else self._out
        console.print(escape(message), soft_wrap=True)

    def tell(self, message: str) -> None:
        """A line about what is going on, also where nobody watches a bar."""
        if not self.is_quiet:
            self._err.print(escape(message))

    def __call__(self, message: str) -> None:
        """Say what is going on, where a person is watching or lines were asked for."""
        if self._bar is not None and self._task is not None:
            self._bar.reset(self._task, description=escape(message), total=None)
        elif self.tells_steps:
            self.tell(message)

    def progress(self, done: int, total: int) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)

    def job(self, event: JobEvent) -> None:
        """A line for each job that runs, where several do; it goes when the job ends."""
        with self._lock:
            if self._bar is None:
                return
            line = self._jobs.get(event.job_id)
            if event.phase.is_final or event.phase is JobState.UNKNOWN:
                if line is not None:
                    self._bar.remove_task(self._jobs.pop(event.job_id))
                return
            said = escape(_job_line(event))
            if line is None:
                self._jobs[event.job_id] = self._bar.add_task(said, total=None)
                return
            total = event.tasks_total or None
            self._bar.update(line, description=said, completed=event.tasks_done, total=total)

    def stop_bar(self) -> None:
        """Leave no bar behind, where the process ends in the middle of it."""
        if (bar := self._bar) is not None:
            bar.stop()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Show progress while the block runs; nothing where nobody is watching."""
        if self.is_quiet or not self._err.is_terminal:
            yield
            return
        # One line each, whatever the width: what wraps cannot be taken back from a terminal.
        one_line = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        told = TextColumn("{task.description}", table_column=one_line)
        columns = (SpinnerColumn(), told, BarColumn(bar_width=16))
        with Progress(
            *columns, TimeElapsedColumn(), console=self._err, transient=True, expand=True
        ) as bar:
            self._bar, self._task = bar, bar.add_task("Reading metadata …", total=None)
            try:
                yield
            finally:
                self._bar = self._task = None


def _width() -> int | None:
    """As wide as was asked for, or as the terminal is.

    In a pipe there is no width to fit into, and a folded line is hard to search.
    """
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said) >= LEAST_WIDTH:
        return int(said)
    return None if sys.stdout.isatty() else 240


def _job_line(event: JobEvent) -> str:
    """Table, operation, and how many bytes of how many."""
    done = format_size(event.bytes_done)
    read = f"  {done} of {format_size(event.bytes_total)}" if event.bytes_total else ""
    return f"{event.table}  {event.operation}: {event.phase}{read}"


def _error_body(error: NeveError) -> dict[str, str | None]:
    return {
        "type": type(error).__name__,
        "message": error.message,
        "next_step": error.next_step,
    }


def json_text(document: Any) -> str:
    # ASCII alone: a file name may hold bytes that no encoding of stdout takes.
    return json.dumps(strict(with_text_ids(document)), indent=2, allow_nan=False) + "\n"


def _print_json(document: Any) -> None:
    sys.stdout.write(json_text(document))
    sys.stdout.flush()
