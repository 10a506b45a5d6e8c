"""Launch Spark's JVM and connect pyspark to it.

pyspark could do this itself, but it says the process only when it is up: one that starts while the
plan is made must be ended as soon as the plan is empty. Nor would its output have a place to go.
"""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

from neve.spark.java import Java

POLL_SECONDS = 0.02
GATEWAY_PORT = "PYSPARK_GATEWAY_PORT"
#: Signals are for this process alone: a JVM that takes them, too, would end in a commit.
_UNTOUCHED_BY_SIGNALS = ("/bin/sh", "-c", 'trap "" INT HUP TERM; exec "$0" "$@"')
#: The launcher lives for a moment, in which nothing is worth compiling well.
_LAUNCHER_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

_starting: list[subprocess.Popen[bytes]] = []
_given_up = threading.Event()


@dataclass(frozen=True, slots=True)
class Launch:
    """What a JVM is started with."""

    java: Java
    settings: Mapping[str, str]
    #: Options for the JVM; what the user's settings say comes later, and wins.
    options: Sequence[str]
    output: IO[bytes]
    #: A lock that the JVM shall hold for as long as it lives.
    held: IO[bytes] | None = None


def spark_home() -> Path:
    find: Callable[[], str] = _find_spark_home
    return Path(find())


def has_jvm() -> bool:
    """Whether pyspark has one already: an earlier session's, or that of spark-submit."""
    return SparkContext._gateway is not None or GATEWAY_PORT in os.environ


@contextmanager
def launched(launch: Launch) -> Iterator[Any]:
    """pyspark's gateway to a new JVM; within the block, `give_up` ends it."""
    folder = Path(tempfile.mkdtemp(prefix="neve-launch-"))
    try:
        process = _start(launch, folder / "gateway")
        _starting.append(process)
        if _given_up.is_set():
            process.kill()
        try:
            gateway = _connect(process, folder / "gateway")
        except BaseException:
            _end(process)
            raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        yield gateway
    finally:
        _starting.remove(process)


@contextmanager
def given_up() -> Iterator[None]:
    """End the JVM that is being started, and every one that is started in the block."""
    kill_starting()
    try:
        yield
    finally:
        _given_up.clear()


def kill_starting() -> None:
    """The same for good: this process ends."""
    _given_up.set()
    for process in list(_starting):
        process.kill()


def _start(launch: Launch, told: Path) -> subprocess.Popen[bytes]:
    words = [str(spark_home() / "bin" / "spark-submit")]
    for key, value in launch.settings.items():
        words += ["--conf", f"{key}={value}"]
    return subprocess.Popen(
        [*_UNTOUCHED_BY_SIGNALS, *words, *_submit_words()],
        # The JVM ends when this pipe does, with this process at the latest.
        stdin=subprocess.PIPE,
        stdout=launch.output,
        stderr=launch.output,
        pass_fds=() if launch.held is None else (launch.held.fileno(),),
        env=_environment(launch, told),
    )


def _submit_words() -> list[str]:
    return shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))


def _environment(launch: Launch, told: Path) -> dict[str, str]:
    environ = launch.java.environment(os.environ)
    for name, options in (
        ("SPARK_SUBMIT_OPTS", " ".join(_quoted(option) for option in launch.options)),
        ("SPARK_LAUNCHER_OPTS", _LAUNCHER_OPTIONS),
    ):
        environ[name] = f"{options} {environ.get(name, '')}".strip()
    return environ | {
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
    }


def _quoted(option: str) -> str:
    """As Spark's launcher takes words apart."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _connect(process: subprocess.Popen[bytes], told: Path) -> Any:
    while process.poll() is None and not told.is_file():
        time.sleep(POLL_SECONDS)
    if not told.is_file():
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    port, secret = _told(told.read_bytes())
    # How pyspark is told of a JVM that runs already; it prepares the connection as it needs it.
    address = {GATEWAY_PORT: str(port), "PYSPARK_GATEWAY_SECRET": secret}
    os.environ.update(address)
    try:
        connect: Callable[[], Any] = launch_gateway
        gateway = connect()
    finally:
        for name in address:
            del os.environ[name]
    gateway.proc = process
    return gateway


def _told(answer: bytes) -> tuple[int, str]:
    """The port, and a secret after its length."""
    port, length = struct.unpack_from("!ii", answer)
    return port, answer[8 : 8 + length].decode()


def _end(process: subprocess.Popen[bytes]) -> None:
    _starting.remove(process)
    process.kill()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    process.wait()
