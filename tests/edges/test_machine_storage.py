"""`neve doctor` reads something behind every catalog, as tables are read."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from neve.machine import check_machine
from neve.testing.local_lake import LocalLake

WRONG_SECRET = b"""<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SignatureDoesNotMatch</Code><Message>The signature does not match.</Message></Error>"""
EMPTY = b"""<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult><Name>wh</Name><KeyCount>0</KeyCount></ListBucketResult>"""


@pytest.fixture
def store():
    """A store that answers every request in one way."""
    answers = {"status": 403, "body": WRONG_SECRET}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(answers["status"])
            self.send_header("Content-Length", str(len(answers["body"])))
            self.end_headers()
            self.wfile.write(answers["body"])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, answers
    server.shutdown()
    server.server_close()


@pytest.fixture
def config(tmp_path, store):
    lake = LocalLake(tmp_path)
    remote = {
        **lake.properties,
        "warehouse": "s3://wh/tables",
        "s3.endpoint": f"http://127.0.0.1:{store[0]}",
        "s3.access-key-id": "user",
        "s3.secret-access-key": "wrong-secret",
        "s3.region": "us-east-1",
    }
    path = tmp_path / "neve.yaml"
    path.write_text(yaml.safe_dump({"catalogs": {"far": remote, "near": lake.properties}}))
    return str(path)


def storage_checks(config):
    return {c.name: c for c in check_machine(config) if c.name.startswith("storage")}


def test_a_wrong_secret_is_a_failed_check_that_names_the_call(config):
    found = storage_checks(config)

    assert set(found) == {"storage of far"}
    check = found["storage of far"]
    assert not check.passed
    assert check.detail.startswith("ListObjectsV2 of s3://wh/tables failed: ")
    assert "SignatureDoesNotMatch" in check.detail
    assert "catalogs.far" in check.fix
    assert "wrong-secret" not in check.detail


def test_a_store_that_lets_us_in_passes(config, store):
    store[1].update(status=200, body=EMPTY)

    assert storage_checks(config)["storage of far"].passed
