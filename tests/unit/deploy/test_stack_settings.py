"""The neve.yaml that `make stack-up` writes: Neve reads it as it is, and the line about it runs."""

from __future__ import annotations

import shlex
import stat
import sys

import pytest
from tests.lock_file import ROOT

from neve.settings import load_settings

LOGIN = {"access_key": "user", "secret_key": "p#ss: word", "region": "us-east-1"}
FACTS = {
    "s3": {"port": 1, "endpoint": "http://127.0.0.1:1", "bucket": "lake", **LOGIN},
    "rest": {"port": 2, "uri": "http://127.0.0.1:2", "warehouse": "s3://lake/warehouse"},
    "trino": {
        "host": "127.0.0.1",
        "port": 3,
        "uri": "http://127.0.0.1:3",
        "user": "neve",
        "catalog": "iceberg",
    },
}


@pytest.fixture
def stack(monkeypatch, tmp_path):
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "stack"))
    import layout
    import neve_yaml

    home = tmp_path / "a home"
    home.mkdir()
    yield layout.Stack(home, FACTS), neve_yaml
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_what_the_stack_writes_is_ready_for_neve(stack):
    made, module = stack

    path = module.write_neve_yaml(made)

    settings = load_settings(str(path))
    assert list(settings.catalogs) == ["iceberg"]
    own = settings.catalogs["iceberg"]
    assert (own["uri"], own["s3.secret-access-key"]) == ("http://127.0.0.1:2", "p#ss: word")
    assert settings.state.url == f"sqlite:///{made.home}/data/neve/state.db"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("is_inside", [True, False])
def test_the_line_about_it_can_be_copied(stack, monkeypatch, is_inside):
    made, module = stack
    if is_inside:
        monkeypatch.chdir(made.home)
    path = module.write_neve_yaml(made)

    command, option, named, verb = shlex.split(module.how_to_use(path).partition(": ")[2])

    assert (command.endswith(".venv/bin/neve"), option, verb) == (True, "--config", "tables")
    assert list(load_settings(named).catalogs) == ["iceberg"]
