"""Errors from the JVM, in Neve's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from neve.model.errors import CommitConflict, CommitUnknown, EngineDied, ExecutionError

CONFLICTS = ("ValidationException", "CommitFailedException")
UNKNOWN = "CommitStateUnknownException"
MAX_CAUSES = 20
#: Files as Iceberg prints them, with everything that it knows of them.
JAVA_FILE = re.compile(r"Generic(?:Data|Delete)File\{")
JAVA_PATH = re.compile(r"file_path=(.*?)(?:, file_format=|\}|$)", re.S)
#: How Iceberg begins to tell of a file that a writer has changed, and what it means.
NEW_DELETE = re.compile(r"found new (?:position )?delete for replaced data file", re.I)
MISSING = re.compile(r"missing (?:required files to delete|data files): *(.*)", re.I | re.S)


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Translate whatever Spark or Iceberg throws while doing something."""
    try:
        yield
    except (Py4JError, PySparkException, ConnectionError, EOFError) as error:
        raise translate(what, error) from error


def engine_died(what: str) -> EngineDied:
    """The sentence about a JVM that is gone."""
    return EngineDied(
        f"{what} failed: Spark's process has ended; it was killed, or it ran out of memory.",
        next_step="Run the command again, with more in spark.conf: spark.driver.memory "
        "if it ends again.",
    )


def translate(what: str, error: Exception) -> ExecutionError:
    """The typed error that the causes of a JVM error amount to."""
    if _is_silence(error):
        return engine_died(what)
    try:
        causes = list(_causes(error))
    except (Py4JError, OSError):
        # The JVM ended before it could say what was wrong.
        return engine_died(what)
    names = [name for name, _ in causes]
    message = next((text for _, text in reversed(causes) if text.strip()), str(error))
    sentence = f"{what} failed: {_telling_line(message)[:500]}"
    # The state of a commit is unknown even where a conflict is among the causes.
    if any(name.endswith(UNKNOWN) for name in names):
        return CommitUnknown(
            sentence, next_step="The snapshot log decides: run neve history in a moment."
        )
    if any(name.endswith(CONFLICTS) for name in names):
        return CommitConflict(
            f"{what} failed: {conflict_told(message)}",
            next_step="Run the command again: it plans again.",
        )
    return ExecutionError(sentence)


def conflict_told(message: str) -> str:
    """Why a commit yields, with the names of files, and without all that Iceberg knows of them."""
    message, files = _plain_names(message)
    if NEW_DELETE.search(message) and files:
        return f"a writer deleted rows of {_some(files)} meanwhile."
    if found := MISSING.search(message):
        names = files or [name.strip(" []") for name in found[1].splitlines()[0].split(",")]
        return f"a writer replaced or removed {_some(names)} meanwhile."
    return _telling_line(message)[:500]


def _plain_names(message: str) -> tuple[str, list[str]]:
    """The message with files by their paths alone, and those paths."""
    found: list[str] = []
    while start := JAVA_FILE.search(message):
        end = _closing(message, start.end())
        inside = message[start.end() : end]
        path = JAVA_PATH.search(inside)
        found.append(path[1] if path else "a file")
        message = message[: start.start()] + found[-1] + message[end + 1 :]
    return message, found


def _closing(text: str, at: int) -> int:
    """Where the brace that is open at this place ends."""
    depth = 1
    for index in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if not depth:
            return index
    return len(text)


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _is_silence(error: Exception) -> bool:
    """Whether no answer came. py4j has a general error for a call that was cut off, too."""
    if isinstance(error, Py4JNetworkError | ConnectionError | EOFError):
        return True
    return type(error) is Py4JError and "Trace:" not in str(error)


def _telling_line(message: str) -> str:
    """A Java error says it in its first line, a Python traceback in the last before the stack."""
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("at ")] or ["no reason was given"]
    return said[-1] if any(line.startswith("Traceback") for line in said) else said[0]


def _causes(error: Exception) -> Iterator[tuple[str, str]]:
    """Class names and messages from the outermost to the innermost cause."""
    throwable: Any = None
    if isinstance(error, Py4JJavaError):
        throwable = error.java_exception
    elif isinstance(error, PySparkException):
        # pyspark turns common Java errors into Python ones and keeps the original aside.
        throwable = getattr(error, "_origin", None)
    for _ in range(MAX_CAUSES):
        if throwable is None:
            return
        yield str(throwable.getClass().getName()), str(throwable.getMessage() or "")
        throwable = throwable.getCause()
