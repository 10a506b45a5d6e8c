"""What people see while jobs run: a line for each, and nothing with -q or in a pipe."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from neve.cli.output import Format, Output
from neve.model.events import JobEvent
from neve.model.job import JobState
from neve.testing.facts import MB, TABLE


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(Console, "is_terminal", property(lambda self: True))


def event(job_id: str, phase: JobState, done: int = 0, total: int = 0):
    return JobEvent(
        job_id,
        TABLE.sibling(job_id),
        "rewrite_data_files",
        phase,
        tasks_done=done,
        tasks_total=total,
    )


def lines(out: Output) -> list[tuple[str, float, float | None]]:
    assert out._bar is not None
    return [(task.description.strip(), task.completed, task.total) for task in out._bar.tasks[1:]]


def test_every_running_job_has_a_line_until_it_ends(terminal):
    out = Output(Format.TEXT)
    with out.working():
        out.job(event("a", JobState.PLANNING))
        out.job(event("b", JobState.REWRITING))
        out.job(
            replace(event("b", JobState.REWRITING, 1, 4), bytes_done=3 * MB, bytes_total=12 * MB)
        )
        assert lines(out) == [
            ("lake.db.a  rewrite_data_files: planning", 0, None),
            ("lake.db.b  rewrite_data_files: rewriting  3.0 MB of 12.0 MB", 1, 4),
        ]
        out.job(event("a", JobState.SUCCEEDED))
        out.job(event("b", JobState.UNKNOWN))
        assert lines(out) == []
    out.job(event("c", JobState.PLANNING))


def test_quiet_means_no_progress(terminal, run, only_looking, monkeypatch):
    monkeypatch.setattr(Output, "is_quiet", False)
    assert run("-q", "tables").exit_code == 0
    assert Output.is_quiet
    out = Output(Format.TEXT)
    with out.working():
        assert out._bar is None


def test_no_bar_is_left_beside_a_result(terminal, capsys):
    out = Output(Format.TEXT)
    with out.working():
        bar = out._bar
        out.result({}, "the result")
        assert bar is not None
        assert not bar.live.is_started


def test_into_a_pipe_steps_are_told_where_that_was_asked_for(capsys, monkeypatch):
    monkeypatch.setattr(Output, "is_quiet", False)
    out = Output(Format.TEXT)
    out("Nobody asked.")
    out.tells_steps = True
    with out.working():
        out("Reading …")

    assert capsys.readouterr().err == "Reading …\n"
