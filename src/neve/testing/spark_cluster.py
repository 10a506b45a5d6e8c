"""A standalone Spark cluster on loopback: a master and two workers out of the installed pyspark."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psutil

from neve.spark.java import find_java
from neve.spark.launch import spark_home

HOST = "127.0.0.1"
#: Under two names: Spark begins a copy of a task on another host alone.
HOSTS = (HOST, "localhost")
EXECUTOR = "CoarseGrainedExecutorBackend"
Found = TypeVar("Found")


@dataclass
class SparkCluster:
    """The master's address, and the processes of it all."""

    master: str
    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def executors(self) -> list[psutil.Process]:
        """The JVMs that run tasks, whichever application they are of."""
        found = []
        for process in self.processes:
            for child in psutil.Process(process.pid).children(recursive=True):
                try:
                    if EXECUTOR in " ".join(child.cmdline()):
                        found.append(child)
                except psutil.NoSuchProcess:
                    continue
        return found

    def writers(self, folder: Path) -> dict[str, psutil.Process]:
        """Drafts in the folder that some task has open, each with the process that writes it."""
        found: dict[str, psutil.Process] = {}
        # Looked for often: processes are asked only when there is something to ask them about.
        if not any(folder.rglob("*.tmp")):
            return found
        for executor in self.executors():
            for child in _descendants(executor):
                for name in _open_files(child.pid):
                    if name.startswith(str(folder)) and name.endswith(".tmp"):
                        found[name] = child
        return found


def executor_of(worker: psutil.Process) -> psutil.Process:
    """The JVM that a worker of Python belongs to."""
    return next(each for each in worker.parents() if EXECUTOR in " ".join(each.cmdline()))


def wait_for(
    what: str,
    look: Callable[[], Found],
    seconds: float = 400.0,
    during: subprocess.Popen[str] | None = None,
) -> Found:
    """What a look finds, looked for all the time; a process that ends early says why."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        if during is not None and during.poll() is not None:
            raise AssertionError(f"{what} did not happen: {during.communicate()}")
        time.sleep(0.01)
    raise AssertionError(f"{what} did not happen within {seconds:.0f} s")


@contextmanager
def spark_cluster(folder: Path, workers: int = 2) -> Iterator[SparkCluster]:
    port = _free_port()
    cluster = SparkCluster(f"spark://{HOST}:{port}", folder)
    try:
        _begin(cluster, "master", "master.Master", *_at(HOST), "--port", str(port))
        wait_for("the master", lambda: _listens(port))
        for number in range(workers):
            own = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"w{number}"))
            host = _at(HOSTS[number % len(HOSTS)])
            _begin(cluster, f"worker-{number}", "worker.Worker", *host, *own, cluster.master)
        log = folder / "master.log"
        wait_for("all workers", lambda: log.read_text().count("Registering worker") == workers)
        yield cluster
    finally:
        for process in reversed(cluster.processes):
            process.terminate()
        for executor in cluster.executors():
            # One that is stopped does not listen, and nobody else ends it.
            executor.kill()
        for process in cluster.processes:
            process.wait(timeout=60)


def _at(host: str) -> tuple[str, ...]:
    return ("--host", host, "--webui-port", "0")


def _begin(cluster: SparkCluster, name: str, kind: str, *words: str) -> None:
    home = spark_home()
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java(os.environ).home),
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_NO_DAEMONIZE": "1",
        # Executors inherit it, and a test's own path would hide what they lack.
        "PYTHONPATH": "",
    }
    with (cluster.folder / f"{name}.log").open("wb") as log:
        cluster.processes.append(
            subprocess.Popen(
                [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *words],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        )


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        found: list[psutil.Process] = process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return found


def _open_files(pid: int) -> list[str]:
    """What psutil would tell, too, but not of a file that has only just been opened."""
    names = []
    try:
        for descriptor in os.scandir(f"/proc/{pid}/fd"):
            names.append(os.readlink(descriptor.path))
    except OSError:
        # It ended, or closed one of them, meanwhile.
        return names
    return names


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
