"""The HTTP interface of Lambda's runtime on this machine: events are posted, answers come back.

As many at once as there are: each in a thread of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from neve.access.pages import is_strange_page
from neve.model.json_depth import MAX_DEPTH, is_deeper

INVOCATIONS = "/2015-03-31/functions/function/invocations"
#: A body of the greatest size, with its escapes.
MAX_EVENT_BYTES = 16 * 1024 * 1024
SOCKET_SECONDS = 30.0
Handler = Callable[[object, object], dict[str, Any]]


class Runner(ThreadingHTTPServer):
    """Listens on loopback, and gives what is posted to the handler."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler: Handler, host: str = "127.0.0.1", port: int = 8080) -> None:
        super().__init__((host, port), _Request)
        self.handler = handler


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = "neve"
    sys_version = ""
    timeout = SOCKET_SECONDS

    def do_POST(self) -> None:
        if is_strange_page({k.lower(): v for k, v in self.headers.items()}, changes=True):
            self.close_connection = True
            self._answer(403, {"errorMessage": "This is for programs on its own machine."})
            return
        if self.path != INVOCATIONS:
            self._answer(404, {"errorMessage": f"Events are posted to {INVOCATIONS}."})
            return
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > MAX_EVENT_BYTES:
            self.close_connection = True
            self._answer(413, {"errorMessage": "The event has no length, or is too large."})
            return
        sent = self.rfile.read(int(length))
        try:
            event = None if is_deeper(sent, MAX_DEPTH) else json.loads(sent)
        except ValueError:
            event = None
        if event is None:
            self._answer(400, {"errorMessage": "The event is not JSON."})
            return
        assert isinstance(self.server, Runner)
        self._answer(200, self.server.handler(event, None))

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """What is asked is nobody's business."""
