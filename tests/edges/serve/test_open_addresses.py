"""A server that asks nobody who they are listens on this machine's own addresses alone."""

from __future__ import annotations

import socket
import threading

import pytest

from neve import Neve
from neve.loopback import is_loopback, is_loopback_address
from neve.model.errors import ConfigError
from neve.serve import Role, ServeSettings, run

pytestmark = pytest.mark.promise(58)
LOOPBACK = ["127.0.0.1", "127.0.0.2", "127.1", "::1", "::ffff:127.0.0.1", "2130706433", "localhost"]
ELSEWHERE = [
    "0.0.0.0", "::", "::0", "0", "", " ", "192.0.2.1", "fe80::1", "::ffff:0.0.0.0",
    "255.255.255.255", "::ffff:192.0.2.1", "no-such-host.invalid", "127.0.0.1.nip.invalid",
    "unix:/tmp/x.sock", "/tmp/x.sock", "127.0.0.1/8", "127.0.0.1,0.0.0.0", "a" * 300, "\x00",
    "ä" * 80, "*",
]  # fmt: skip


@pytest.mark.parametrize("host", LOOPBACK)
def test_this_machine_is_recognised(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ELSEWHERE)
def test_everything_else_is_elsewhere(host):
    assert not is_loopback(host)


def test_a_name_must_mean_this_machine_alone(monkeypatch):
    found = [(socket.AF_INET, 1, 6, "", (address, 0)) for address in ("127.0.0.1", "192.0.2.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert not is_loopback("both.example.com")
    assert is_loopback_address("::1%lo")


@pytest.fixture
def make_neve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(access="{}"):
        text = f"catalogs: {{lake: {{type: rest, uri: 'http://127.0.0.1:1'}}}}\naccess: {access}\n"
        (tmp_path / "neve.yaml").write_text(text)
        return Neve.open()

    return make


def serve(neve, host):
    stop, said = threading.Event(), []
    stop.set()
    run(neve, ServeSettings((Role.API,), host, 0), say=said.append, stop=stop)
    return said


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "no-such-host.invalid"])
def test_a_server_that_asks_nobody_does_not_start_elsewhere(make_neve, host):
    with make_neve() as neve, pytest.raises(ConfigError, match="asks nobody who they are"):
        serve(neve, host)


def test_a_name_that_means_something_else_when_it_is_bound_is_refused(make_neve, monkeypatch):
    monkeypatch.setattr("neve.serve.is_loopback", lambda host: True)
    with make_neve() as neve, pytest.raises(ConfigError, match="asks nobody who they are"):
        serve(neve, "0.0.0.0")


def test_one_that_asks_listens_where_it_is_told_to(make_neve):
    with make_neve("{enabled: true}") as neve:
        assert "Serving: api." in serve(neve, "0.0.0.0")
    with make_neve() as neve:
        assert "Serving: api." in serve(neve, "127.0.0.1")


def test_jobs_are_not_handed_to_a_server_that_asks(make_neve, monkeypatch):
    """A command has no key: it runs the job itself."""
    told = []
    monkeypatch.setattr("neve.serve_address.announce", lambda *a: told.append(a))
    stop = threading.Event()
    stop.set()
    with make_neve("{enabled: true}") as neve:
        monkeypatch.setattr(neve, "announce", lambda *a: told.append(a))
        monkeypatch.setattr(neve, "warm_up", lambda: None)
        run(neve, ServeSettings((Role.API, Role.WORKER), "127.0.0.1", 0), stop=stop)
    assert told == []
