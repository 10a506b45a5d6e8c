"""Where a server of the same configuration runs on this machine: a small file beside the state.

The server writes it (`announce`), and whoever wants to hand a job over reads it (`find_server`). It
is believed only where it is of the same user, machine and configuration, and the server answers.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel

from neve.model.errors import ConfigError
from neve.settings import Settings

HEALTH = "/health"
HEALTH_SECONDS = 2.0
MAX_BYTES = 10_000
#: What listens on all addresses is asked on this one.
ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A server that says that it is there."""

    url: str
    pid: int
    machine: str
    #: The digest of its configuration.
    configuration: str


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        bound = socket.create_server((host, port), family=family, reuse_port=False)
    except OSError as error:
        raise ConfigError(
            f"The address {host}:{port} cannot be listened on: {error.strerror}.",
            next_step="Give another one with --host and --port.",
        ) from error
    # Connections inherit it. Without it each answer waits 40 ms for a client's acknowledgement:
    # asyncio sets it for its own sockets alone.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


@contextmanager
def announce(settings: Settings, host: str, port: int) -> Iterator[ServerAddress]:
    """Let commands of the same configuration find this server, for the length of the block.

    For a process that has both the API and a worker: what is handed over must be run by somebody.
    """
    host = ANY_HOST.get(host, host)
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    address = ServerAddress(url, os.getpid(), socket.gethostname(), configuration_digest(settings))
    file = address_file(settings)
    # A server without this file is a server all the same.
    with suppress(OSError):
        _write(file, address)
    try:
        yield address
    finally:
        with suppress(OSError):
            if _read(file) == address:
                file.unlink()


def find_server(settings: Settings) -> ServerAddress | None:
    """The server that a job can be handed to; None where there is none, or any doubt."""
    address = _read(address_file(settings))
    if address is None or address.configuration != configuration_digest(settings):
        return None
    if address.machine != socket.gethostname() or not is_running(address.pid):
        return None
    return address if answers(address.url) else None


def address_file(settings: Settings) -> Path:
    """Beside the state's file; for a state on a server, in the user's own folder."""
    prefix = "sqlite:///"
    url = settings.state.url
    if url.startswith(prefix):
        folder = Path(url.removeprefix(prefix).partition("?")[0]).parent
    else:
        folder = Path.home() / ".neve"
    return folder / f"server-{configuration_digest(settings)[:16]}.json"


def configuration_digest(settings: Settings) -> str:
    """The same for the same configuration and version of Neve, whatever process asks."""
    # Where a server listens does not change what it would do with a job.
    text = _canonical(settings.model_copy(update={"server": None}))
    return hashlib.sha256(f"{version('neve')} {text}".encode()).hexdigest()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def answers(url: str) -> bool:
    """Whether a server at the address says that it is well."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        return False
    try:
        # Not through a proxy: it is this machine.
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=HEALTH_SECONDS)
        try:
            connection.request("GET", HEALTH)
            return connection.getresponse().status == http.HTTPStatus.OK
        finally:
            connection.close()
    except (OSError, ValueError, http.client.HTTPException):
        return False


def _write(file: Path, address: ServerAddress) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    made = file.with_suffix(f".{os.getpid()}")
    content = {item.name: getattr(address, item.name) for item in fields(address)}
    with suppress(FileNotFoundError):
        made.unlink()
    # Its digest knows the secrets of the configuration, though nobody can read them in it.
    opened = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "w", encoding="utf-8") as out:
        json.dump(content, out)
    os.replace(made, file)


def _read(file: Path) -> ServerAddress | None:
    """What the file says; None where it is not ours, or not such a file."""
    try:
        with file.open("rb") as opened:
            state = os.fstat(opened.fileno())
            if state.st_uid != os.getuid() or state.st_mode & 0o022:
                # Whoever may write it could have jobs handed to himself.
                return None
            found = json.loads(opened.read(MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    kinds = {"url": str, "pid": int, "machine": str, "configuration": str}
    if not isinstance(found, dict) or found.keys() != kinds.keys():
        return None
    if not all(type(found[name]) is kind for name, kind in kinds.items()) or found["pid"] <= 0:
        return None
    return ServerAddress(**found)


def _canonical(value: Any) -> str:
    """A text that is the same for equal values; sets have no order of their own."""
    if isinstance(value, BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    elif is_dataclass(value) and not isinstance(value, type):
        value = {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, Mapping):
        pairs = sorted(f"{key!r}: {_canonical(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, frozenset | set):
        return "{" + ", ".join(sorted(map(_canonical, value))) + "}"
    if isinstance(value, Collection) and not isinstance(value, str):
        return "[" + ", ".join(map(_canonical, value)) + "]"
    return repr(value)
