"""A server is found where it is of the same configuration, user and machine, and answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from neve.serve_address import (
    address_file,
    announce,
    answers,
    configuration_digest,
    find_server,
)
from neve.settings import load_settings

pytestmark = pytest.mark.promise(50)

POLICIES = """
policies:
  - {name: p, operations: {rewrite_manifests: {}, expire_snapshots: {}, rewrite_data_files: {}}}
"""


@pytest.fixture
def settings():
    return load_settings(environ={})


@pytest.fixture
def port():
    """A web server that says on /health that it is well."""
    status = {"value": 200}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status["value"] if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_it_is_found_while_it_serves(settings, port):
    with announce(settings, "127.0.0.1", port) as address:
        assert find_server(settings) == address
        assert (address.url, address.pid) == (f"http://127.0.0.1:{port}", os.getpid())
    assert find_server(settings) is None
    assert not address_file(settings).exists()


@pytest.mark.parametrize("host", ["0.0.0.0", ""])
def test_one_that_listens_everywhere_is_asked_here(settings, port, host):
    with announce(settings, host, port):
        assert find_server(settings).url == f"http://127.0.0.1:{port}"


def test_another_configuration_is_another_server(settings, port):
    Path("other.yaml").write_text("compaction: {target_file_size: 1GB}")
    other = load_settings("other.yaml", environ={})

    with announce(other, "127.0.0.1", port):
        assert find_server(settings) is None
        assert find_server(other) is not None


def test_where_a_server_listens_does_not_make_it_another_one(settings):
    Path("neve.yaml").write_text(POLICIES + "server: {port: 9999}")
    moved = load_settings(environ={})
    Path("neve.yaml").write_text(POLICIES)
    here = load_settings(environ={})

    assert configuration_digest(moved) == configuration_digest(here)
    assert configuration_digest(settings) != configuration_digest(here)


def test_the_digest_is_the_same_in_every_process():
    Path("neve.yaml").write_text(POLICIES)
    told = "from neve.serve_address import configuration_digest as d; "
    told += "from neve.settings import load_settings as l; print(d(l()))"
    found = {
        subprocess.run(
            [sys.executable, "-c", told],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert found == {configuration_digest(load_settings()) + "\n"}


def test_the_file_tells_no_secret_and_is_for_its_user_alone(port):
    Path("neve.yaml").write_text("catalogs: {c: {uri: 'http://c', credential: 'a:topsecret'}}")
    settings = load_settings(environ={})

    with announce(settings, "127.0.0.1", port):
        file = address_file(settings)
        assert file.stat().st_mode & 0o777 == 0o600
        assert "topsecret" not in file.read_text()


def dead_pid():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize(
    "change",
    [
        {"machine": "another"},
        {"pid": -1},
        {"pid": True},
        {"pid": 2**70},
        {"url": "ftp://127.0.0.1"},
        {"url": "http://127.0.0.1:1"},
        {"url": "http://127.0.0.1:notaport"},
        {"url": 5},
        {"configuration": "other"},
        {"more": 1},
    ],
)
def test_any_doubt_means_no_server(settings, port, change):
    with announce(settings, "127.0.0.1", port):
        file = address_file(settings)
        file.write_text(json.dumps(json.loads(file.read_text()) | change))
        assert find_server(settings) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 9000, b"1" * 20000])
def test_a_file_that_is_none_means_no_server(settings, content):
    file = address_file(settings)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)

    assert find_server(settings) is None


def test_a_file_that_others_may_write_is_not_believed(settings, port):
    with announce(settings, "127.0.0.1", port):
        address_file(settings).chmod(0o666)
        assert find_server(settings) is None


def test_a_server_that_was_killed_is_gone(settings, port):
    with announce(settings, "127.0.0.1", port):
        file = address_file(settings)
        file.write_text(json.dumps(json.loads(file.read_text()) | {"pid": dead_pid()}))
        assert find_server(settings) is None


def test_the_file_of_a_successor_is_left_alone(settings, port):
    with announce(settings, "127.0.0.1", port):
        file = address_file(settings)
        newer = json.loads(file.read_text()) | {"pid": os.getppid()}
        file.write_text(json.dumps(newer))
    assert json.loads(file.read_text()) == newer


def test_a_state_on_a_server_has_its_address_in_the_users_folder(monkeypatch, tmp_path, port):
    monkeypatch.setenv("HOME", str(tmp_path))
    Path("neve.yaml").write_text("state: {url: 'redis://user:pw@localhost:6379/0'}")
    settings = load_settings(environ={})

    with announce(settings, "127.0.0.1", port):
        assert address_file(settings).parent == tmp_path / ".neve"
        assert find_server(settings) is not None


def test_a_folder_that_cannot_be_written_does_not_keep_a_server_from_serving(settings, port):
    Path(".neve").write_text("no folder")

    with announce(settings, "127.0.0.1", port):
        assert find_server(settings) is None


def test_a_proxy_is_not_asked_about_this_machine(monkeypatch, port):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    assert answers(f"http://127.0.0.1:{port}")
