"""A real issuer on loopback: it describes itself, lists its keys, and signs tokens."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

#: Making one takes a tenth of a second.
KEY = RSAKey.generate_key(2048, {"kid": "k1", "use": "sig"}, private=True)
SECOND = ECKey.generate_key("P-256", {"kid": "k2", "use": "sig"}, private=True)


class Issuer:
    """What the server answers; tests change it."""

    def __init__(self, address: str) -> None:
        self.issuer = address
        self.keys: list[Any] = [KEY.as_dict(private=False)]
        #: Instead of what it should answer: a status, or a redirect.
        self.status = 200
        self.jwks_url = f"{address}/keys"
        self.asked: list[str] = []

    def token(self, claims: dict[str, Any], key: Any = KEY, **header: Any) -> str:
        made: dict[str, Any] = {"alg": "RS256", "kid": "k1", **header}
        return jwt.encode(made, claims, key, algorithms=[made["alg"]])


@contextmanager
def running_issuer() -> Iterator[Issuer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            described = {"issuer": found.issuer, "jwks_uri": found.jwks_url}
            is_keys = self.path.startswith("/keys")
            body = json.dumps({"keys": found.keys} if is_keys else described).encode()
            self.send_response(found.status)
            if found.status == 302:
                self.send_header("Location", f"{found.issuer}/keys?elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Issuer(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
