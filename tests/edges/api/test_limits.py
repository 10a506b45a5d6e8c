"""Clients that send too much, or do not get on with it, on a live server."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.testclient import TestClient
from tests.edges.api.conftest import served

from neve.api.app import create_app
from neve.api.settings import ApiSettings
from neve.model.json_depth import is_deeper

pytestmark = pytest.mark.promise(46)

HEAD = b"POST /api/v1/compact HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def address(shared_neve):
    settings = ApiSettings(max_body_bytes=1000, patience_seconds=0.3)
    with served(shared_neve, settings) as url:
        yield url


def talk(address, *parts):
    """What the server answers until it hangs up, and how long that takes."""
    url, began = urlsplit(address), time.monotonic()
    with socket.create_connection((url.hostname, url.port), timeout=20) as line:
        found = b""
        # Who hangs up before all was read resets the line.
        with suppress(ConnectionError):
            for part in parts:
                line.sendall(part)
            while data := line.recv(65536):
                found += data
    return found, time.monotonic() - began


def test_a_body_that_says_that_it_is_too_large_is_not_read(address):
    answer, _ = talk(address, HEAD, b"Content-Length: 1001\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"urn:neve:problem:body-too-large" in answer


def test_a_body_that_turns_out_too_large_is_refused(address):
    chunk = b"1f4\r\n" + b"x" * 500 + b"\r\n"
    answer, _ = talk(address, HEAD, b"Transfer-Encoding: chunked\r\n\r\n", chunk * 3)
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_of_the_largest_size_is_read(address):
    response = httpx2.post(f"{address}/api/v1/compact", content=b" " * 1000)
    assert response.status_code == 422


def test_a_body_that_does_not_arrive_is_given_up(address):
    answer, seconds = talk(address, HEAD, b"Content-Length: 500\r\n\r\n", b"{")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert 0.2 < seconds < 15


@pytest.mark.parametrize("parts", [(), (b"GET /health HT",), (HEAD,)])
def test_headers_that_do_not_arrive_are_given_up(address, parts):
    answer, seconds = talk(address, *parts)
    assert answer == b""
    assert 0.2 < seconds < 15


def test_a_second_request_that_does_not_arrive_is_given_up(address):
    first = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    answer, seconds = talk(address, first, b"GET /hea")
    assert answer.count(b"HTTP/1.1 200") == 1
    assert 0.2 < seconds < 15


def test_headers_that_are_too_large_are_refused(address):
    answer, _ = talk(address, HEAD, b"X: " + b"x" * 100_000)
    assert answer.startswith(b"HTTP/1.1 400 ") or answer == b""


@pytest.mark.parametrize(
    ("body", "limit", "expected"),
    [
        (b"[[[1]]]", 3, False),
        (b"[[[1]]]", 2, True),
        (b'{"a": {"b": [1]}}', 2, True),
        (b"[]" * 100, 1, False),
        (b'["' + b"[" * 100 + b'"]', 1, False),
        (b'["\\"' + b"[" * 100 + b'"]', 1, False),
        (b'["\\\\", ' + b"[" * 5 + b"]" * 6, 3, True),
        (b'"' + b"[" * 100, 5, False),
        (b"", 1, False),
    ],
)
def test_depth_is_that_of_brackets_outside_of_texts(body, limit, expected):
    assert is_deeper(body, limit) is expected


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_body_that_is_too_deep_is_refused(api, opening):
    answer = api.post("/api/v1/compact", content=opening * 10_000)
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:neve:problem:body-too-deep")


def test_a_body_that_says_a_key_twice_is_refused_before_one_value_is_ignored(api):
    answer = api.post("/api/v1/compact", content='{"table": "a.b", "options": {}, "table": "c.d"}')
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (400, "urn:neve:problem:key-twice")
    assert (
        problem["detail"] == "The body says the key 'table' twice, and one value would be ignored."
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-be"])
def test_a_body_that_is_not_utf8_does_not_hide_its_depth(api, encoding):
    # Half of this character looks like a quote, after which brackets would mean nothing.
    text = '{"table": "\u2200", "options": ' + "[" * 100 + "]" * 100 + "}"
    answer = api.post("/api/v1/compact", content=text.encode(encoding))
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:neve:problem:not-json")


def test_an_answer_that_takes_too_long_is_given_up(neve, monkeypatch):
    go_on = threading.Event()
    monkeypatch.setattr("neve.neve.Neve.job_page", lambda *_, **__: go_on.wait(20))
    app = create_app(neve, settings=ApiSettings(answer_seconds=0.05))
    with TestClient(app, raise_server_exceptions=False) as client:
        answer = client.get("/api/v1/jobs")
        go_on.set()
        assert (answer.status_code, answer.json()["type"]) == (
            504,
            "urn:neve:problem:answer-too-slow",
        )
        assert client.get("/api/v1/health").status_code == 200


def test_a_request_with_two_lengths_is_refused_and_nothing_after_it_is_read(address):
    """A proxy before the server may have taken the rest for a body, or for another's request."""
    for head in (HEAD, b"GET /health HTTP/1.1\r\nHost: x\r\n"):
        lengths = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        answer, _ = talk(address, head, lengths, b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert answer.count(b"HTTP/1.1 ") == 1
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"urn:neve:problem:two-lengths" in answer


@pytest.mark.parametrize("query", ["limit=1&limit=2", "limit=1&%6cimit=1", "x&x=", "%C3%BA&%C3%BA"])
def test_what_an_address_says_twice_is_refused(address, query):
    response = httpx2.get(f"{address}/api/v1/jobs?{query}")
    assert (response.status_code, response.json()["type"]) == (400, "urn:neve:problem:key-twice")
    assert httpx2.get(f"{address}/api/v1/jobs?limit=1&status=queued").status_code == 200


@pytest.mark.parametrize("query", ["limit=1&x=%C3%BA", "limit=1&x=%F2%BD%B2%BF", "limit=1&%FF=1"])
def test_an_address_may_say_what_is_no_ascii(address, query):
    assert httpx2.get(f"{address}/api/v1/jobs?{query}").status_code == 200


def test_an_address_with_raw_bytes_is_no_defect(address):
    answer, _ = talk(address, b"GET /api/v1/jobs?limit=1&x=\xfa HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("name", ["Idempotency-Key", "If-Match", "Last-Event-ID"])
def test_a_header_that_comes_twice_is_refused(address, name):
    headers = [(name, "1"), (name.lower(), "2")]
    response = httpx2.post(f"{address}/api/v1/compact", headers=headers, json={"table": "a.b"})
    assert (response.status_code, response.json()["type"]) == (400, "urn:neve:problem:key-twice")
    assert response.json()["detail"] == f"The headers say '{name.lower()}' twice."
