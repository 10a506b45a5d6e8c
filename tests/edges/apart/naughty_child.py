"""A process of queries that does to itself what files of strangers might do to it."""

from __future__ import annotations

import os
import sys
import tempfile
import time

from neve.apart import child
from neve.apart.messages import QueryTask


def bomb() -> bytes:
    held = []
    while True:
        held.append(bytearray(64 * 1024 * 1024))


def crash() -> bytes:
    os.abort()


def endless() -> bytes:
    # One call into the interpreter's own code, which looks at no clock.
    return bytes(sum(range(10**18)))


def write() -> bytes:
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 4096)
        file.flush()
    return b'{"error": "query", "message": "written", "next_step": null}'


def answer(task: QueryTask) -> bytes:
    said = {
        "garbage": b"\xff",
        "other error": b'{"error": "access-denied", "message": "x", "next_step": null}',
        "no error": b'{"error": "__class__", "message": "x", "next_step": null}',
        "no rows": b'{"columns": 5}',
        "deep": b"[" * 100_000,
        "variables": child.error_message(
            child.QueryLimit(" ".join(sorted(os.environ)) + " " + " ".join(os.environ.values()))
        ),
        "descriptors": child.error_message(
            child.QueryLimit(" ".join(sorted(os.listdir("/proc/self/fd"), key=int)))
        ),
    }
    if task.statement in said:
        return said[task.statement]
    acts = {"bomb": bomb, "crash": crash, "endless": endless, "write": write}
    if act := acts.get(task.statement):
        return act()
    if task.statement == "wait":
        time.sleep(60)
    return child.answer(task)


if __name__ == "__main__":
    sys.exit(child.main(answer))
