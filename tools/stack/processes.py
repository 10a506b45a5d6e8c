"""Start a process that outlives us, know it again later, and stop it by its pid alone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from layout import LOOPBACK, Facts, StackError, write_private


@dataclass(frozen=True)
class Launch:
    """What a part wants started, and what the others may know about it."""

    command: list[str]
    facts: Facts
    environment: dict[str, str] = field(default_factory=dict)


def spawn(launch: Launch, log: Path, pid_path: Path) -> subprocess.Popen[bytes]:
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        # The log of the process before this one may tell why it had to be started again.
        log.replace(log.with_suffix(".log.old"))
    with log.open("wb") as out:
        process = subprocess.Popen(
            launch.command,
            env=os.environ | launch.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            # Its own session: Ctrl-C in the terminal that started the stack does not reach it.
            start_new_session=True,
        )
    record = {"pid": process.pid, "started": _start_time(process.pid)}
    write_private(pid_path, json.dumps(record) + "\n")
    return process


def refuse_taken(part: str, port: int) -> None:
    """Whatever listens on the port is not ours, and might be taken for the part."""
    with socket.socket() as probe:
        # Connections that have just ended do not keep a server from the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise StackError(
                f"port {port} of {LOOPBACK} cannot be had ({error.strerror}): end what uses it, "
                f"or set NEVE_{part.upper()}_PORT to another."
            ) from error


def running_pid(pid_path: Path) -> int | None:
    """The pid in the file, if that process still runs and is the very one that was started.

    Pids are used again, after a reboot above all; the recorded start time tells them apart.
    """
    try:
        record = json.loads(pid_path.read_text())
        pid, started = int(record["pid"]), record["started"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if started is not None and _start_time(pid) == started else None


def await_ready(
    process: subprocess.Popen[bytes], ready: Callable[[], bool], log: Path, seconds: float
) -> None:
    deadline = time.monotonic() + seconds
    while True:
        answered = ready()
        # Asked after the answer: something else may be answering on the port of a dead process.
        code = process.poll()
        if code is not None:
            raise StackError(f"the process ended with code {code}.\n{tail(log)}")
        if answered:
            return
        if time.monotonic() > deadline:
            raise StackError(f"no answer after {seconds:.0f} s.\n{tail(log)}")
        time.sleep(0.2)


def stop(pid_path: Path, seconds: float) -> bool:
    """Ask the process to end, then insist; True if there was one to stop."""
    pid = running_pid(pid_path)
    if pid is not None:
        for sign, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, 10.0)):
            os.kill(pid, sign)
            if _gone(pid_path, patience):
                break
        else:
            raise StackError(f"process {pid} does not end; look at it by hand.")
    pid_path.unlink(missing_ok=True)
    return pid is not None


def tail(log: Path, lines: int = 20) -> str:
    try:
        last = log.read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        last = []
    return "\n".join([f"The end of {log}:", *(f"  {line}" for line in last)])


def _gone(pid_path: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while running_pid(pid_path) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _start_time(pid: int) -> str | None:
    """When the process started, in the system's own words; None if there is no such process."""
    if Path("/proc/self/stat").exists():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        # The name in parentheses may hold spaces: count the fields after it.
        fields = stat.rpartition(")")[2].split()
        # A zombie has ended and only waits for a parent to ask; but while other threads of it run,
        # as they do for a moment when a large Java ends, it still holds its ports and locks.
        return None if fields[0] == "Z" and fields[17] == "1" else fields[19]
    listed = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.split()
    return None if not listed or listed[0].startswith("Z") else " ".join(listed[1:])
