"""The one place that builds a Spark session."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from neve.model.errors import EnvironmentProblem
from neve.secrets import SECRET_NAME
from neve.spark.class_archive import class_archive
from neve.spark.class_path import class_path, jar_settings
from neve.spark.conf import EXTENSIONS, catalog_conf, packages
from neve.spark.gate.session import through_the_gate
from neve.spark.jars import resolve_jars
from neve.spark.java import Java, find_java
from neve.spark.jvm import forget_start, has_ended, keep_accumulators_quiet, keep_py4j_quiet
from neve.spark.jvm_log import LOG_SETTINGS, JvmLog, Sink
from neve.spark.launch import Launch, has_jvm, launched, spark_home
from neve.spark.master import is_local

#: What every session of ours has, unless the user's configuration says otherwise.
DEFAULTS = {
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.catalogImplementation": "in-memory",
    # Maintenance moves files, it does not run queries of strangers: no secrets in its own logs.
    "spark.redaction.regex": SECRET_NAME.pattern,
}
#: The last two are what pyspark makes of a JVM that ends under it.
START_ERRORS = (
    PySparkException,
    Py4JError,
    OSError,
    EOFError,
    RuntimeError,
    AttributeError,
    TypeError,
)


def build_session(
    catalogs: Mapping[str, Mapping[str, str]],
    *,
    master: str,
    conf: Mapping[str, str],
    reporter: Callable[[str], None],
    environ: Mapping[str, str] | None = None,
    commit_gate: bool = True,
    log: Sink | None = None,
) -> SparkSession:
    """A session with every catalog configured and Iceberg's jars in place.

    What Spark logs goes to `log`, if that is given, and never to the terminal.
    """
    environ = os.environ if environ is None else environ
    java = find_java(environ)
    settings = _settings(catalogs, master, conf)
    if commit_gate:
        settings = through_the_gate(
            settings, catalogs, is_local=is_local(master), chosen=conf.keys()
        )
    jars: list[str] = []
    if "spark.jars" not in settings and "spark.jars.packages" not in settings:
        jars = resolve_jars(packages(catalogs), java, environ, reporter)
    settings |= jar_settings(settings, jars, spark_home(), environ, is_new=not has_jvm())
    if is_local(master):
        # Tasks run on this machine, so they run in this environment.
        os.environ["PYSPARK_PYTHON"] = sys.executable
    keep_py4j_quiet()
    with _own_interrupts():
        session = _start(java, settings, environ, log)
    if not is_local(master) and (program := settings.get("spark.pyspark.python")):
        # spark-submit sees to it for its own applications alone.
        session.sparkContext.pythonExec = program
    keep_accumulators_quiet(getattr(session.sparkContext, "_accumulatorServer", None))
    return session


def _start(
    java: Java, settings: Mapping[str, str], environ: Mapping[str, str], log: Sink | None
) -> SparkSession:
    if has_jvm():
        with _explained(lambda: "nothing more"):
            return _get_or_create(settings)
    output = JvmLog(log)
    classes = class_archive(
        java, spark_home(), class_path(settings), _java_options(settings, environ), environ
    )
    options = [f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}", *classes.options]
    launch = Launch(java, settings, options, output.file, classes.lock)
    try:
        with _explained(output.tail), launched(launch) as gateway:
            SparkContext._gateway, SparkContext._jvm = gateway, gateway.jvm
            session = _get_or_create(settings)
    except EnvironmentProblem:
        forget_start()
        output.close()
        raise
    finally:
        if classes.lock is not None:
            classes.lock.close()
    output.follow(lambda: has_ended(session))
    return session


@contextmanager
def _explained(what_spark_said: Callable[[], str]) -> Iterator[None]:
    try:
        yield
    except START_ERRORS as error:
        said = what_spark_said()
        raise EnvironmentProblem(
            f"Spark did not start: {(str(error) or type(error).__name__).splitlines()[0]}",
            next_step=f"Run neve doctor. Spark said: {said}",
        ) from error


def _get_or_create(settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _java_options(settings: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """What the user tells the JVM, in whichever way."""
    keys = (
        "spark.driver.memory",
        "spark.driver.extraJavaOptions",
        "spark.driver.defaultJavaOptions",
    )
    names = ("SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "SPARK_DRIVER_MEMORY")
    return [settings.get(key, "") for key in keys] + [environ.get(name, "") for name in names]


def _settings(
    catalogs: Mapping[str, Mapping[str, str]], master: str, conf: Mapping[str, str]
) -> dict[str, str]:
    settings = {"spark.master": master, "spark.app.name": "neve", **DEFAULTS}
    if not is_local(master):
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
