"""The command line in a process of its own, in which a process is killed at a chosen point.

    python -m tests.attack.child VICTIM POINT SECONDS WORD …

The file that ATTACK_REACHED names is written before the kill, which comes this many seconds after
the point. Where ATTACK_BORROW is set, Spark's JVM is the one behind PYSPARK_GATEWAY_PORT.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from tests.attack.points import Points, inside, watch

from neve import neve as facade
from neve.app import build_app
from neve.cli.main import app as command_line
from neve.spark.engine import BorrowedEngine

NEVE, JVM = "neve", "jvm"


def main(victim: str, point: str, seconds: float, words: list[str]) -> None:
    def kill() -> None:
        if victim == JVM and SparkContext._gateway is None:
            # Small sweeps need none.
            return
        # The launcher's scripts end in the JVM itself, under the same id.
        process = os.getpid() if victim == NEVE else vars(SparkContext._gateway)["proc"].pid
        Path(os.environ["ATTACK_REACHED"]).write_text(point)
        os.kill(process, signal.SIGKILL)

    points = Points(point, threading.Timer(seconds, kill).start if seconds else kill)

    def build(settings: Any, reporter: Any, spark_log: Any = None) -> Any:
        app = build_app(settings, reporter)
        if "ATTACK_BORROW" in os.environ:
            app.engine.use(BorrowedEngine(borrowed_session()))
        return watch(app, points)

    with patch.object(facade, "build_app", build), inside(points):
        command_line(words)


def borrowed_session() -> SparkSession:
    """A session of its own in a JVM that somebody else has started."""
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    jvm: Any = gateway.jvm
    java_session = jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()
    java_context = jvm.JavaSparkContext.fromSparkContext(java_session.sparkContext())
    conf = SparkConf(_jconf=java_context.getConf())
    spark_context = SparkContext(gateway=gateway, jsc=java_context, conf=conf)
    return SparkSession(spark_context, java_session.newSession())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4:])
