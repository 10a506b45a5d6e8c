"""A REST catalog of one table on loopback: it applies commits, and answers as it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


class RestTable:
    """The table's metadata, every commit that was sent, and how commits are answered."""

    def __init__(self, metadata: Json, location: str) -> None:
        self.metadata = metadata
        self.location = location
        self.commits: list[Json] = []
        self.status = 200
        self.applies = True
        #: Called between the requirements' judgement by the client and the server's commit.
        self.before_commit: Callable[[], None] = lambda: None
        self.silent_seconds = 0.0
        #: What the server says about itself, and about how files of the table are reached.
        self.configuration: Json = {"defaults": {}, "overrides": {}}
        self.config: Json = {}
        #: Paths that lead elsewhere.
        self.redirects: dict[str, str] = {}
        #: Paths that were asked for.
        self.asked: list[str] = []

    def answer(self) -> Json:
        return {
            "metadata-location": self.location,
            "metadata": self.metadata,
            "config": self.config,
        }

    def commit(self, request: Json) -> tuple[int, Json]:
        self.commits.append(request)
        self.before_commit()
        if self.applies and not all(self._holds(r) for r in request["requirements"]):
            return 409, _error(409, "a requirement does not hold")
        if self.applies:
            for update in request["updates"]:
                self._apply(update)
            entry = {"timestamp-ms": self.metadata["last-updated-ms"]}
            log = [
                *self.metadata.get("metadata-log", []),
                {**entry, "metadata-file": self.location},
            ]
            self.metadata = {**self.metadata, "metadata-log": log}
            self.location += "+"
        time.sleep(self.silent_seconds)
        if self.status != 200:
            return self.status, _error(self.status, "as told")
        return 200, self.answer()

    def _holds(self, requirement: Json) -> bool:
        if requirement["type"] == "assert-table-uuid":
            return bool(requirement["uuid"] == self.metadata["table-uuid"])
        ref = self.metadata.get("refs", {}).get(requirement["ref"])
        return bool((ref["snapshot-id"] if ref else None) == requirement["snapshot-id"])

    def _apply(self, update: Json) -> None:
        """As Iceberg's own server does it: refs go with the snapshot that they point to."""
        refs = dict(self.metadata.get("refs", {}))
        if update["action"] == "set-snapshot-ref":
            name = update["ref-name"]
            refs[name] = {k: v for k, v in update.items() if k not in ("action", "ref-name")}
            if name == "main":
                self.metadata["current-snapshot-id"] = update["snapshot-id"]
        if update["action"] == "add-snapshot":
            added = update["snapshot"]
            self.metadata["snapshots"] = [*self.metadata.get("snapshots", []), added]
            self.metadata["last-sequence-number"] = added["sequence-number"]
        if update["action"] == "remove-snapshot-ref":
            del refs[update["ref-name"]]
        if update["action"] == "remove-snapshots":
            gone = update["snapshot-ids"]
            kept = [s for s in self.metadata["snapshots"] if s["snapshot-id"] not in gone]
            self.metadata["snapshots"] = kept
            refs = {n: ref for n, ref in refs.items() if ref["snapshot-id"] not in gone}
        self.metadata["refs"] = refs


def _error(status: int, message: str) -> Json:
    return {"error": {"message": message, "type": "Told", "code": status}}


@contextmanager
def serving(table: RestTable) -> Iterator[str]:
    """The address of a server that runs for the length of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            table.asked.append(self.path)
            if target := table.redirects.get(self.path.partition("?")[0]):
                self.send_response(302)
                self.send_header("Location", target)
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif self.path.startswith("/v1/config"):
                self._send(200, table.configuration)
            else:
                self._send(200, table.answer())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self._send(*table.commit(json.loads(body)))

        def _send(self, status: int, document: Json) -> None:
            data = json.dumps(document).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except ConnectionError:
                # The client did not wait for the answer, as told.
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    with listening(Handler) as address:
        yield address


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address at which the handler answers, for the length of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
