"""The server that tasks ask, and the worker that they run in."""

from __future__ import annotations

import json
import threading
from http.server import ThreadingHTTPServer

import pytest
from scripted import Handler, ScriptedServer, Worker


@pytest.fixture
def server(monkeypatch):
    """The server of the connection `neve_default`."""
    told = ScriptedServer()
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.told = told  # type: ignore[attr-defined]
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    told.address = f"http://127.0.0.1:{listening.server_port}"
    connection = {"conn_type": "neve", "host": "127.0.0.1", "port": listening.server_port}
    monkeypatch.setenv("AIRFLOW_CONN_NEVE_DEFAULT", json.dumps(connection))
    monkeypatch.setattr("neve_provider.server.PAUSES_SECONDS", (0.0, 0.0, 0.0))
    yield told
    listening.shutdown()
    listening.server_close()
    thread.join()


@pytest.fixture
def worker():
    return Worker()
