"""Requests to the real catalog, sent as the JVM made them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

#: Headers that are about one connection, and those that the next one gets again.
HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
        *("host", "content-length", "expect"),
    }
)
CHUNK_BYTES = 1 << 16
#: Metadata of a table with very many snapshots takes some hundred megabytes.
MAX_BODY_BYTES = 1 << 30
NO_BODY_STATUSES = (204, 304)
MAX_REDIRECTS = 3

Headers = list[tuple[str, str]]


class NoAnswer(Exception):
    """The catalog gave no whole answer; `status` is what a gateway says then."""

    def __init__(self, status: int, what: str, *, is_worth_a_retry: bool = False) -> None:
        self.status = status
        self.what = what
        self.is_worth_a_retry = is_worth_a_retry
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Request:
    """A request below the catalog's address; the path is as it came, percent signs and all."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, its body decoded."""

    status: int
    headers: Headers
    body: bytes

    @property
    def retry_after(self) -> str | None:
        return next((v for k, v in self.headers if k.lower() == "retry-after"), None)


@dataclass(frozen=True)
class Upstream:
    """A REST catalog by its real address."""

    uri: str
    connect_seconds: float
    read_seconds: float
    #: By scheme; where there are none, the environment's hold, as they do for pyiceberg.
    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)
    session: Any = field(default_factory=requests.Session, repr=False, compare=False)

    def url(self, path: str) -> str:
        return f"{self.uri.rstrip('/')}/{path}"

    def ask(self, request: Request) -> Answer:
        """Send a request over a connection of its own, and take the whole answer.

        A connection that was kept may be closed by the other side at the very moment of sending,
        and then nobody knows what became of the request.
        """
        headers = {k: v for k, v in request.headers.items() if k.lower() != "accept-encoding"}
        whole = Request(
            request.method, request.path, {**headers, "Accept-Encoding": "gzip"}, request.body
        )
        with requests.Session() as fresh, self._sent(fresh, whole) as response:
            body = self._read(response.raw)
            return Answer(response.status_code, _kept(response.raw.headers, decoded=True), body)

    @contextmanager
    def stream(self, request: Request) -> Iterator[tuple[int, Headers, Iterator[bytes]]]:
        """Send a request, and pass the answer's bytes on as they come."""
        with self._sent(self.session, request) as response:
            yield (
                response.status_code,
                _kept(response.raw.headers, decoded=False),
                _chunks(response.raw),
            )

    def close(self) -> None:
        self.session.close()

    @contextmanager
    def _sent(self, session: Any, request: Request) -> Iterator[Any]:
        url = self.url(request.path)
        response = self._send(session, request, url)
        for _ in range(MAX_REDIRECTS):
            if (target := _redirected(request.method, url, response)) is None:
                break
            response.close()
            url, response = target, self._send(session, request, target)
        try:
            yield response
        finally:
            response.close()

    def _send(self, session: Any, request: Request, url: str) -> Any:
        prepared = requests.PreparedRequest()
        headers, body = _forwarded(request.headers), request.body or None
        timeout = (self.connect_seconds, self.read_seconds)
        try:
            prepared.prepare(method=request.method, url=url, headers=headers, data=body)
            # Preparing a request tidies its address up, and names may hold any character.
            prepared.url = url
            settings = session.merge_environment_settings(url, dict(self.proxies), True, None, None)
            return session.send(prepared, timeout=timeout, allow_redirects=False, **settings)
        except requests.RequestException as error:
            _no_answer(error)

    def _read(self, raw: Any) -> bytes:
        """The whole body, within the time and the size that an answer may take."""
        end = time.monotonic() + self.read_seconds
        parts, size = [], 0
        for part in _chunks(raw, decoded=True):
            size += len(part)
            if size > MAX_BODY_BYTES:
                raise NoAnswer(502, "the catalog's answer is too large")
            if time.monotonic() > end:
                raise NoAnswer(504, "the catalog's answer took too long")
            parts.append(part)
        return b"".join(parts)


def _redirected(method: str, url: str, response: Any) -> str | None:
    """Where the same host wants the same request; others would get credentials not meant for them.

    The JVM cannot follow by itself: it would go around the gate.
    """
    followed = (301, 302, 307, 308) if method in ("GET", "HEAD") else (307, 308)
    location = response.headers.get("Location")
    if response.status_code not in followed or location is None:
        return None
    target = urljoin(url, location)
    return target if urlsplit(target).hostname == urlsplit(url).hostname else None


def _chunks(raw: Any, *, decoded: bool = False) -> Iterator[bytes]:
    try:
        yield from raw.stream(CHUNK_BYTES, decode_content=decoded)
    except urllib3.exceptions.HTTPError as error:
        _no_answer(error)


def _no_answer(error: Exception) -> NoReturn:
    """In our own words: the error's would show addresses, and proxies with their passwords."""
    timeouts = (requests.Timeout, urllib3.exceptions.TimeoutError)
    if isinstance(error, requests.exceptions.SSLError):
        raise NoAnswer(502, "the catalog's certificate was not accepted") from error
    if isinstance(error, timeouts):
        raise NoAnswer(504, "the catalog gave no answer in time") from error
    if error.args and isinstance(error.args[0], urllib3.exceptions.MaxRetryError):
        raise NoAnswer(502, "the catalog could not be reached") from error
    raise NoAnswer(502, "the connection to the catalog broke", is_worth_a_retry=True) from error


def _forwarded(headers: Mapping[str, str]) -> dict[str, str]:
    named = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    return {k: v for k, v in headers.items() if k.lower() not in HOP_BY_HOP | named}


def _kept(headers: Any, *, decoded: bool) -> Headers:
    named = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    dropped = (HOP_BY_HOP - {"content-length"}) | named
    if decoded:
        # The body that goes out is another one than the body that came.
        dropped |= {"content-length", "content-encoding", "etag"}
    return [(k, v) for k, v in headers.items() if k.lower() not in dropped]
