"""A REST catalog that answers for each table with the lie of its name."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.unit.catalog.rest_server import listening

Json = dict[str, Any]
ELSEWHERE = "http://169.254.169.254/latest"


def nested(levels: int) -> str:
    """A schema, as a text: whoever made it from values would be as deep as it."""
    ids = range(1, levels + 1)
    begun = (f'{{"id": {n}, "name": "a", "required": false, "type": ' for n in ids)
    struct = '{"type": "struct", "fields": ['
    inner = struct.join(begun) + '"int"' + "}]}" * (levels - 1)
    return f'{{"type": "struct", "schema-id": 0, "fields": [{inner}}}]}}'


def lies(good: Json) -> dict[str, Any]:
    """Answers for the table of each name: a document, or the very bytes."""
    metadata = good["metadata"]
    (snapshot,) = metadata["snapshots"]

    def said(**changed: Any) -> Json:
        return {**good, "metadata": {**metadata, **changed}}

    def listed(place: str) -> Json:
        return said(snapshots=[{**snapshot, "manifest-list": place}])

    def deep(levels: int) -> bytes:
        return json.dumps(said(schemas=["deep"])).replace('"deep"', nested(levels)).encode()

    return {
        "no_json": b"<html><script>alert(1)</script>",
        "empty": b"",
        "a_list": [],
        "a_null": None,
        "a_number": 5,
        "deep_json": b'{"metadata":' + b"[" * 100_000,
        "half": json.dumps(good).encode()[:200],
        "no_text": b"\xff\xfe\x00",
        "nothing": {},
        "no_metadata": {**good, "metadata": None},
        "of_another_format": said(**{"format-version": 99}),
        "with_a_word_for_a_number": said(**{"format-version": "two"}),
        "without_a_schema": said(schemas=[]),
        "of_another_schema": said(**{"current-schema-id": 7}),
        "deep_schema": deep(200),
        "very_deep_schema": deep(3000),
        "of_another_head": said(refs={"main": {"snapshot-id": 4711, "type": "branch"}}),
        "of_another_snapshot": said(**{"current-snapshot-id": 4711}),
        "listed_in_etc": listed("file:///etc/passwd"),
        "listed_elsewhere": listed(ELSEWHERE),
        "listed_nowhere": listed(""),
        "listed_by_no_text": listed("file:///tmp/\x00\x1b[2J"),
        "listed_by_a_device": listed("file:///dev/full"),
        "listed_by_a_folder": listed("file:///etc"),
        "listed_by_escapes": listed("file:///tmp/%2e%2e/%2e%2e/etc/passwd"),
        "packed": gzip.compress(b"[" + b" " * 3_000_000),
        "moved": 302,
        "broken": 500,
        "forbidden": 403,
        "teapot": 418,
    }


class HostileCatalog:
    """What it was asked, and what it answers."""

    def __init__(self, good: Json) -> None:
        self.answers = lies(good)
        self.posts: list[str] = []

    def answer(self, path: str) -> tuple[int, bytes]:
        if path.startswith("/v1/config"):
            return 200, b'{"defaults": {}, "overrides": {}}'
        found = self.answers.get(path.partition("?")[0].rpartition("/")[2], 404)
        if isinstance(found, int):
            return (200, b"5") if found == 5 else (found, b"{}")
        return 200, found if isinstance(found, bytes) else json.dumps(found).encode()


def _handler(catalog: HostileCatalog) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = catalog.answer(self.path)
            self.send_response(status)
            if body[:2] == b"\x1f\x8b":
                self.send_header("Content-Encoding", "gzip")
            if status == 302:
                self.send_header("Location", ELSEWHERE)
            self.send_header("Content-Length", str(len(body)))
            # Whoever has read enough of it goes away.
            with suppress(ConnectionError):
                self.end_headers()
                self.wfile.write(body)

        do_HEAD = do_GET

        def do_POST(self) -> None:
            catalog.posts.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def serving(catalog: HostileCatalog) -> AbstractContextManager[str]:
    return listening(_handler(catalog))
