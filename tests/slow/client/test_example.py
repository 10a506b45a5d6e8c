"""The example of a REST client, against a live server."""

from __future__ import annotations

import runpy
import threading

import pytest
from tests.lock_file import ROOT


def test_it_follows_its_job_to_the_end(address, store, run_next, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["rest_client.py", address, "production.analytics.events"])
    ended = []

    def run():
        with pytest.raises(SystemExit) as raised:
            runpy.run_path(str(ROOT / "examples/rest_client.py"), run_name="__main__")
        ended.append(raised.value.code)

    program = threading.Thread(target=run)
    program.start()
    while program.is_alive() and not store.jobs():
        program.join(0.01)
    run_next()
    program.join(30)

    assert ended == [0]
    assert "succeeded" in capsys.readouterr().out
