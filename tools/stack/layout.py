"""Where the stack keeps its things, and what it says about itself in stack.json."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
CHECKOUT = Path(__file__).resolve().parents[2]

NEVE_YAML = "neve.yaml"

Facts = dict[str, Any]


class StackError(Exception):
    """One sentence about what keeps a part from running."""


def cache_folder() -> Path:
    given = os.environ.get("NEVE_CACHE")
    return (Path(given) if given else Path.home() / ".cache" / "neve").absolute() / "stack"


def stack_home() -> Path:
    given = os.environ.get("NEVE_STACK_HOME")
    return (Path(given) if given else CHECKOUT / ".neve" / "stack").absolute()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file; the system lets go of it if this process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Waiting for another process that holds {path}.", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@dataclass
class Stack:
    """One stack: its folder, and the facts of each part that was started in it.

    Facts outlive a stopped part, so that it comes back under the port that the others know.
    """

    home: Path
    facts: dict[str, Facts] = field(default_factory=dict)

    @property
    def json_path(self) -> Path:
        return self.home / "stack.json"

    def pid_path(self, part: str) -> Path:
        return self.home / f"{part}.pid"

    def log_path(self, part: str) -> Path:
        return self.home / "logs" / f"{part}.log"

    def data_folder(self, part: str) -> Path:
        folder = self.home / "data" / part
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def save(self) -> None:
        write_private(self.json_path, json.dumps(self.facts, indent=2) + "\n")

    def forget(self) -> None:
        """Drop data and facts, so that the next stack starts empty; the logs stay."""
        shutil.rmtree(self.home / "data", ignore_errors=True)
        self.json_path.unlink(missing_ok=True)
        (self.home / NEVE_YAML).unlink(missing_ok=True)
        self.facts = {}

    def port(self, part: str) -> int:
        """The port from the environment, or the part's port of last time, or a free one."""
        variable = f"NEVE_{part.upper()}_PORT"
        given = os.environ.get(variable)
        if given is not None:
            if not given.isdecimal() or not 0 < int(given) < 65536:
                raise StackError(f"{variable} is {given!r}, which is not a port number.")
            return int(given)
        known = self.facts.get(part, {}).get("port")
        return known if known is not None else _free_port()

    def credentials(self, part: str) -> tuple[str, str]:
        """Made up once per stack: nothing outside this machine's loopback accepts them."""
        known = self.facts.get(part, {})
        return (
            known.get("access_key") or "neve" + secrets.token_hex(8),
            known.get("secret_key") or secrets.token_hex(20),
        )


def open_stack(home: Path) -> Stack:
    home.mkdir(parents=True, exist_ok=True)
    stack = Stack(home)
    if stack.json_path.exists():
        try:
            stack.facts = json.loads(stack.json_path.read_text())
        except ValueError as error:
            raise StackError(f"{stack.json_path} is not JSON; delete it: {error}.") from error
    return stack


def write_private(path: Path, text: str) -> None:
    """Write the whole file or nothing of it, readable by its owner alone: it holds credentials."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    temporary.replace(path)


def write_properties(path: Path, values: dict[str, str]) -> None:
    """Write a Java properties file, in which a backslash starts an escape."""
    lines = (f"{key}={value}\n".replace("\\", "\\\\") for key, value in values.items())
    write_private(path, "".join(lines))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
