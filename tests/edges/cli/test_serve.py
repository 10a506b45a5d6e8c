"""`neve serve`: which roles it takes on, and what it says of a wrong one."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from neve.cli.main import app
from neve.model.errors import ConfigError
from neve.serve import ALL_ROLES, Role

ALL = list(ALL_ROLES)


@pytest.fixture
def served(monkeypatch, tmp_path):
    """The settings with which the process would serve."""
    found = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("neve.serve.run", lambda neve, settings, say: found.append(settings))
    return found


@pytest.mark.parametrize(
    ("words", "roles"),
    [
        ([], ALL),
        (["--role", "all"], ALL),
        (["--role", "worker"], [Role.WORKER]),
        (["--role", "scheduler", "--role", "api"], [Role.API, Role.SCHEDULER]),
        (["--role", "worker", "--role", "all"], ALL),
    ],
)
def test_a_process_takes_on_the_roles_that_it_is_given(served, words, roles):
    done = CliRunner().invoke(app, ["serve", *words])

    assert done.exit_code == 0, done.output
    assert list(served[0].roles) == roles


def test_options_reach_the_server(served):
    words = ["--host", "0.0.0.0", "--port", "9090", "--concurrency", "4", "--grace", "5"]
    CliRunner().invoke(app, ["serve", *words])

    (settings,) = served
    assert (settings.host, settings.port, settings.concurrency, settings.grace_seconds) == (
        "0.0.0.0",
        9090,
        4,
        5.0,
    )


def test_what_is_not_said_is_as_the_configuration_says(served, tmp_path):
    (tmp_path / "neve.yaml").write_text(
        "catalogs: {lake: {type: rest, uri: 'http://127.0.0.1:1'}}\n"
        "server: {host: 127.0.0.2, port: 9191}\nmaintain: {parallel_tables: 3}\n"
        "scheduler: {enabled: false}\n",
        encoding="utf-8",
    )

    for words in ([], ["--port", "0", "--role", "all"]):
        CliRunner().invoke(app, ["serve", *words])

    configured, said = served
    assert (configured.host, configured.port, configured.concurrency) == ("127.0.0.2", 9191, 3)
    assert (Role.SCHEDULER in configured.roles, Role.SCHEDULER in said.roles) == (False, True)
    assert (said.host, said.port) == ("127.0.0.2", 0)


@pytest.mark.parametrize(
    "words", [["--role", "king"], ["--port", "70000"], ["--concurrency", "0"], ["--grace", "-1"]]
)
def test_wrong_options_are_errors(served, words):
    assert CliRunner().invoke(app, ["serve", *words]).exit_code == 1
    assert served == []


def test_what_goes_wrong_is_one_sentence(served, monkeypatch):
    def taken(*_, **__):
        raise ConfigError("The address is taken.", next_step="Give another one.")

    monkeypatch.setattr("neve.serve.run", taken)
    done = CliRunner().invoke(app, ["serve"])

    assert (done.exit_code, "The address is taken." in done.stderr) == (1, True)


@pytest.mark.parametrize("package", ["uvicorn", "fastapi", "prometheus_client"])
def test_a_package_of_the_server_that_is_missing_is_named(monkeypatch, tmp_path, package):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    for name in [name for name in sys.modules if name.startswith("neve.api")]:
        monkeypatch.delitem(sys.modules, name)

    done = CliRunner().invoke(app, ["serve", "--role", "api", "--port", "0"])

    assert done.exit_code == 1, done.output
    assert f"The API needs the package {package}" in done.output
    assert "pip install 'neve[server]'" in done.output
