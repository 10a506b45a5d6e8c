"""The one place that builds a Spark session."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from neve.model.errors import EnvironmentProblem
from neve.spark.conf import EXTENSIONS, catalog_conf, packages
from neve.spark.gate.session import through_the_gate
from neve.spark.jars import resolve_jars
from neve.spark.java import find_java
from neve.spark.jvm import forget_gateway, keep_accumulators_quiet, keep_py4j_quiet

#: What every session of ours has, unless the user's configuration says otherwise.
DEFAULTS = {
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    # Maintenance moves files, it does not run queries of strangers: no secrets in its own logs.
    "spark.redaction.regex": "(?i)secret|password|token|credential|access[.-]?key",
}
LOG_SETTINGS = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{short}
"""


def build_session(
    catalogs: Mapping[str, Mapping[str, str]],
    *,
    master: str,
    conf: Mapping[str, str],
    reporter: Callable[[str], None],
    environ: Mapping[str, str] | None = None,
    commit_gate: bool = True,
) -> SparkSession:
    """A session with every catalog configured and Iceberg's jars in place."""
    environ = os.environ if environ is None else environ
    java = find_java(environ)
    settings = _settings(catalogs, master, conf)
    if commit_gate:
        is_local = master.startswith("local")
        settings = through_the_gate(settings, catalogs, is_local=is_local, chosen=conf.keys())
    if "spark.jars" not in settings and "spark.jars.packages" not in settings:
        settings["spark.jars"] = ",".join(resolve_jars(packages(catalogs), java, environ, reporter))
    builder = SparkSession.builder.appName("neve").master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    os.environ["JAVA_HOME"] = str(java.home)
    if master.startswith("local"):
        # Tasks run on this machine, so they run in this environment.
        os.environ["PYSPARK_PYTHON"] = sys.executable
    keep_py4j_quiet()
    with _quiet_jvm() as log, _own_interrupts():
        try:
            session = builder.getOrCreate()
        except (PySparkException, Py4JError, OSError, EOFError, RuntimeError) as error:
            forget_gateway()
            raise EnvironmentProblem(
                f"Spark did not start: {str(error).splitlines()[0]}",
                next_step=f"Run neve doctor. Spark said: {_tail(log)}",
            ) from error
    keep_accumulators_quiet(getattr(session.sparkContext, "_accumulatorServer", None))
    return session


def _settings(
    catalogs: Mapping[str, Mapping[str, str]], master: str, conf: Mapping[str, str]
) -> dict[str, str]:
    settings = dict(DEFAULTS)
    if not master.startswith("local"):
        # Executors of a cluster must be able to call back.
        settings.pop("spark.driver.bindAddress")
        settings.pop("spark.driver.host")
    settings["spark.sql.extensions"] = EXTENSIONS
    for name, properties in catalogs.items():
        settings.update(catalog_conf(name, properties))
    settings.update(conf)
    return settings


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep what Ctrl-C does here: a new session would cancel its jobs in the middle of a commit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _quiet_jvm() -> Iterator[Path]:
    """Give the JVM that starts now a log file instead of the user's terminal.

    The JVM inherits file descriptors when it is launched and keeps them, so a short redirection
    here holds for its whole life.
    """
    folder = Path(tempfile.mkdtemp(prefix="neve-spark-"))
    log = folder / "spark.log"
    log_settings = folder / "log4j2.properties"
    log_settings.write_text(LOG_SETTINGS, encoding="utf-8")
    java_options = os.environ.get("JDK_JAVA_OPTIONS")
    os.environ["JDK_JAVA_OPTIONS"] = (
        f"{java_options or ''} -Dlog4j2.configurationFile={log_settings.as_uri()}".strip()
    )
    saved = os.dup(1), os.dup(2)
    with log.open("ab") as sink:
        os.dup2(sink.fileno(), 1)
        os.dup2(sink.fileno(), 2)
    try:
        yield log
    finally:
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        os.close(saved[0])
        os.close(saved[1])
        if java_options is None:
            del os.environ["JDK_JAVA_OPTIONS"]
        else:
            os.environ["JDK_JAVA_OPTIONS"] = java_options


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return " / ".join(line.strip() for line in lines[-3:]) or "nothing"
