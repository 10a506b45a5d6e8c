"""Which store a URL means, and that nobody sees its password."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

import pytest
from typer.testing import CliRunner

from neve.cli.main import app as cli
from neve.model.errors import ConfigError, EnvironmentProblem
from neve.model.job import JobRequest
from neve.model.table import TableRef
from neve.settings import Settings
from neve.store.address import check_address
from neve.store.opening import open_store
from neve.store.redis.store import RedisStore
from neve.store.sqlite import SqliteStore

pytestmark = pytest.mark.promise(41)

CANARY = "canary-5f2a9"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://localhost", "redis://localhost:6379/0"),
        (f"redis://user:{CANARY}@Example.org:7000/3", "redis://example.org:7000/3"),
        (f"rediss://:{CANARY}@[::1]:7000", "rediss://[::1]:7000/0"),
        ("redis://h/0?socket_timeout=3", "redis://h:6379/0"),
    ],
)
def test_an_address_is_told_without_user_and_password(url, address):
    assert check_address(url) == address


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"redis://:{CANARY}/more@host", "cannot be understood"),
        (f"redis://:pw@host:{CANARY}", "cannot be understood"),
        (f"redis://:pw@host/{CANARY}", "does not end with the number"),
        (f"redis://:pw@host/0/{CANARY}", "does not end with the number"),
        (f"redis://:pw@host/0#{CANARY}", "does not end with the number"),
        (f"redis://user:{CANARY}@", "names no host"),
        ("redis://", "names no host"),
        (f"redis://host/0?password={CANARY}", "an option that is not known: password"),
        (f"redis://host/0?decode_responses={CANARY}", "an option that is not known"),
        (f"redis://host/0?socket_timeout={CANARY}", "wrong value"),
        (f"redis://:{CANARY}[@host", "cannot be understood"),
        (f"mysql://u:{CANARY}@host", "state.url has mysql, which is not supported"),
        (CANARY, "state.url has no scheme"),
    ],
)
def test_an_address_that_is_wrong_is_refused_without_a_word_of_it(url, message):
    with pytest.raises(ConfigError, match=message) as caught:
        open_store(url)

    assert caught.value.next_step
    told = "".join(traceback.format_exception(caught.value, chain=True))
    lines = [line for line in told.splitlines() if line.lstrip().startswith("neve.")]
    assert lines
    assert CANARY not in "".join(lines) + caught.value.next_step
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_url_chooses_the_store():
    assert isinstance(open_store("sqlite:///state.db"), SqliteStore)
    assert isinstance(open_store("redis://nobody:1/0"), RedisStore)


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch):
    for name in ("store", "server"):
        monkeypatch.delitem(sys.modules, f"neve.store.redis.{name}")
    monkeypatch.setitem(sys.modules, "redis", None)

    with pytest.raises(EnvironmentProblem, match="is not installed") as caught:
        open_store("redis://nobody:1/0")
    assert caught.value.next_step == "pip install 'neve[redis]'"
    assert isinstance(open_store("sqlite:///state.db"), SqliteStore)


@pytest.mark.parametrize("password", [CANARY, "canary%2Fp%40ss"])
def test_the_password_is_a_secret_however_it_is_written(password):
    settings = Settings(state={"url": f"redis://user:{password}@host/0"})

    assert {password, password.replace("%2F", "/").replace("%40", "@")} <= set(settings.secrets())
    assert "canary" not in repr(settings)


@pytest.mark.parametrize("prefix", ["", "a{b", "a}b", "a:b", "a b", "x" * 65])
def test_a_prefix_that_would_break_the_keys_is_refused(prefix):
    with pytest.raises(ValueError, match="prefix"):
        Settings(state={"url": "redis://host", "prefix": prefix})


def test_a_prefix_without_redis_would_be_ignored_so_it_is_refused():
    with pytest.raises(ValueError, match="a prefix goes with a url that begins with redis"):
        Settings(state={"prefix": "mine"})


def write_config(url):
    Path("neve.yaml").write_text(
        "catalogs: {lake: {type: sql, uri: 'sqlite:///c.db', warehouse: w}}\n"
        f"state: {{url: '{url}', prefix: cli}}\n"
    )


def run(*arguments):
    result = CliRunner().invoke(cli, [*arguments, "-o", "json"])
    return json.loads(result.stdout), result.exit_code


def test_the_command_line_reads_jobs_from_redis(redis_server):
    write_config(redis_server.url)
    store = RedisStore(redis_server.url, prefix="cli")
    store.submit("j1", JobRequest(TableRef("lake", ("db",), "t"), "rollback"))

    document, code = run("jobs")

    assert (code, [job["job_id"] for job in document]) == (0, ["j1"])


def test_the_doctor_looks_at_the_server(redis_server):
    write_config(redis_server.url)
    document, _ = run("doctor")
    [state] = [check for check in document if check["name"] == "state"]
    assert (state["passed"], state["detail"]) == (True, redis_server.url)

    redis_server.ask("SET", "{cli}:layout", "9")
    document, code = run("doctor")
    [state] = [check for check in document if check["name"] == "state"]
    assert (state["passed"], "newer Neve" in state["detail"], code) == (False, True, 1)
    redis_server.ask("DEL", "{cli}:layout")
