from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from aiosmtpd.controller import Controller


class Hook:
    """A web server that takes notices, or refuses them."""

    def __init__(self):
        self.received, self.status = [], 200
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if hook.status == 200:
                    hook.received.append(json.loads(body))
                self.send_response(hook.status)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"json://127.0.0.1:{self.server.server_port}/hook"

    @property
    def titles(self):
        return [item["title"] for item in self.received]


@contextmanager
def serving():
    hook = Hook()
    thread = threading.Thread(target=hook.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hook
    finally:
        hook.server.shutdown()
        thread.join()
        hook.server.server_close()


@pytest.fixture
def hook():
    with serving() as made:
        yield made


class Mails:
    def __init__(self):
        self.received = []

    async def handle_DATA(self, server, session, envelope):
        self.received.append(envelope)
        return "250 OK"


@pytest.fixture
def mails():
    """A mail server on loopback; its address is for apprise."""
    handler = Mails()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(handler, hostname="127.0.0.1", port=port)
    controller.start()
    handler.url = f"mailto://127.0.0.1:{port}?from=neve@example.com&to=ops@example.com"
    try:
        yield handler
    finally:
        controller.stop()
