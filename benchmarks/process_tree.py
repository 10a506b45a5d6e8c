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

    def sample() -> None:
        root = psutil.Process()
        while not stop.wait(SAMPLE_SECONDS):
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
        usage.cpu_s = cpu_seconds() - cpu
        stop.set()
        thread.join()


def _mb(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / 2**20
