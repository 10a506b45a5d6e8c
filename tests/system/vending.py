"""A REST catalog that asks for tokens and vends credentials: a proxy before the stack's catalog,
which does neither.
"""

from __future__ import annotations

import http.client
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKENS = "/v1/oauth/tokens"
HOP_BY_HOP = {"transfer-encoding", "connection", "content-length", "host", "accept-encoding"}


@contextmanager
def vending_catalog(
    uri: str, vended: dict[str, Any], credential: str | None = None
) -> Iterator[str]:
    """The address of a catalog that adds `vended` to every table that it loads.

    With a credential (`id:secret`) it gives out tokens for it, and answers nobody without one.
    """
    behind = urlsplit(uri)
    token = secrets.token_hex(16)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else None
            if credential is not None and not self._is_let_in(body or b""):
                return
            headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP}
            connection = http.client.HTTPConnection(str(behind.hostname), behind.port, timeout=60)
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            if answer.status == 200 and b'"metadata-location"' in data:
                data = json.dumps({**json.loads(data), **vended}).encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)
            connection.close()

        def _is_let_in(self, body: bytes) -> bool:
            if self.path == TOKENS:
                asked = {key: value[0] for key, value in parse_qs(body.decode()).items()}
                known = f"{asked.get('client_id')}:{asked.get('client_secret')}" == credential
                self._answer(200 if known else 401, _token(token) if known else _refused())
                return False
            if self.headers.get("Authorization") == f"Bearer {token}":
                return True
            self._answer(401, _refused())
            return False

        def _answer(self, status: int, document: dict[str, Any]) -> None:
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do_HEAD = _forward

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _token(token: str) -> dict[str, Any]:
    return {
        "access_token": token,
        "token_type": "bearer",
        "expires_in": 3600,
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
    }


def _refused() -> dict[str, Any]:
    return {"error": {"message": "Not authorized", "type": "NotAuthorizedException", "code": 401}}
