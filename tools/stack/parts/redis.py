"""A Redis server for Neve's state, out of the wheel that the lock names; it loses nothing."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from layout import LOOPBACK, Facts, Stack, StackError, write_private
from processes import Launch

NEEDS: tuple[str, ...] = ()
IS_DEFAULT = False


def fetch(cache: Path) -> Path:
    # Imported here: other parts do not need the environment of the tests.
    try:
        from neve.testing.redis_server import redis_program
    except ImportError as error:
        raise StackError(f"run make setup first ({error}).") from error
    return Path(redis_program())


def start(stack: Stack, installed: Path) -> Launch:
    port = stack.port("redis")
    user, password = stack.credentials("redis")
    data = stack.data_folder("redis")
    # In a file, not in the arguments: those are seen by every user of the machine.
    write_private(
        data / "redis.conf",
        f"bind {LOOPBACK}\nport {port}\ndir {data}\nsave ''\n"
        "appendonly yes\nappendfsync always\nmaxmemory-policy noeviction\n"
        f"user default off\nuser {user} on >{password} ~* &* +@all\n",
    )
    return Launch(
        command=[str(installed), str(data / "redis.conf")],
        facts={
            "uri": f"redis://{LOOPBACK}:{port}",
            "port": port,
            "access_key": user,
            "secret_key": password,
        },
    )


def ready(facts: Facts) -> bool:
    said = b""
    try:
        with socket.create_connection((LOOPBACK, facts["port"]), timeout=5) as server:
            server.sendall(
                f"AUTH {facts['access_key']} {facts['secret_key']}\r\nPING\r\nQUIT\r\n".encode()
            )
            while received := server.recv(1024):
                said += received
    except OSError:
        return False
    return b"+PONG" in said


def settings(facts: dict[str, Facts]) -> dict[str, Any]:
    own = facts["redis"]
    login = f"{own['access_key']}:{own['secret_key']}"
    return {"state": {"url": f"redis://{login}@{LOOPBACK}:{own['port']}/0"}}
