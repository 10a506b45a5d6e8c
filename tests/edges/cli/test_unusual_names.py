"""Names that a shell would take for something else: what is printed can be copied as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.edges.cli.conftest import BY_KIND, SCHEMA

from neve.model.table import TableRef, split_name
from neve.testing.facts import MB
from neve.testing.local_lake import FileEntry, Manifest

SOURCES = Path(__file__).resolve().parents[3] / "src" / "neve"
NAMES = [
    "order items",
    "ORDERS",
    "größe",
    "select",
    "100%",
    "[bold]x[/bold]",
    "$HOME",
    "a`b",
    "it's",
]
COMMAND = re.compile(r"(?:→|undo:) neve (.+)$", re.MULTILINE)


@pytest.fixture(params=NAMES)
def odd(request, lake):
    table = lake.create(f"db.{request.param}", SCHEMA, BY_KIND)
    with table.transaction() as change:
        change.set_properties({"neve.rewrite_data_files.engine": "spark"})
    files = [FileEntry(f"file:///c{i}", ("click",), size_bytes=MB) for i in range(5)]
    lake.commit(table, Manifest(files))
    return TableRef("lake", ("db",), request.param)


def words_of(shown, odd):
    """A command that is shown, as a shell hands it over."""
    command, *words = shlex.split(COMMAND.search(shown)[1])
    assert split_name(words[0]) == ["lake", "db", odd.name]
    return command, *words


def test_what_is_advised_and_how_to_undo_it_can_be_copied(odd, engine, run):
    advised = words_of(run("health", str(odd)).stdout, odd)
    done = run(*advised)
    assert done.exit_code == 0
    undone = run(*words_of(done.stdout, odd))

    assert undone.exit_code == 0
    assert "Went to snapshot 1" in undone.stdout


def test_no_command_is_printed_with_a_bare_name():
    bare = re.compile(r"neve [a-z]+ \{(?:escape\(str\()?(?:\w+\.)*table[})]")
    found = [path.name for path in SOURCES.rglob("*.py") if bare.search(path.read_text("utf-8"))]

    assert found == []


def test_a_name_with_signs_of_a_pattern_means_itself(lake, run_json):
    for name in ("[b]", "b"):
        lake.create(f"db.{name}", SCHEMA)

    assert run_json("health", "lake.db.`[b]`")[0]["table"] == "lake.db.`[b]`"
    assert run_json("health", "db.[b]")[0][0]["table"] == "lake.db.b"
    assert run_json("health", "lake.db.`[b]`", "--advice") == ([], 0)
    assert run_json("health", "db.*", "--advice")[1] == 1


def test_a_name_that_cannot_be_read_says_how_to_write_it(lake, run):
    refused = run("health", "lake.db.order items")

    assert refused.exit_code == 1
    assert "in backticks, and all of it in single quotes" in refused.stderr


@pytest.mark.parametrize("command", ["tables", "health"])
def test_a_pattern_that_matches_nothing_says_so(lake, run, run_json, command):
    assert run(command, "nothing*").stdout == "No table matches nothing*.\n"
    assert run(command, "*").stdout == "No tables.\n"
    assert run_json(command, "nothing*") == ([], 0)


@pytest.mark.parametrize("width", [40, 80])
def test_a_command_that_is_longer_than_a_line_keeps_its_end(lake, run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    name = "x" * 90
    table = lake.create(f"db.{name}", SCHEMA, BY_KIND)
    files = [FileEntry(f"file:///c{i}", ("click",), size_bytes=MB) for i in range(5)]
    lake.commit(table, Manifest(files))

    assert f"  → neve compact lake.db.{name}" in run("health", f"db.{name}").stdout.splitlines()
    assert f"lake.db.{name}" in run("tables").stdout


def test_a_name_with_spaces_breaks_no_name_in_a_list(lake, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    long = "a_rather_long_name_that_was_a_good_idea_when_this_table_was_made"
    for name in ("order items of all the shops", long):
        lake.create(f"db.{name}", SCHEMA, BY_KIND)

    assert f"lake.db.{long}" in run("tables").stdout
