"""Commands and a live server: asked by its address, or found on this machine."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
import uvicorn

from neve import Neve
from neve.api.app import create_app
from neve.api.server import server_config
from neve.api.settings import ApiSettings
from neve.cli import places
from neve.model.errors import ExecutionError
from neve.serve_address import ServerAddress
from neve.service.worker import WorkerSettings
from neve.store.sqlite import SqliteStore

pytestmark = pytest.mark.promise(50)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(places, "POLL_SECONDS", 0.01)


@pytest.fixture
def events(events):
    """The engine of these tests makes no tasks."""
    with events.transaction() as change:
        change.set_properties({"neve.rewrite_data_files.engine": "spark"})
    return events


@contextmanager
def serving(neve):
    """The API and a worker of it; gives the port."""
    app = create_app(neve, settings=ApiSettings(poll_seconds=0.02))
    server = uvicorn.Server(server_config(app, "127.0.0.1", 0, log_level="error"))
    worker = neve.worker(WorkerSettings(poll_seconds=0.02))
    started, startup = threading.Event(), server.startup

    async def startup_and_tell(*arguments, **more):
        await startup(*arguments, **more)
        started.set()

    server.startup = startup_and_tell
    threads = [threading.Thread(target=part.run, daemon=True) for part in (server, worker)]
    for thread in threads:
        thread.start()
    assert started.wait(20)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        worker.drain(5)
        for thread in threads:
            thread.join(20)


@pytest.fixture
def server(events, engine, tmp_path):
    """A server whose engine is without a JVM; it is not announced."""
    with Neve.open() as neve, serving(neve) as port:
        neve.port = port
        yield neve


@pytest.fixture
def url(server):
    return f"http://127.0.0.1:{server.port}"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder with nothing in it that the server knows of."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_compact_at_a_server_tells_its_outcome(url, elsewhere, run, run_json):
    document, code = run_json("compact", "lake.db.events", "--server", url)

    assert (document["status"], code) == ("succeeded", 0)
    assert document["stats"]["files_before"] > document["stats"]["files_after"]
    assert not (elsewhere / ".neve").exists()
    again = run("compact", "lake.db.events", "--server", url, "--target-size", "64MB")
    assert again.exit_code == 0
    assert "nothing" in again.stdout.lower()


def test_jobs_of_a_server_are_listed_shown_and_cancelled(url, server, elsewhere, run, run_json):
    run_json("compact", "lake.db.events", "--server", url)
    later = server.now().replace(year=2100)
    waiting = server.submit("lake.db.events", not_before=later)

    listed, code = run_json("jobs", "--server", url)
    running, _ = run_json("jobs", "--running", "--server", url)
    others, _ = run_json("jobs", "*.other", "--server", url)
    shown, _ = run_json("job", waiting.job_id, "--server", url)
    cancelled, ended = run_json("cancel", waiting.job_id, "--server", url)

    assert (code, ended) == (0, 0)
    assert [item["job_id"] for item in running] == [waiting.job_id]
    assert (len(listed), others) == (2, [])
    assert shown["state"] == "queued"
    assert cancelled["cancelled"]
    assert run("job", waiting.job_id, "--follow", "--server", url).exit_code == 1


def test_maintain_at_a_server_reports_each_operation(url, elsewhere, run_json):
    planned, code = run_json("maintain", "--dry-run", "--server", url)
    (table,) = planned["tables"]
    statuses = {item["operation"]: item["status"] for item in table["operations"]}

    assert code == 2
    assert statuses["rewrite_data_files"] == "planned"

    done, code = run_json("maintain", "lake.db.events", "--server", url)
    (table,) = done["tables"]
    first = table["operations"][0]
    assert (first["operation"], first["status"]) == ("rewrite_data_files", "succeeded")
    assert first["outcome"]["stats"]["files_compacted"] > 0


REFUSED = [
    (("job", "x"), "no job x"),
    (("compact", "lake.db.nothing"), "nothing"),
    (("compact", "lake.db.events", "--where", "nonsense ="), "filter"),
    (("compact", "lake.db.events", "--sort-by", "id"), "sort"),
    (("maintain", "--verify", "off"), "--verify is not for a server"),
    (("compact", "lake.db.events", "--dry-run", "--where", "nonsense ="), "filter"),
    (("compact", "lake.db.nothing", "--dry-run"), "nothing"),
    (("maintain", "nothing.*"), "no such table"),
]


def test_a_dry_run_at_a_server_shows_its_plan(url, server, elsewhere, run, run_json):
    document, code = run_json("compact", "lake.db.events", "--server", url, "--dry-run")
    assert code == 0
    (told,) = document["plans"]
    (made,) = server.plan_document([server.plan_compaction("lake.db.events")])["plans"]
    # Every plan is a plan of its own, made at its own time, by which partitions have an age.
    own = {"plan_id", "created_at", "partitions"}
    assert {name for name in told if told[name] != made[name]} <= own
    assert told["steps"]
    shown = run("compact", "lake.db.events", "--server", url, "--dry-run", "--engine", "spark")
    assert (shown.exit_code, server.history()) == (0, [])
    assert "lake.db.events" in shown.stdout


def test_a_server_keeps_to_windows_and_schedules_unless_it_is_told(url, server, run_json):
    store = server._services.store
    shut = {"match": {"tables": ["*"]}, "window": {"start": "00:00", "end": "00:01"}}
    now = server.now()
    if now.hour == 0 and now.minute < 2:
        shut["window"] = {"start": "12:00", "end": "12:01"}
    server.set_policy("shut", shut, expected=None)

    closed, code = run_json("maintain", "--server", url)
    assert code == 0
    assert "window is closed" in closed["tables"][0]["skipped"]
    undue, _ = run_json("maintain", "--due", "--now", "--server", url)
    assert undue["tables"][0]["skipped"] == "It has no schedule."
    assert (store.jobs(), store.schedule_states()) == ([], [])

    done, code = run_json("maintain", "--now", "--server", url)
    assert (code, done["tables"][0]["operations"][0]["status"]) == (0, "succeeded")
    assert [state.table.name for state in store.schedule_states()] == ["events"]


def test_apply_at_a_server_expires_where_no_policy_speaks(url, server, run_json):
    done, code = run_json("maintain", "--apply", "--now", "--dry-run", "--server", url)
    asked = [report["operation"] for report in done["tables"][0]["operations"]]
    assert code == 2
    assert {"expire_snapshots", "remove_orphan_files"} <= set(asked)


def test_maintain_is_handed_to_the_server_of_the_same_configuration(server, run, run_json):
    with server.announce("127.0.0.1", server.port):
        result = run("maintain", "db.events")
    assert f"Jobs are handed to the server at http://127.0.0.1:{server.port}" in result.stderr
    jobs = server.history()
    assert {(str(job.trigger), str(job.state)) for job in jobs} == {("maintain", "succeeded")}
    assert "rewrite_data_files" in {job.operation for job in jobs}
    with server.announce("127.0.0.1", server.port):
        again, code = run_json("maintain", "db.events")
    statuses = {r["status"] for r in again["tables"][0]["operations"]}
    assert (code, statuses <= {"nothing_to_do", "skipped"}) == (0, True)
    # Work that is not there becomes no job.
    assert len(server.history()) == len(jobs)


def test_maintain_runs_here_where_it_is_told_to(server, run):
    with server.announce("127.0.0.1", server.port):
        result = run("maintain", "db.events", "--local")
        looked = run("maintain", "db.events", "--dry-run")
    assert (result.exit_code, looked.exit_code) == (0, 0)
    assert "handed" not in result.stderr + looked.stderr


def test_a_failure_of_a_handed_job_is_that_operations_own(server, run_json, engine, monkeypatch):
    monkeypatch.setattr(engine, "warm_up", failing)
    with server.announce("127.0.0.1", server.port):
        document, code = run_json("maintain", "db.events")
    first = document["tables"][0]["operations"][0]
    assert (code, first["status"]) == (1, "failed")
    assert "The disk is full." in first["reason"]


def failing(*_, **__):
    raise ExecutionError("The disk is full.")


def test_what_a_server_refuses_is_an_error(url, server, elsewhere, run_json):
    for words, message in REFUSED:
        document, code = run_json(*words, "--server", url)

        assert code == 1
        assert message in document["error"]["message"]
    assert server.history() == []


@pytest.mark.parametrize("address", ["localhost:8080", "http://127.0.0.1:1"])
def test_a_server_that_is_not_there_is_an_error(address, run_json, monkeypatch):
    monkeypatch.setattr("neve.retries.time.sleep", lambda seconds: None, raising=False)

    document, code = run_json("job", "x", "--server", address)

    assert code == 1
    assert document["error"]["next_step"]


def test_compact_is_handed_to_the_server_of_the_same_configuration(server, run, tmp_path):
    with server.announce("127.0.0.1", server.port):
        result = run("compact", "db.events")

    assert result.exit_code == 0
    assert f"Handed to the server at http://127.0.0.1:{server.port}" in result.stderr
    (job,) = SqliteStore(tmp_path / ".neve" / "state.db").jobs()
    assert (str(job.trigger), job.max_attempts) == ("cli", 1)


def test_upkeep_is_handed_over_too(server, run):
    with server.announce("127.0.0.1", server.port):
        result = run("manifests", "db.events")

    assert "Handed to the server" in result.stderr


def test_local_runs_here(server, run):
    with server.announce("127.0.0.1", server.port):
        result = run("compact", "db.events", "--local")

    assert result.exit_code == 0
    assert "Handed" not in result.stderr


def test_without_a_server_it_runs_here(events, engine, run):
    assert "Handed" not in run("compact", "db.events").stderr


def test_another_configuration_runs_here(server, run, tmp_path):
    (tmp_path / "neve.yaml").write_text(
        "catalogs: {lake: {type: sql, uri: 'sqlite:///.neve/catalog.db', "
        "warehouse: .neve/warehouse}}\ncompaction: {target_file_size: 64MB}"
    )
    with server.announce("127.0.0.1", server.port):
        assert "Handed" not in run("compact", "db.events").stderr


def test_a_failure_at_the_server_is_an_error_here(server, run_json, engine, monkeypatch):
    monkeypatch.setattr(engine, "warm_up", failing)
    with server.announce("127.0.0.1", server.port):
        document, code = run_json("compact", "db.events")

    assert code == 1
    assert "The disk is full." in document["error"]["message"]
    assert document["error"]["next_step"].startswith("Look at it: neve job ")


def test_a_server_that_goes_leaves_nobody_waiting(events, engine, run_json, monkeypatch):
    monkeypatch.setattr(places, "QUIET_LOOKS", 1)
    there = iter([ServerAddress("http://127.0.0.1:1", 1, "here", "same")])
    monkeypatch.setattr(Neve, "server", lambda self: next(there, None))

    document, code = run_json("compact", "db.events")

    assert code == 1
    assert "The server has gone" in document["error"]["message"]


@pytest.mark.promise(58)
@pytest.mark.usefixtures("events", "engine")
def test_a_server_that_asks_who_comes_is_told_by_the_environment(run, run_json, monkeypatch):
    monkeypatch.setenv("NEVE_ACCESS__ENABLED", "true")
    made, _ = run_json("keys", "create", "me", "--role", "viewer", "--tables", "lake")
    with Neve.open() as neve, serving(neve) as port:
        words = ("jobs", "--server", f"http://127.0.0.1:{port}")
        refused = run(*words)
        monkeypatch.setenv("NEVE_API_KEY", made["key"])
        answered = run(*words)
        monkeypatch.setenv("NEVE_API_KEY", "neve_wrong_key")
        wrong = run(*words)

    assert (refused.exit_code, answered.exit_code, wrong.exit_code) == (1, 0, 1)
    assert "NEVE_API_KEY" in refused.stderr
    assert "neve_wrong_key" not in wrong.output
