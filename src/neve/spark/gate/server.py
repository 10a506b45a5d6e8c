"""The gate's HTTP server: commits are settled, everything else passes as it is."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from neve.spark.gate.commits import TABLE_COMMIT, is_commit
from neve.spark.gate.routes import Routes, reachable_from_afar
from neve.spark.gate.settle import Settler, error_answer
from neve.spark.gate.upstream import (
    MAX_BODY_BYTES,
    NO_BODY_STATUSES,
    Answer,
    Headers,
    NoAnswer,
    Request,
    Upstream,
)

LOOPBACK = "127.0.0.1"
CONFIG_PATH = "v1/config"
CREATE_TABLE = re.compile(r"v1/(?:.+/)?namespaces/[^/]+/tables")
#: Not one that Iceberg's client takes for an invitation to ask again.
GIVE_UP_STATUS = 599
#: How soon a gate that is being closed is closed; every command that used Spark waits for it.
CLOSING_POLL_SECONDS = 0.05
#: A connection of the JVM's pool may rest for so long.
IDLE_SECONDS = 900


class CommitGate:
    """A reverse proxy on loopback, for the JVM of this process."""

    def __init__(self, *, has_distant_executors: bool = False) -> None:
        self._server = _Server((LOOPBACK, 0), _Handler)
        self.routes = Routes(f"http://{LOOPBACK}:{self._server.server_port}")
        self._server.routes = self.routes
        self._server.has_distant_executors = has_distant_executors
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            args=(CLOSING_POLL_SECONDS,),
            name="neve-commit-gate",
            daemon=True,
        )
        self._thread.start()

    def open(self, upstream: Upstream) -> str:
        """The address under which the JVM reaches a catalog."""
        return self.routes.add(upstream)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._server.hang_up()
        self._thread.join()
        self.routes.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    routes: Routes
    has_distant_executors: bool

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._connections: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no error, and nothing of a request may be printed."""

    def hang_up(self) -> None:
        """End connections that wait for requests, and with them their threads."""
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                # The other side was faster.
                self._connections.discard(connection)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    server: _Server

    def _handle(self) -> None:
        found = self.server.routes.find(self.path)
        size = self._body_size()
        if size is None or found is None:
            # The body stays unread, so the connection cannot be used again.
            self.close_connection = True
            status, why = (404, "There is no such address.") if found is None else (413, "Refused.")
            self._answer(error_answer(status, "RESTException", why))
            return
        upstream, path = found
        request = Request(self.command, path, _joined(self.headers.items()), self.rfile.read(size))
        try:
            self._forward(upstream, request)
        except NoAnswer as error:
            answer = error_answer(error.status, "RESTException", error.what)
            # Without the gate the JVM would not wait again and again for who is not there, either.
            status = error.status if error.is_worth_a_retry else GIVE_UP_STATUS
            self._answer(replace(answer, status=status))

    do_GET = do_HEAD = do_POST = do_DELETE = do_PUT = _handle

    def _forward(self, upstream: Upstream, request: Request) -> None:
        if is_commit(request.method, request.path):
            self._answer(Settler(upstream).commit(request))
        elif _is_config(request):
            self._answer(self.server.routes.configured(upstream, upstream.ask(request)))
        elif self.server.has_distant_executors and _loads_table(request):
            self._answer(reachable_from_afar(upstream, upstream.ask(request)))
        else:
            with upstream.stream(request) as (status, headers, chunks):
                self._pass_on(status, headers, chunks)

    def _body_size(self) -> int | None:
        """How long the request's body is, if that is told and not too much."""
        given = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not given.isdecimal():
            return None
        return int(given) if int(given) <= MAX_BODY_BYTES else None

    def _answer(self, answer: Answer) -> None:
        headers = [*answer.headers]
        if answer.status not in NO_BODY_STATUSES:
            headers.append(("Content-Length", str(len(answer.body))))
        self._pass_on(answer.status, headers, iter([answer.body]))

    def _pass_on(self, status: int, headers: Headers, chunks: Iterator[bytes]) -> None:
        has_body = self.command != "HEAD" and status not in NO_BODY_STATUSES
        is_chunked = has_body and not any(k.lower() == "content-length" for k, _ in headers)
        self.send_response_only(status)
        for key, value in headers:
            self.send_header(key, value)
        if is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if not has_body:
            return
        try:
            for chunk in chunks:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk) if is_chunked else chunk)
            if is_chunked:
                self.wfile.write(b"0\r\n\r\n")
        except NoAnswer:
            # The answer has begun; only an early end can tell that it is not whole.
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are nobody's business: their paths hold the secret."""


def _is_config(request: Request) -> bool:
    return request.method == "GET" and request.path.partition("?")[0] == CONFIG_PATH


def _loads_table(request: Request) -> bool:
    path = request.path.partition("?")[0]
    if request.method == "GET":
        return TABLE_COMMIT.fullmatch(path) is not None
    return request.method == "POST" and CREATE_TABLE.fullmatch(path) is not None


def _joined(headers: list[tuple[str, str]]) -> dict[str, str]:
    """Headers that came several times, as one each."""
    joined: dict[str, str] = {}
    for key, value in headers:
        name = next((known for known in joined if known.lower() == key.lower()), key)
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined
