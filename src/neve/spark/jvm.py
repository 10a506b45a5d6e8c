"""The JVM behind a session: whether it lives, and how to leave a dead one behind."""

from __future__ import annotations

import logging
import socketserver
import sys
from contextlib import suppress
from pathlib import PurePath
from subprocess import Popen, TimeoutExpired
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

#: How long a process that was told to end may take.
END_SECONDS = 10


def has_ended(session: SparkSession) -> bool:
    """Whether the process is gone; this asks the operating system, and costs nothing."""
    process = _process(session)
    return process is not None and process.poll() is not None


def is_dead(session: SparkSession) -> bool:
    """Whether the session is of no use any more: no process, no answer, or a stopped context."""
    if has_ended(session):
        return True
    context: Any = session.sparkContext._jsc
    try:
        return context is None or bool(context.sc().isStopped())
    except (Py4JError, OSError, EOFError):
        return True


def kill(session: SparkSession) -> None:
    """End the process, and leave the rest to whoever notices."""
    process = _process(session)
    if process is not None:
        process.kill()


def abandon(session: SparkSession) -> None:
    """End what is left of the JVM, and make pyspark forget it, so that it starts another one."""
    context = session.sparkContext
    gateway = context._gateway
    process = _process(session)
    if process is not None:
        # One that does not answer might still commit.
        process.kill()
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        with suppress(TimeoutExpired):
            process.wait(END_SECONDS)
    server = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.shutdown()
    _forget(session, context, gateway)


def _forget(session: SparkSession, context: Any, gateway: Any) -> None:
    """What pyspark keeps for the whole process, as far as it is of this JVM."""
    context._accumulatorServer = context._jsc = None
    if SparkContext._active_spark_context is context:
        SparkContext._active_spark_context = None
    if SparkContext._gateway is gateway:
        forget_gateway()
    for name in ("_instantiatedSession", "_activeSession"):
        known = getattr(SparkSession, name)
        if known is not None and known.sparkContext is context:
            setattr(SparkSession, name, None)


def forget_gateway() -> None:
    """Let pyspark launch another JVM with the next session."""
    SparkContext._gateway = None
    SparkContext._jvm = None


def forget_start() -> None:
    """Leave a JVM behind that did not get as far as a session."""
    context: Any = SparkContext._active_spark_context
    if context is not None:
        server = getattr(context, "_accumulatorServer", None)
        if server is not None:
            server.shutdown()
        context._accumulatorServer = context._jsc = None
    SparkContext._active_spark_context = None
    forget_gateway()


def keep_py4j_quiet() -> None:
    """py4j writes tracebacks of a broken connection to the root logger; the error says it."""
    logging.getLogger().addFilter(_not_of_py4j)


def keep_accumulators_quiet(server: socketserver.BaseServer | None) -> None:
    """pyspark's server writes a traceback where a JVM dies on it; whoever called is told anyway."""
    if server is None:
        return
    write = server.handle_error

    def handle_error(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), EOFError | OSError):
            write(request, client_address)

    server.handle_error = handle_error  # type: ignore[method-assign]


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in PurePath(record.pathname).parts


def _process(session: SparkSession) -> Popen[bytes] | None:
    # py4j looks up unknown attributes of a gateway in the JVM.
    found: Popen[bytes] | None = vars(session.sparkContext._gateway).get("proc")
    return found
