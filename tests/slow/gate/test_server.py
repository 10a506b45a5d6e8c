"""What passes the gate passes as it is, and nothing leads around it."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
import requests
from tests.unit.spark.gate.conftest import BASE, OURS, TABLE_PATH, Said, append, table_at

from neve.spark.gate import server, upstream
from neve.spark.gate.server import CommitGate
from neve.spark.gate.upstream import Upstream

SECRET = "s3cr3t-token"
ODD_PATHS = [
    "v1/p/namespaces/a%1Fb%1fc/tables/t%2Ex%2F..%2f?snapshots=refs&x=%20+%7E",
    "v1/namespaces?parent=a%1Fb&pageToken=",
    "v1/namespaces/%C3%A9/tables/a+b%2Bc",
]


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "POST", "PUT"])
@pytest.mark.parametrize("path", ODD_PATHS)
def test_method_and_address_are_untouched(send, catalog, method, path):
    catalog.says(method, Said(200, table_at(BASE)))

    send(method, path)

    assert [(asked[0], asked[1].lower()) for asked in catalog.asked] == [
        (method, f"/api/{path}".lower())
    ]


@pytest.mark.parametrize("status", [200, 202, 204, 301, 304, 400, 401, 404, 409, 429, 500, 503])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
def test_answers_to_other_requests_are_untouched(send, catalog, method, status):
    said = Said(status, {"x": 1}, {"Retry-After": "0", "ETag": '"1"', "X-Own": "é"})
    catalog.says(method, said)

    answer = send(method, "v1/namespaces/n/tables")

    assert (answer.status_code, answer.headers["Retry-After"]) == (status, "0")
    assert (answer.headers["ETag"], answer.headers["X-Own"]) == ('"1"', "é")
    has_body = method != "HEAD" and status not in (204, 304)
    assert answer.content == (said.body if has_body else b"")


def test_headers_of_a_connection_end_with_it(send, catalog):
    catalog.says("GET", Said(200, {}, {"Connection": "X-Hop", "X-Hop": "1", "X-End": "2"}))
    given = {"Connection": "keep-alive, X-Mine", "X-Mine": "1", "TE": "trailers", "X-Kept": "2"}

    answer = send("GET", "v1/namespaces", headers={**given, "Authorization": f"Bearer {SECRET}"})

    received = catalog.asked[0][2]
    assert (received["X-Kept"], received["Authorization"]) == ("2", f"Bearer {SECRET}")
    assert received["Host"] == urlsplit(catalog.address).netloc
    assert not {"X-Mine", "TE"} & received.keys()
    assert ("X-Hop" in answer.headers, answer.headers["X-End"]) == (False, "2")


def test_no_login_of_the_machine_is_added(send, catalog, tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password mine")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    catalog.says("GET", Said(200, {}, {"Set-Cookie": "a=b"}))

    send("GET", "v1/namespaces")
    send("GET", "v1/namespaces/n")

    assert not {"Authorization", "Cookie"} & catalog.asked[1][2].keys()


def test_compressed_answers_stay_compressed(uri, catalog):
    body = gzip.compress(b'{"namespaces": []}')
    catalog.says("GET", Said(200, raw=body, headers={"Content-Encoding": "gzip"}))
    address = urlsplit(uri)
    connection = http.client.HTTPConnection(address.netloc, timeout=20)

    connection.request("GET", f"{address.path}/v1/namespaces", headers={"Accept-Encoding": "gzip"})
    answer = connection.getresponse()

    assert (answer.headers["Content-Encoding"], answer.read()) == ("gzip", body)
    connection.close()


def test_a_compressed_answer_to_a_commit_is_read(send, catalog):
    packed = gzip.compress(json.dumps(table_at(BASE, OURS)).encode())
    catalog.says("POST", Said(200, raw=packed, headers={"Content-Encoding": "gzip"}))

    answer = send("POST", TABLE_PATH, append())

    assert (answer.json(), catalog.count("GET")) == (table_at(BASE, OURS), 0)


@pytest.mark.parametrize("chunked", [False, True])
def test_large_bodies_pass_both_ways(send, catalog, chunked):
    large = {"x": "y" * 5_000_000}
    said = Said(200, large)
    if chunked:
        body = said.body
        raw = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        said = Said(200, raw=raw, headers={"Transfer-Encoding": "chunked"})
    catalog.says("POST", said)

    answer = send("POST", "v1/namespaces/n/tables", large)

    assert (answer.json(), json.loads(catalog.asked[0][3])) == (large, large)


def test_an_answer_that_breaks_off_is_not_made_whole(send, catalog):
    catalog.says("GET", Said(200, {"x": 1}, missing=5))

    with pytest.raises(requests.RequestException):
        send("GET", "v1/namespaces")


def test_a_catalog_that_hangs_up_is_an_error_of_a_gateway(send, catalog):
    catalog.says("GET", Said(None))

    answer = send("GET", "v1/namespaces")

    assert (answer.status_code, answer.json()["error"]["code"]) == (502, 502)


def test_a_catalog_that_is_not_there_is_an_error_of_a_gateway(gate, pauses):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        uri = gate.open(Upstream(f"http://me:{SECRET}@127.0.0.1:{port}", 5.0, 5.0))

        answers = [
            requests.get(f"{uri}/v1/namespaces", timeout=20),
            requests.post(f"{uri}/{TABLE_PATH}", json=append(), timeout=20),
        ]

    # The client would go on asking for what can be read, and never sends a commit again.
    assert [answer.status_code for answer in answers] == [599, 502]
    assert [answer.json()["error"]["code"] for answer in answers] == [502, 502]
    assert SECRET not in "".join(answer.text for answer in answers)


def test_a_catalog_that_never_answers_is_given_up(gate, pauses):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = gate.open(Upstream(f"http://127.0.0.1:{silent.getsockname()[1]}", 5.0, 0.05))

        read = requests.get(f"{uri}/v1/namespaces", timeout=20)
        committed = requests.post(f"{uri}/{TABLE_PATH}", json=append(), timeout=20)

    assert (read.status_code, read.json()["error"]["code"]) == (599, 504)
    assert (committed.status_code, committed.json()["error"]["type"]) == (504, "NoAnswer")


def test_an_answer_without_end_is_given_up(send, catalog, monkeypatch):
    monkeypatch.setattr(upstream, "MAX_BODY_BYTES", 100)
    catalog.says("POST", Said(200, {"metadata": {"x": "y" * 200}}))
    catalog.says("GET", Said(200, table_at(BASE)))

    assert send("POST", TABLE_PATH, append()).status_code == 502


@pytest.mark.parametrize("path", ["", "/", "/wrong/v1/config", "/v1/config", "/%s", "//x"])
def test_without_the_secret_there_is_nothing(uri, catalog, path):
    address = urlsplit(uri)
    wrong = path % address.path[1:-1] if "%s" in path else path

    answer = requests.get(f"http://{address.netloc}{wrong}", timeout=20)

    assert (answer.status_code, catalog.asked) == (404, [])
    assert address.path.strip("/") not in answer.text


@pytest.mark.parametrize(
    "headers",
    [{"Content-Length": "x"}, {"Content-Length": "999999"}, {"Transfer-Encoding": "chunked"}],
)
def test_a_body_of_unknown_or_absurd_size_is_refused(uri, catalog, monkeypatch, headers):
    monkeypatch.setattr(server, "MAX_BODY_BYTES", 1000)
    address = urlsplit(uri)
    connection = http.client.HTTPConnection(address.netloc, timeout=20)
    connection.putrequest("POST", f"{address.path}/{TABLE_PATH}")
    for key, value in headers.items():
        connection.putheader(key, value)
    connection.endheaders()

    assert (connection.getresponse().status, catalog.asked) == (413, [])
    connection.close()


def test_connections_are_kept(uri, catalog):
    catalog.says("GET", Said(200, {}))
    catalog.says("POST", Said(200, table_at(BASE, OURS)))
    address = urlsplit(uri)
    connection = http.client.HTTPConnection(address.netloc, timeout=20)
    connection.connect()
    local = connection.sock.getsockname()
    for method, path in [("GET", "v1/namespaces"), ("POST", TABLE_PATH), ("GET", "v1/x")]:
        connection.request(method, f"{address.path}/{path}", json.dumps(append()))
        assert connection.getresponse().read()

    assert connection.sock.getsockname() == local
    connection.close()


def test_requests_do_not_wait_for_each_other(uri, catalog):
    everyone = threading.Barrier(8, timeout=20)
    catalog.says("GET", Said(200, {}))
    next_answer = catalog.next_answer

    def together(method):
        everyone.wait()
        return next_answer(method)

    catalog.next_answer = together
    try:
        with ThreadPoolExecutor(8) as pool:
            answers = list(
                pool.map(lambda n: requests.get(f"{uri}/v1/{n}", timeout=20).status_code, range(8))
            )
    finally:
        del catalog.next_answer

    assert answers == [200] * 8


def test_a_closed_gate_lets_nobody_in(catalog, capfd):
    gate = CommitGate()
    uri = gate.open(Upstream(catalog.address, 5.0, 5.0))
    catalog.says("GET", Said(200, {}))
    with requests.Session() as session:
        session.get(f"{uri}/v1/namespaces", timeout=20)
        gate.close()

        with pytest.raises(requests.ConnectionError):
            session.get(f"{uri}/v1/namespaces", timeout=20)
    assert capfd.readouterr() == ("", "")


def test_a_configuration_does_not_lead_around_the_gate(uri, send, catalog):
    elsewhere = f"{catalog.address}/elsewhere"
    config = {"defaults": {"uri": elsewhere, "a": "1"}, "overrides": {"uri": elsewhere, "b": "2"}}
    catalog.says("GET", Said(200, {**config, "endpoints": ["GET /v1/x"]}))

    found = send("GET", "v1/config?warehouse=w").json()

    assert (found["defaults"], found["endpoints"]) == ({"a": "1"}, ["GET /v1/x"])
    gate_address = urlsplit(uri).netloc
    assert urlsplit(found["overrides"]["uri"]).netloc == gate_address
    assert found["overrides"]["uri"] != uri
    catalog.says("POST", Said(403))
    catalog.says("GET", Said(200, table_at(BASE, OURS)))
    moved = requests.post(f"{found['overrides']['uri']}/{TABLE_PATH}", json=append(), timeout=20)
    assert moved.status_code == 200
    assert {asked[1].split("/")[1] for asked in catalog.asked[1:]} == {"elsewhere"}


def test_a_catalog_that_wants_signed_requests_is_reached_without_the_gate(send, catalog):
    config = {"defaults": {"rest.sigv4-enabled": "true"}, "overrides": {}}
    catalog.says("GET", Said(200, config))

    assert send("GET", "v1/config").json()["overrides"] == {"uri": f"{catalog.address}/api"}


@pytest.mark.parametrize("said", [Said(401, {"error": {}}), Said(200, raw=b"no"), Said(200, [1])])
def test_a_configuration_that_is_none_is_passed_on(send, catalog, said):
    catalog.says("GET", said)

    answer = send("GET", "v1/config")

    assert (answer.status_code, answer.content) == (said.status, said.body)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_executors_elsewhere_are_given_the_real_address(catalog, method):
    path = TABLE_PATH if method == "GET" else TABLE_PATH.rpartition("/")[0]
    catalog.says(method, Said(200, {**table_at(BASE), "config": {"s3.region": "eu"}}))
    gate = CommitGate(has_distant_executors=True)
    uri = gate.open(Upstream(catalog.address, 5.0, 5.0))

    answer = requests.request(method, f"{uri}/{path}", json={}, timeout=20)

    assert answer.json() == {
        **table_at(BASE),
        "config": {"s3.region": "eu", "uri": catalog.address},
    }
    gate.close()


@pytest.mark.parametrize(
    ("method", "path", "status", "follows"),
    [
        ("GET", "v1/namespaces", 301, True),
        ("GET", "v1/namespaces", 308, True),
        ("POST", TABLE_PATH, 307, True),
        ("POST", TABLE_PATH, 302, False),
    ],
)
def test_redirects_on_the_same_host_stay_behind_the_gate(
    send, catalog, method, path, status, follows
):
    catalog.says("GET", Said(200, table_at(BASE)))
    moved = Said(status, headers={"Location": "/moved"})
    catalog.says(method, moved, Said(200, table_at(BASE, OURS)))

    answer = send(method, path, append())

    assert ("/moved" in [asked[1] for asked in catalog.asked]) is follows
    assert answer.status_code == (200 if follows else 500)


def test_a_redirect_to_another_host_gets_no_credentials(send, catalog):
    elsewhere = catalog.address.replace("127.0.0.1", "localhost")
    catalog.says("POST", Said(307, headers={"Location": f"{elsewhere}/x"}))
    catalog.says("GET", Said(200, table_at(BASE)))

    answer = send("POST", TABLE_PATH, append(), headers={"Authorization": f"Bearer {SECRET}"})

    assert (answer.status_code, catalog.count("POST")) == (500, 1)
