"""CPU-seconds, wall time and peak memory of this process and everything below it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil

SAMPLE_SECONDS = 0.05


@dataclass
class Usage:
    """What a block took. Memory is the largest resident size of one process of each kind."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    driver_python_mb: float = 0.0
    task_python_mb: float = 0.0
    jvm_mb: float = 0.0
    #: The largest sum over all processes at one moment.
    tree_mb: float = 0.0
    #: CPU-seconds of the driver's Python, of Python in tasks and of the JVM, as far as was seen.
    kinds: dict[str, float] = field(default_factory=dict)


def cpu_seconds() -> float:
    """User and system time of the tree, with that of children that have ended."""
    root = psutil.Process()
    total = 0.0
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


@contextmanager
def measured() -> Iterator[Usage]:
    usage, stop = Usage(), threading.Event()
    seen = _own_seconds()
    before = dict(seen)

    sampling_s = [0.0]

    def sample() -> None:
        root = psutil.Process()
        try:
            sample_until_stopped(root)
        finally:
            sampling_s[0] = time.thread_time()

    def sample_until_stopped(root: psutil.Process) -> None:
        while not stop.wait(SAMPLE_SECONDS):
            seen.update(_own_seconds())
            tree_mb = _mb(root)
            usage.driver_python_mb = max(usage.driver_python_mb, tree_mb)
            for process in root.children(recursive=True):
                try:
                    name, size_mb = process.name(), _mb(process)
                except psutil.Error:
                    continue
                tree_mb += size_mb
                if "python" in name:
                    usage.task_python_mb = max(usage.task_python_mb, size_mb)
                elif "java" in name:
                    usage.jvm_mb = max(usage.jvm_mb, size_mb)
            usage.tree_mb = max(usage.tree_mb, tree_mb)

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    cpu, wall = cpu_seconds(), time.perf_counter()
    try:
        yield usage
    finally:
        usage.wall_s = time.perf_counter() - wall
        waited_for = cpu_seconds() - cpu
        stop.set()
        thread.join()
        # A JVM that ends by itself takes along what its Python workers took: nobody waited for
        # them. What was seen of each process while it lived counts, where that is more.
        seen_of_each = sum(seconds - before.get(key, 0.0) for key, seconds in seen.items())
        # Looking takes time as well, and on a busy machine seconds of it.
        usage.cpu_s = max(waited_for, seen_of_each) - sampling_s[0]
        for key, seconds in seen.items():
            kind = key[2]
            usage.kinds[kind] = usage.kinds.get(kind, 0.0) + seconds - before.get(key, 0.0)
        usage.kinds["driver"] = usage.kinds.get("driver", 0.0) - sampling_s[0]


def _own_seconds() -> dict[tuple[int, float, str], float]:
    """What each living process of the tree has taken itself, by pid, start and kind."""
    root = psutil.Process()
    own: dict[tuple[int, float, str], float] = {}
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
            kind = "driver" if process == root else "jvm" if "java" in process.name() else "task"
            own[process.pid, process.create_time(), kind] = times.user + times.system
        except psutil.Error:
            continue
    return own


def _mb(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / 2**20
