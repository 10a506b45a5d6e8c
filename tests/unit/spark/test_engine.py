"""A session whose JVM has died is told to those who used it, and replaced for all others."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.sql import SparkSession

from neve.model.errors import (
    CatalogError,
    CommitConflict,
    EngineDied,
    EnvironmentProblem,
    ExecutionError,
)
from neve.model.workers import EngineReport, EngineState
from neve.spark import tables
from neve.spark.engine import SparkEngine


class Process:
    """A JVM as the operating system sees it."""

    stdin = None

    def __init__(self):
        self.code = None

    def poll(self):
        return self.code

    def kill(self):
        self.code = -9

    def wait(self, timeout):
        return self.code


class Context:
    """What pyspark keeps of a JVM."""

    def __init__(self, process):
        self._gateway = SimpleNamespace(proc=process)
        self._jsc = self
        self.process = process
        self.is_stopped = False

    def sc(self):
        return self

    def setJobGroup(self, *_, **__):
        self.isStopped()

    def addJobTag(self, tag):
        self.isStopped()

    def removeJobTag(self, tag):
        self.isStopped()

    def clearJobGroup(self):
        self.isStopped()

    def isStopped(self):
        if self.process.poll() is not None:
            raise Py4JNetworkError("Answer from Java side is empty")
        return self.is_stopped


class Session:
    def __init__(self):
        self.process = Process()
        self.sparkContext = Context(self.process)

    def stop(self):
        self.process.kill()


@pytest.fixture
def made(monkeypatch):
    """All sessions, in the order in which they were made."""
    monkeypatch.setattr(tables, "activate", lambda session: None)
    return []


@pytest.fixture
def engine(made):
    def make():
        made.append(Session())
        return made[-1]

    return SparkEngine(make)


def use(engine, do=lambda session: None):
    with engine._working("The work") as session:
        return do(session)


def die(error=None):
    def do(session):
        session.process.kill()
        raise error or Py4JNetworkError("Answer from Java side is empty")

    return do


@pytest.mark.parametrize(
    "error",
    [
        Py4JError("An error occurred while calling o1.f"),
        ConnectionRefusedError(),
        BrokenPipeError(),
        EOFError(),
        AttributeError("'NoneType' object has no attribute 'sc'"),
        TypeError("'JavaPackage' object is not callable"),
        ExecutionError("Compacting failed: An error occurred while calling o1.f"),
    ],
)
def test_whatever_is_raised_on_a_dead_jvm_is_one_error(engine, made, error):
    with pytest.raises(EngineDied, match="The work failed: Spark's process has ended") as caught:
        use(engine, die(error))

    assert caught.value.__cause__ is error
    assert use(engine, lambda session: session) is made[1]


def test_an_answer_that_came_before_counts(engine, made):
    for answer in (CommitConflict("a writer won"), CatalogError("no such file")):
        with pytest.raises(type(answer)):
            use(engine, die(answer))

    use(engine)
    assert len(made) == 3


def test_an_error_on_a_jvm_that_lives_is_left_as_it_is(engine, made):
    for error in (ZeroDivisionError(), ExecutionError("no space"), OSError("disk")):

        def fail(session, error=error):
            raise error

        with pytest.raises(type(error)):
            use(engine, fail)
    assert len(made) == 1


def test_a_context_that_stopped_itself_is_dead(engine, made):
    def stop(session):
        session.sparkContext.is_stopped = True
        raise Py4JError("Cannot call methods on a stopped SparkContext")

    with pytest.raises(EngineDied):
        use(engine, stop)
    # It must not commit any more.
    assert made[0].process.code == -9
    assert use(engine, lambda session: session) is made[1]


def test_a_jvm_that_died_between_two_calls_costs_nobody_anything(engine, made):
    use(engine)
    made[0].process.kill()

    assert use(engine, lambda session: session) is made[1]


def test_each_thread_that_shared_the_jvm_is_told_once(engine, made):
    together, killed = threading.Barrier(4), threading.Event()

    def work(session):
        if together.wait() == 0:
            session.process.kill()
            killed.set()
        killed.wait()
        if session.process.poll() is not None:
            raise Py4JNetworkError("Answer from Java side is empty")

    def turn(_):
        told = 0
        try:
            use(engine, work)
        except EngineDied:
            told += 1
        use(engine)
        return told

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(turn, range(4))) == [1, 1, 1, 1]
    assert len(made) == 2


def test_pyspark_forgets_the_dead_session_and_no_other(engine, made, monkeypatch):
    use(engine)
    other = Session()
    monkeypatch.setattr(SparkSession, "_instantiatedSession", made[0])
    monkeypatch.setattr(SparkSession, "_activeSession", other)

    with pytest.raises(EngineDied):
        use(engine, die())

    assert SparkSession._instantiatedSession is None
    assert SparkSession._activeSession is other


def test_a_dead_session_is_stopped_without_a_word(engine, made):
    use(engine)
    made[0].process.kill()
    engine.stop()
    engine.stop()

    assert len(made) == 1


def test_a_session_that_dies_while_it_is_stopped_is_no_error(engine, made):
    use(engine)

    def stop():
        made[0].process.kill()
        raise ConnectionResetError

    made[0].stop = stop
    engine.stop()


def test_a_session_can_be_started_early(engine, made):
    engine.start_soon()
    engine.start_soon()
    engine._early.join()

    assert use(engine, lambda session: session) is made[0]
    assert len(made) == 1


def test_what_went_wrong_early_is_told_to_the_first_who_asks():
    starts = []

    def make():
        starts.append(EnvironmentProblem("Spark did not start: no port"))
        if len(starts) == 1:
            raise starts[0]
        return Session()

    engine = SparkEngine(make)
    engine.start_soon()
    engine._early.join()

    with pytest.raises(EnvironmentProblem) as caught:
        engine.session  # noqa: B018
    assert caught.value is starts[0]


def test_who_asks_while_it_starts_waits_for_it(made, monkeypatch):
    monkeypatch.setattr(tables, "activate", lambda session: None)
    begun, may_end = threading.Event(), threading.Event()

    def make():
        begun.set()
        may_end.wait()
        made.append(Session())
        return made[-1]

    engine = SparkEngine(make)
    engine.start_soon()
    begun.wait()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(lambda: engine.session)
        may_end.set()
        assert asked.result() is made[0]
    assert len(made) == 1


def test_an_engine_that_is_stopped_while_it_starts_has_no_session(made, monkeypatch):
    begun, ended = threading.Event(), threading.Event()

    @contextmanager
    def given_up():
        ended.set()
        yield

    def make():
        begun.set()
        ended.wait()
        raise EnvironmentProblem("Spark did not start: it was ended")

    monkeypatch.setattr("neve.spark.engine.given_up", given_up)
    engine = SparkEngine(make)
    engine.start_soon()
    begun.wait()
    engine.stop()

    assert engine._session is engine._kept is None


def test_an_engine_says_how_it_is_and_waits_for_nobody(made):
    begun, may_end = threading.Event(), threading.Event()

    def make():
        begun.set()
        may_end.wait()
        made.append(Session())
        return made[-1]

    engine = SparkEngine(make)
    assert engine.report().state is EngineState.ABSENT
    engine.start_soon()
    begun.wait()
    assert engine.report().state is EngineState.STARTING
    may_end.set()
    engine._early.join()
    assert engine.report().state is EngineState.READY
    made[0].process.kill()
    assert engine.report() == EngineReport("spark", EngineState.FAILED, "Its JVM has ended.")


def test_a_jvm_that_died_is_started_again_before_a_job_needs_it(engine, made):
    engine.revive()
    assert engine._early is None
    use(engine)
    engine.revive()
    assert engine._early is None
    made[0].process.kill()
    engine.revive()
    engine._early.join()

    assert engine.report().state is EngineState.READY
    assert use(engine, lambda session: session) is made[1]
    assert len(made) == 2


def test_a_start_that_failed_is_told_and_not_repeated_by_itself():
    starts = []

    def make():
        starts.append(1)
        raise EnvironmentProblem("There is no Java.")

    engine = SparkEngine(make)
    engine.start_soon()
    engine._early.join()
    engine.revive()

    assert engine.report() == EngineReport("spark", EngineState.FAILED, "There is no Java.")
    assert len(starts) == 1
