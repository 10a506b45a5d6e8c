"""Executors of a cluster, made ready for tasks of Neve's: the engines bring themselves along.

Whatever Python a cluster has, tasks run the very code of the driver. Executors that have it are
left as they are; to all others it is sent, once for a session. See docs/spark-clusters.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from neve.model.errors import EnvironmentProblem
from neve.spark.master import is_local
from neve.spark.own_code import own_digest
from neve.spark.package import cached_package

#: Sent where it is missing; never sent; anything else is where a package lies.
AUTO, INSTALLED = "auto", "installed"
#: Hadoop and Spark know archives by these, and leave everything else as it is.
ARCHIVES = re.compile(r"\.(zip|tar\.gz|tgz|tar|jar)$")
OTHER_VERSION = re.compile(r"different version: (\S+) than that in driver: (\d+\.\d+)")
#: How the bridge to the JVM begins, and how a trace of Java's goes on.
CALLING, CAUSE = "An error occurred while calling ", "Caused by: "
#: What Python itself said, as Spark quotes it.
FROM_PYTHON = re.compile(r"Error from python worker:\n(.*?)\n *PYTHONPATH was:", re.DOTALL)
NO_PROGRAM = re.compile(r'Cannot run program "([^"]*)"')
DOCS = "docs/spark-clusters.md says how for each kind of cluster."


@dataclass(frozen=True, slots=True)
class Executor:
    """What Python on an executor says of itself."""

    python: str
    digest: str | None
    #: Why something that tasks need cannot be imported there, or None.
    trouble: str | None

    @property
    def is_ready(self) -> bool:
        return self.trouble is None and self.digest == own_digest()


def make_ready(
    session: SparkSession,
    package: str = AUTO,
    *,
    environ: Mapping[str, str] | None = None,
) -> None:
    """See to it that executors run what they are sent, or raise with what they lack."""
    context = session.sparkContext
    if is_local(context.master or ""):
        return
    found = None if package not in (AUTO, INSTALLED) else _ask(context)
    if found is not None and found.is_ready:
        return
    if found is not None and package == INSTALLED:
        raise EnvironmentProblem(
            f"Executors do not have this Neve: {found.trouble or 'theirs is of other code'}.",
            next_step="Install the same version there, or leave out spark.package: then it is "
            "sent to them.",
        )
    if package == AUTO:
        package = cached_package(os.environ if environ is None else environ).as_uri()
    send(context, package)
    found = _ask(context)
    if not found.is_ready:
        raise EnvironmentProblem(
            f"Executors cannot run what was sent to them: {found.trouble or 'it is of other code'}"
            f" (Python {found.python}).",
            next_step=f"Write it on a machine like theirs, with neve spark-package. {DOCS}",
        )


def send(context: SparkContext, location: str) -> None:
    """Let executors fetch the archive, and Python look into it before what is installed."""
    name = ARCHIVES.sub("", PurePosixPath(location).name)
    context.addArchive(f"{location}#{name}")
    before = context.environment.get("PYTHONPATH", "")
    if name not in before.split(":"):
        # Relative: Spark unpacks archives into the folder that an executor works in.
        context.environment["PYTHONPATH"] = f"{name}:{before}" if before else name


def _ask(context: SparkContext) -> Executor:
    try:
        (told,) = context.parallelize([0], 1).map(_question()).collect()
    except (Py4JJavaError, PySparkException) as error:
        raise _refusal(str(error), context.pythonExec) from error
    return Executor(**told)


def _question() -> Callable[[int], dict[str, Any]]:
    # Defined here so that it travels by value: executors may not have this module.
    def answer(_: int) -> dict[str, Any]:
        import sys

        told: dict[str, Any] = {"python": sys.version.split()[0], "digest": None, "trouble": None}
        try:
            import numpy  # noqa: F401
            import pyarrow.parquet  # noqa: F401

            from neve.spark.own_code import own_digest

            told["digest"] = own_digest()
        except (ImportError, OSError) as error:
            told["trouble"] = f"{type(error).__name__}: {error}"
        return told

    return answer


def _refusal(said: str, program: str) -> EnvironmentProblem:
    """Why not even a question was answered."""
    if other := OTHER_VERSION.search(said):
        return EnvironmentProblem(
            f"Executors run Python {other[1].rstrip('.')}, and Neve runs on {other[2]}: tasks go "
            "between the same minor versions only.",
            next_step=f"Run Neve on Python {other[1].rstrip('.')}, or name one of {other[2]} on "
            f"the executors under spark.conf: spark.pyspark.python. {DOCS}",
        )
    if missing := NO_PROGRAM.search(said):
        return EnvironmentProblem(
            f"Executors have no program {missing[1]!r}, which was to run Python there.",
            next_step=f"Name one under spark.conf: spark.pyspark.python. {DOCS}",
        )
    return EnvironmentProblem(
        f"Executors do not run Python ({program}): {_cause(said)}", next_step=DOCS
    )


def _cause(said: str) -> str:
    """What Python said last, or else the innermost cause of a trace of Java, or its beginning."""
    worker = FROM_PYTHON.search(said)
    lines = [line.strip() for line in (worker[1] if worker else said).splitlines() if line.strip()]
    if worker and lines:
        return lines[-1]
    causes = [line.removeprefix(CAUSE) for line in lines if line.startswith(CAUSE)]
    words = [line.lstrip(": ") for line in lines if not line.startswith(CALLING)]
    return next(iter([*reversed(causes), *words]), "no reason was given")
