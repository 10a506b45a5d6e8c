"""The list of commands: quick to print, true of each command, with examples that can be typed."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import neve
from neve.cli.commands import COMMANDS, PANELS, build
from neve.cli.main import app

#: Where the package is found without what other packages do at the start of Python.
IN_SRC: Any = {
    "env": {"PYTHONPATH": str(Path(neve.__file__).parents[1])},
    "capture_output": True,
    "text": True,
}
#: What the façade brings along: all that asks catalogs, and readers of YAML.
HEAVY_FOR_ONE = ("neve.neve", "pyarrow", "pyiceberg", "pyspark", "strictyaml", "fastapi")
HEAVY = (*HEAVY_FOR_ONE, "rich")


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["--version"], []], ids=str)
def test_the_list_imports_nothing_heavy(words):
    program = (
        "import sys\nfrom neve.cli.main import app\n"
        f"try: app({words!r})\n"
        "except SystemExit as end: assert not end.code\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(str(loaded) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_imports_nothing_that_it_does_not_show(name):
    """What asks catalogs takes a second and more to be imported."""
    program = (
        "import sys\nfrom neve.cli.main import app\n"
        f"try: app([{name!r}, '-h'])\n"
        "except SystemExit as end: assert not end.code\n"
        f"loaded = [name for name in {HEAVY_FOR_ONE!r} if name in sys.modules]\n"
        "sys.exit(str(loaded) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert COMMANDS[name].summary in " ".join(done.stdout.split())


def test_signals_are_seen_to_before_much_is_imported():
    """Until then a Ctrl-C ends the command with a traceback."""
    program = (
        "import sys\nbefore = set(sys.modules)\nimport neve.cli.start\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], **IN_SRC)
    assert (done.returncode, done.stderr) == (0, "")
    assert {"neve.cli.start", "signal"} <= set(done.stdout.split())
    assert {"typing", "re", "contextlib"}.isdisjoint(done.stdout.split())


def test_without_words_all_commands_are_shown(run):
    shown = run()
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert all(f"\n  {name} " in shown.stdout for name in COMMANDS)
    assert all(f"\n{panel}:\n" in shown.stdout for panel in PANELS)
    assert shown.stdout == run("-h").stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_is_what_the_command_says_itself(name):
    text = (build(name, COMMANDS[name]).help or "").split("\n\n")[0]
    assert " ".join(text.split()) == COMMANDS[name].summary


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_can_be_typed(name):
    program, *words = shlex.split(COMMANDS[name].example)
    assert (program, words[0]) == ("neve", name)
    group = get_command(app)
    with group.make_context("neve", list(words)) as context:
        found, command, rest = group.resolve_command(context, words)
        while hasattr(command, "resolve_command"):
            with command.make_context(found, list(rest)) as inner:
                found, command, rest = command.resolve_command(inner, rest)
        with command.make_context(found, list(rest)):
            pass


def test_the_example_is_part_of_the_help(run):
    shown = run("compact", "-h")
    assert COMMANDS["compact"].example in shown.output


@pytest.fixture
def lakes(tmp_path) -> Path:
    """Two configurations, each with a catalog of its own name."""
    for name in ("right", "wrong"):
        text = f"catalogs: {{{name}: {{type: sql, uri: 'sqlite:///{tmp_path}/{name}.db'}}}}"
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (None, ["--config", "right", "tables"]),
        (None, ["tables", "--config", "right"]),
        (None, ["-c", "wrong", "tables", "-c", "right"]),
        ("wrong", ["-c", "right", "tables"]),
        ("wrong", ["tables", "-c", "right"]),
        ("right", ["tables"]),
    ],
    ids=str,
)
def test_the_configuration_may_stand_before_or_after_the_command(
    lakes, run, monkeypatch, environment, words
):
    if environment:
        monkeypatch.setenv("NEVE_CONFIG", str(lakes / environment))
    words = [str(lakes / word) if word in ("right", "wrong") else word for word in words]

    told = run(*words, "-o", "json")
    assert "Catalog right has no database yet" in told.stdout
