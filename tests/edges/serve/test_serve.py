"""A process that serves: its roles begin together, answer, and end in good order."""

from __future__ import annotations

import signal
import socket
import threading
import time
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest
import uvicorn

from neve import Neve
from neve.model.errors import ConfigError, EnvironmentProblem, ExecutionError
from neve.model.job import JobState
from neve.serve import Role, ServeSettings, _signals, run
from neve.service.worker import Worker

WAIT_SECONDS = 30


async def tiny(scope, receive, send):
    """An application that answers everything alike."""
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": message["type"] + ".complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"here"})


def config(neve, host, port):
    return uvicorn.Config(tiny, host=host, port=port, log_level="critical", ws="none")


@pytest.fixture
def neve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Neve.open() as opened:
        # No test of this file needs Spark.
        monkeypatch.setattr(opened, "warm_up", lambda: None)
        yield opened


class Served:
    """A server in a thread, as a process would be in another one."""

    def __init__(self, neve, *roles, **changes):
        self.said = []
        self.stop = threading.Event()
        settings = ServeSettings(roles, port=0, tick_seconds=0.02, **changes)
        self.errors = []

        def serve():
            try:
                run(neve, settings, make_config=config, say=self.said.append, stop=self.stop)
            except ConfigError as error:
                self.errors.append(error)

        self._thread = threading.Thread(target=serve)

    def __enter__(self):
        self._thread.start()
        wait_for(lambda: any(text.startswith("Serving") for text in self.said))
        return self

    def __exit__(self, *_):
        self.stop.set()
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive()

    @property
    def address(self):
        return next(text for text in self.said if text.startswith("Listening")).split()[-1]


def wait_for(is_so):
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


def test_the_api_answers_until_it_is_stopped(neve):
    with Served(neve, Role.API) as served:
        with urllib.request.urlopen(served.address, timeout=WAIT_SECONDS) as answer:
            assert answer.read() == b"here"
        address = served.address
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address, timeout=WAIT_SECONDS)
    assert "Serving: api." in served.said


def test_a_worker_runs_what_waits(neve):
    job = neve._services.store.submit("j1", _request(neve, "drop_everything"))
    with Served(neve, Role.WORKER):
        wait_for(lambda: neve.job(job.job_id).state.is_final)

    assert neve.job("j1").state is JobState.FAILED


@pytest.mark.promise(40)
def test_tables_are_set_aside_as_the_configuration_says(tmp_path, monkeypatch):
    monkeypatch.setenv("NEVE_SET_ASIDE__AFTER_FAILURES", "2")
    monkeypatch.setenv("NEVE_SET_ASIDE__RETRY_AFTER", "15m")
    monkeypatch.chdir(tmp_path)
    with Neve.open() as neve:
        monkeypatch.setattr(neve, "warm_up", lambda: None)
        for number in range(3):
            neve._services.store.submit(f"j{number}", _request(neve, "drop_everything"))
        with Served(neve, Role.WORKER):
            wait_for(lambda: neve.set_aside_tables())
        (aside,) = neve.set_aside_tables()

    assert aside.failures_in_a_row == 2
    assert 800 < (aside.retry_at - aside.since).total_seconds() < 1000


@pytest.mark.parametrize("value", ["59s", "32d", "soon", "0"])
def test_a_table_that_is_set_aside_waits_for_a_while(tmp_path, monkeypatch, value):
    monkeypatch.setenv("NEVE_SET_ASIDE__RETRY_AFTER", value)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="set_aside"):
        Neve.open()


def test_a_scheduler_submits_and_runs_nothing(neve, monkeypatch):
    ticks = []
    turns = neve.scheduler()
    monkeypatch.setattr(turns, "tick", ticks.append)
    monkeypatch.setattr(neve, "scheduler", lambda: turns)
    neve._services.store.submit("j1", _request(neve, "drop_everything"))
    with Served(neve, Role.SCHEDULER):
        wait_for(lambda: len(ticks) > 2)

    assert neve.job("j1").state is JobState.QUEUED


@pytest.mark.promise(43)
def test_turns_go_by_the_clock_of_the_state_and_not_by_that_of_a_scheduler(neve, monkeypatch):
    """One whose clock is years ahead would have all turns of those years, for everybody."""
    ticks, turns = [], neve.scheduler()
    monkeypatch.setattr(turns, "tick", ticks.append)
    monkeypatch.setattr(neve, "scheduler", lambda: turns)
    monkeypatch.setattr(neve, "now", lambda: datetime(2099, 1, 1, tzinfo=UTC))
    with Served(neve, Role.SCHEDULER):
        wait_for(lambda: len(ticks) > 1)

    assert abs(ticks[0] - neve._services.store.now()) < timedelta(minutes=1)


def test_the_digest_is_asked_for_now_and_then(neve, monkeypatch):
    asked = []
    monkeypatch.setattr("neve.serve.DIGEST_SECONDS", 0.01)
    monkeypatch.setattr(neve, "send_due_digest", asked.append)
    with Served(neve, Role.SCHEDULER):
        wait_for(lambda: len(asked) > 1)


@pytest.mark.promise(50)
@pytest.mark.parametrize("roles", [(Role.API, Role.WORKER), (Role.API,)], ids=str)
def test_commands_find_a_server_that_runs_jobs_while_it_serves(neve, roles):
    with Served(neve, *roles) as served:
        found = neve.server()
        assert (found.url if found else None) == (served.address if len(roles) > 1 else None)
    assert neve.server() is None


def test_a_part_that_cannot_begin_ends_the_others(neve):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = ServeSettings((Role.API, Role.WORKER), port=taken.getsockname()[1])
        with pytest.raises(ConfigError, match="cannot be listened on") as caught:
            run(neve, settings, make_config=config, stop=threading.Event())
    assert "--port" in caught.value.next_step
    assert not [t for t in threading.enumerate() if t.name in ("neve-worker", "neve-api")]


def test_an_api_that_is_not_installed_is_explained(neve, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("neve.serve.import_module", missing)
    with pytest.raises(EnvironmentProblem) as caught:
        run(neve, ServeSettings((Role.API,), port=0), stop=threading.Event())
    assert "neve[server]" in caught.value.next_step


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_twice_at_once_is_one(first, second):
    """`timeout` and the like send it to a process and to its group."""
    stop, clock = threading.Event(), [100.0]
    before = signal.getsignal(first)
    with _signals(stop, lambda: clock[0]):
        signal.raise_signal(first)
        assert stop.is_set()
        clock[0] += 0.9
        signal.raise_signal(second)
        clock[0] += 0.2
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(second)
    assert signal.getsignal(first) is before


@pytest.mark.promise(44)
@pytest.mark.parametrize("role", Role)
def test_a_signal_that_reaches_another_thread_ends_the_process_all_the_same(neve, role):
    """Which thread it is the system decides, and the main one may be asleep."""
    said, stop, taken = [], threading.Event(), []

    def send():
        wait_for(lambda: any(text.startswith("Serving") for text in said))
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        # Whoever never hears of it must not keep the tests.
        taken.append(stop.wait(5))
        stop.set()

    thread = threading.Thread(target=send)
    thread.start()
    run(neve, ServeSettings((role,), port=0), make_config=config, say=said.append, stop=stop)
    thread.join()

    assert taken == [True]


@pytest.mark.promise(44)
def test_a_second_signal_ends_it_at_once_whatever_it_waits_for(neve, monkeypatch, known_threads):
    said, over = [], threading.Event()
    monkeypatch.setattr("neve.serve.SAME_SIGNAL_SECONDS", 0.0)
    drain = Worker.drain
    monkeypatch.setattr(Worker, "drain", lambda *said: over.wait(20) and drain(*said))

    def send():
        for wanted in ("Serving", ""):
            wait_for(lambda wanted=wanted: any(text.startswith(wanted) for text in said))
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
            time.sleep(0.7)

    thread = threading.Thread(target=send)
    thread.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(neve, ServeSettings((Role.WORKER,)), say=said.append)
    taken = time.monotonic() - began
    thread.join()
    over.set()
    wait_for(lambda: not threads_of_neve(known_threads))

    assert taken < 10


def threads_of_neve(known):
    """Those that were not there before: tests of others in this process may have left some."""
    names = [thread.name for thread in threading.enumerate() if thread not in known]
    return [name for name in names if name.startswith("neve-")]


@pytest.fixture
def known_threads():
    return set(threading.enumerate())


def mistake(*_):
    raise ValueError("a mistake")


BROKEN = {
    "neve-api": (Role.API, "uvicorn.Server.run", lambda server, sockets: None),
    "neve-worker": (Role.WORKER, "neve.service.worker.Worker.take", mistake),
    "neve-settle": (Role.WORKER, "neve.service.worker.Worker._keep_settling", mistake),
    "neve-announce": (Role.WORKER, "neve.service.worker.Worker._keep_announcing", mistake),
    "neve-scheduler": (Role.SCHEDULER, "neve.working.TurnKeeper.tick", mistake),
    "neve-watch": (Role.SCHEDULER, "neve.working.TurnKeeper.refresh", mistake),
    "neve-digest": (Role.SCHEDULER, "neve.announcing.Announcing.send_due_digest", mistake),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_process_whose_part_ends_by_itself_ends_as_a_whole(
    neve, monkeypatch, known_threads, name
):
    """Whoever watches it starts it again; one that went on would seem to serve."""
    role, place, broken = BROKEN[name]
    printed = []
    monkeypatch.setattr(threading, "excepthook", printed.append)
    monkeypatch.setattr(place, broken)
    monkeypatch.setattr("neve.serve.DIGEST_SECONDS", 0.01)
    settings = ServeSettings((role,), port=0, tick_seconds=0.01)

    with pytest.raises(ExecutionError, match="ended by itself"):
        run(neve, settings, make_config=config)
    wait_for(lambda: not threads_of_neve(known_threads))


def _request(neve, operation):
    from neve.model.job import JobRequest

    return JobRequest(neve.table("lake.db.t"), operation)
