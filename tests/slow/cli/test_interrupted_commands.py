"""Commands as processes that are told to end, by a key, a closed terminal, or the system."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import pytest

from neve.model.job import JobState
from neve.store.sqlite import SqliteStore

pytestmark = pytest.mark.promise(6)
COMMAND = Path(__file__).parent / "interrupted_command.py"
COMPACT = ("compact", "db.events", "--engine", "spark")
NOTHING = "Interrupted; nothing was changed.\n"
WAIT_SECONDS = 60
WITHIN_SECONDS = 2.0


def heed_interrupts():
    """A shell that starts these tests in the background has switched them off."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Command:
    """A running command, once it has reached its phase."""

    def __init__(self, folder, phase, *words, **options):
        reached = folder / "reached"
        self.process = subprocess.Popen(
            [sys.executable, str(COMMAND), phase, *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            text=True,
            **({"stdout": PIPE, "stderr": PIPE, "preexec_fn": heed_interrupts} | options),
        )
        ends = time.monotonic() + WAIT_SECONDS
        while not reached.exists():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < ends
            time.sleep(0.01)
        reached.unlink()

    def tell(self, *numbers):
        """Send signals, and return what was printed, and the seconds that it took to end."""
        began = time.monotonic()
        for number in numbers:
            self.process.send_signal(number)
            time.sleep(0.05)
        out, err = self.process.communicate(timeout=WAIT_SECONDS)
        return (out or "") + (err or ""), time.monotonic() - began


@pytest.fixture
def command(events, tmp_path):
    started = []

    def start(phase, *words, **options):
        started.append(Command(tmp_path, phase, *(words or COMPACT), **options))
        return started[-1]

    yield start
    for item in started:
        if item.process.poll() is None:
            item.process.kill()
            item.process.wait()


@pytest.fixture
def job(tmp_path):
    """The one job that there is."""

    def read():
        (found,) = SqliteStore(tmp_path / ".neve" / "state.db").jobs()
        return found

    return read


def is_clean(events):
    events.refresh()
    return len(events.metadata.snapshots) == 1 and set(events.metadata.refs) == {"main"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("phase", ["importing", "reading"])
def test_before_there_is_a_job_it_ends_with_one_sentence(command, events, phase, number):
    running = command(phase)
    said, seconds = running.tell(number)

    assert (running.process.returncode, said) == (130, NOTHING)
    assert seconds < WITHIN_SECONDS
    assert is_clean(events)


@pytest.mark.parametrize(
    ("phase", "state"),
    [
        ("starting", JobState.CANCELLED),
        ("rewriting", JobState.CANCELLED),
        ("stuck", JobState.UNKNOWN),
        ("committing", JobState.UNKNOWN),
    ],
)
def test_a_job_gets_an_end_in_two_seconds(command, events, job, phase, state):
    running = command(phase)
    said, seconds = running.tell(signal.SIGINT)

    assert running.process.returncode == 130
    assert said.startswith("Interrupted; ")
    assert said.count("\n") == 1
    assert seconds < WITHIN_SECONDS
    assert job().state is state
    assert (said == NOTHING) is (state is JobState.CANCELLED)
    assert is_clean(events)


def test_maintain_ends_as_well(command, events, job):
    with events.transaction() as change:
        change.set_properties({"neve.rewrite_data_files.engine": "spark"})
    running = command("stuck", "maintain")
    said, seconds = running.tell(signal.SIGTERM)

    assert running.process.returncode == 130
    assert "lake.db.events is settled by the next command" in said
    assert seconds < WITHIN_SECONDS
    assert job().state is JobState.UNKNOWN


def test_a_second_signal_ends_at_once(command, events, job):
    running = command("committing")
    said, seconds = running.tell(signal.SIGINT, signal.SIGINT)

    assert running.process.returncode == 130
    assert said.count("\n") == 1
    assert seconds < 1.0
    assert job().state is JobState.UNKNOWN


def test_a_closed_terminal_is_no_traceback(command, events, job):
    master, terminal = pty.openpty()
    running = command(
        "rewriting", stdout=terminal, stderr=terminal, preexec_fn=lambda: own_terminal(terminal)
    )
    os.close(terminal)
    os.close(master)
    began = time.monotonic()
    running.process.wait(WAIT_SECONDS)

    assert running.process.returncode == 130
    assert time.monotonic() - began < WITHIN_SECONDS
    assert job().state is JobState.CANCELLED
    assert is_clean(events)


def own_terminal(terminal):
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def test_what_nohup_switched_off_is_not_heeded(command, events):
    running = command("reading", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    running.process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        running.process.wait(0.5)
    running.tell(signal.SIGTERM)

    assert running.process.returncode == 130


def test_programs_are_told_in_json(command, events):
    running = command("rewriting", *COMPACT, "-o", "json", stderr=subprocess.DEVNULL)
    said, _ = running.tell(signal.SIGINT)

    assert '"type": "Interrupted"' in said


def test_the_table_is_worked_on_again(command, events, job, engine, run):
    command("rewriting").tell(signal.SIGINT)

    assert run(*COMPACT).exit_code == 0
