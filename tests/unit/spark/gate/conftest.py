"""A scripted server on loopback in the catalog's place, and the gate before it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests

from neve.spark.gate import settle
from neve.spark.gate.server import CommitGate
from neve.spark.gate.upstream import Upstream

BASE, OURS, THEIRS = 1, 2, 3
TABLE_PATH = "v1/p/namespaces/a%1Fb/tables/t%20x"


def snapshot(snapshot_id: int, parent: int | None, sequence_number: int = 0) -> dict[str, Any]:
    return {
        "snapshot-id": snapshot_id,
        "parent-snapshot-id": parent,
        "sequence-number": sequence_number or snapshot_id,
        "manifest-list": f"file:/{snapshot_id}.avro",
    }


def table_at(*history: int, main: int | None = None) -> dict[str, Any]:
    """A loaded table whose snapshots came one after the other; main is at the last one."""
    pairs = zip(history, (None, *history[:-1]), strict=True)
    head = main or history[-1]
    return {
        "metadata-location": f"file:/{len(history)}.metadata.json",
        "metadata": {
            "table-uuid": "u-1",
            "format-version": 2,
            "last-sequence-number": max(history),
            "current-snapshot-id": head,
            "properties": {},
            "refs": {"main": {"snapshot-id": head, "type": "branch"}},
            "snapshots": [snapshot(own, parent) for own, parent in pairs],
        },
    }


def append(snapshot_id: int = OURS, parent: int = BASE, ref: str = "main") -> dict[str, Any]:
    """The request that commits a snapshot to a branch."""
    return {
        "requirements": [
            {"type": "assert-table-uuid", "uuid": "u-1"},
            {"type": "assert-ref-snapshot-id", "ref": ref, "snapshot-id": parent},
        ],
        "updates": [
            {"action": "add-snapshot", "snapshot": snapshot(snapshot_id, parent)},
            {
                "action": "set-snapshot-ref",
                "ref-name": ref,
                "snapshot-id": snapshot_id,
                "type": "branch",
            },
        ],
    }


@dataclass
class Said:
    """One answer; `status` None breaks the connection."""

    status: int | None
    document: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    #: Bytes that are announced and never come.
    missing: int = 0

    @property
    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        return b"" if self.document is None else json.dumps(self.document).encode()


@dataclass
class Catalog:
    """What was asked, and what is answered: by method, one after the other, the last for ever."""

    address: str = ""
    answers: dict[str, list[Said]] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    def says(self, method: str, *answers: Said) -> None:
        self.answers[method] = list(answers)

    def next_answer(self, method: str) -> Said:
        script = self.answers.get(method) or [Said(404)]
        return script.pop(0) if len(script) > 1 else script[0]

    def count(self, method: str) -> int:
        return sum(asked[0] == method for asked in self.asked)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    catalog: Catalog

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.catalog.asked.append((self.command, self.path, dict(self.headers.items()), body))
        said = self.catalog.next_answer(self.command)
        if said.status is None:
            self.close_connection = True
            return
        self.send_response_only(said.status)
        for key, value in said.headers.items():
            self.send_header(key, value)
        if said.status not in (204, 304) and "Transfer-Encoding" not in said.headers:
            self.send_header("Content-Length", str(len(said.body) + said.missing))
        self.end_headers()
        if self.command != "HEAD" and said.status not in (204, 304):
            self.wfile.write(said.body)
        self.close_connection = self.close_connection or said.missing > 0

    do_GET = do_HEAD = do_POST = do_DELETE = do_PUT = _handle

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def server() -> Iterator[Catalog]:
    made = Catalog()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"catalog": made}))
    server.daemon_threads = True
    made.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def catalog(server: Catalog) -> Catalog:
    server.answers.clear()
    server.asked.clear()
    return server


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the gate would have waited."""
    waited: list[float] = []
    monkeypatch.setattr(settle.Settler.__init__, "__defaults__", (waited.append,))
    return waited


@pytest.fixture(scope="session")
def gate() -> Iterator[CommitGate]:
    made = CommitGate()
    yield made
    made.close()


@pytest.fixture
def uri(gate: CommitGate, catalog: Catalog, pauses: list[float]) -> str:
    """Where the JVM would find the catalog."""
    return gate.open(Upstream(f"{catalog.address}/api", 5.0, 5.0))


Send = Callable[..., requests.Response]


@pytest.fixture
def send(uri: str) -> Iterator[Send]:
    """Sends a request through the gate as it is written, and follows nothing."""
    with requests.Session() as session:

        def send(method: str, path: str, document: Any = None, **kept: Any) -> requests.Response:
            body = None if document is None else json.dumps(document).encode()
            request = requests.Request(method, f"{uri}/{path}", data=body, **kept).prepare()
            request.url = f"{uri}/{path}"
            return session.send(request, timeout=20, allow_redirects=False)

        yield send
