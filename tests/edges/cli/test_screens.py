"""The first screen of every command, at 80 and 120 columns.

`SCREENS=write` before the command of these tests writes the screens anew, to be looked at.
"""

from __future__ import annotations

import os
import re
import uuid
from itertools import count
from pathlib import Path

import pytest
from rich.cells import cell_len

from neve.cli.commands import COMMANDS

SCREENS = Path(__file__).parent / "screens"
WIDTHS = (80, 120)
#: What differs from run to run, by something as long.
CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?"), "2026-03-01 12:00"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.+]+"), "2026-03-01T12:00:00"),
    (re.compile(r"\$\d+\.\d+"), "$0.000010"),
    (re.compile(r"\b\d+\.\d s\b"), "0.1 s"),
    (re.compile(r"\b\d+[dhms](?: \d+[hms])*\b"), "1s"),
    (re.compile(r"\b[01]\.\d\d\b"), "0.00"),
    (re.compile(r"\b\d+\.\d–\d+\.\d\b"), "0.1–0.2"),
    (re.compile(r"/[^ ]*/pytest-[^ ]*?/([^/ ]+)/\.neve"), "/home/.neve"),
)
LOOKING = {
    "tables": ("tables",),
    "health": ("health", "db.events"),
    "health-glob": ("health", "*"),
    "health-advice": ("health", "db.events", "--advice"),
    "plan": ("plan", "db.events"),
    "snapshots": ("snapshots", "db.events"),
    "expire": ("expire", "db.events"),
    "policy": ("policy", "explain", "db.events"),
    "policy-list": ("policy", "list"),
    "consumers": ("consumers",),
    "maintain-dry": ("maintain", "--dry-run"),
    "manifests": ("manifests", "db.events", "--dry-run"),
    "deletes": ("deletes", "db.events", "--dry-run"),
    "stats": ("stats", "db.events", "--dry-run"),
    "no-table": ("health", "db.nothing"),
}
CHANGING_COMMANDS = {
    "compact": ("compact", "db.events"),
    "maintain": ("maintain",),
    "history": ("history",),
    "jobs": ("jobs",),
    "snapshots-after": ("snapshots", "db.events"),
    "job": ("job", "00000002"),
    "rollback": ("rollback", "db.events", "--job", "00000002"),
}


@pytest.fixture
def ids(monkeypatch):
    numbers = count(1)
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=next(numbers) << 96))


@pytest.fixture
def screen(run, monkeypatch):
    def show(width, words):
        monkeypatch.setenv("COLUMNS", str(width))
        result = run(*words)
        for line in result.stdout.splitlines():
            assert cell_len(line) <= width, line
        return result.output

    return show


def told(text):
    for pattern, instead in CHANGING:
        text = pattern.sub(instead, text)
    lines = (re.sub(r" {2,}", "  ", line.rstrip()) for line in text.splitlines())
    return "\n".join(lines) + "\n"


def check(name, width, text):
    path = SCREENS / f"{name}-{width}.txt"
    if os.environ.get("SCREENS") == "write":
        path.write_text(told(text), encoding="utf-8")
    assert told(text) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", LOOKING)
def test_what_only_looks(only_looking, screen, name, width):
    check(name, width, screen(width, LOOKING[name]))


@pytest.mark.parametrize("width", WIDTHS)
def test_what_changes_and_what_tells_of_it(events, engine, ids, screen, width):
    with events.transaction() as change:
        change.set_properties({"neve.rewrite_data_files.engine": "spark"})
    for name, words in CHANGING_COMMANDS.items():
        if name == "maintain":
            # Once more there is nothing to do.
            check("compact-again", width, screen(width, CHANGING_COMMANDS["compact"]))
        check(name, width, screen(width, words))


@pytest.mark.parametrize("width", WIDTHS)
def test_all_commands(screen, width):
    check("neve", width, screen(width, ()))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_help(screen, command, width):
    text = screen(width, (command, "-h"))

    assert f"neve {command}" in text
    # The example of a command is copied from here.
    assert COMMANDS[command].example in re.sub(r"\s+", " ", text)
