"""The first screen of every command, at 80 and 120 columns.

`SCREENS=write` before the command of these tests writes the screens anew, to be looked at.
"""

from __future__ import annotations

import os
import re
import threading
import uuid
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from rich.cells import cell_len

from neve import Neve, serve
from neve.app import utc_now
from neve.cli.commands import COMMANDS, build
from neve.demo.story import FileMetrics, Story, Validation
from neve.spark import package

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
    (re.compile(r"/[^ ]*/pytest-\d+/(?:popen-[^/ ]+/)?[^/ ]+/"), "/home/"),
    (re.compile(r"Python: \d+\.\d+\.\d+"), "Python: 3.11.0"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:8080"),
    (re.compile(r"neve_[\w-]+"), "neve_key"),
    (re.compile(r"cli:\S+"), "cli:ann"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "d1gest" * 10),
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
    "doctor-table": ("doctor", "db.events"),
}
CHANGING_COMMANDS = {
    "compact": ("compact", "db.events"),
    "maintain": ("maintain",),
    "history": ("history",),
    "jobs": ("jobs",),
    "snapshots-after": ("snapshots", "db.events"),
    "job": ("job", "00000002"),
    "rollback": ("rollback", "db.events", "--job", "00000002"),
    "plan-out": ("plan", "db.events", "--out", "plan.json"),
    "apply": ("apply", "plan.json"),
}
#: Commands that need nothing but a folder.
ALONE = {
    "init": ("init",),
    "doctor": ("doctor",),
    "no-tables": ("tables",),
    "spark-package": ("spark-package", "--out", "neve-executors.zip"),
    "serve": ("serve", "--role", "api", "--port", "0"),
}
ASKING = {
    "keys-create": ("keys", "create", "nightly", "--role", "operator", "--tables", "lake.db"),
    "keys-list": ("keys", "list"),
    "audit-list": ("audit", "list"),
    "audit-verify": ("audit", "verify"),
}
#: These have a test of their own.
APART = {
    "demo": ("demo",),
    "cancel": ("cancel", "00000002"),
    "report": ("report", "db.events"),
    "orphans": ("orphans", "db.events"),
}


ALL = (LOOKING, CHANGING_COMMANDS, ALONE, ASKING, APART)


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
            # A path is never broken, however long it is.
            assert "file:///" in line or cell_len(line) <= width, line
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
@pytest.mark.parametrize("name", ALONE)
def test_what_a_new_user_sees(request, home, machine, screen, name, width, monkeypatch):
    if name == "doctor":
        request.getfixturevalue("events")
    ended = threading.Event()
    ended.set()
    monkeypatch.setattr("neve.serve.run", partial(serve.run, stop=ended))
    monkeypatch.setattr(package, "write_package", lambda target: target.write_bytes(b"packed"))
    check(name, width, screen(width, ALONE[name]))


@pytest.mark.parametrize("width", WIDTHS)
def test_who_may_and_who_did(lake, screen, width):
    settings = {"catalogs": {"lake": lake.properties}, "access": {"enabled": True}}
    Path("neve.yaml").write_text(yaml.safe_dump(settings))
    prefix = ""
    for name, words in ASKING.items():
        text = screen(width, words)
        prefix = prefix or text.split("_")[1]
        check(name, width, text.replace(prefix, "k3ypref1x0"))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_queued_job_is_cancelled(events, ids, screen, width):
    with Neve.open() as neve:
        neve.submit("db.events", "rewrite_manifests")
        (job,) = neve.history()
    check("cancel", width, screen(width, ("cancel", job.job_id[:8])))


@pytest.mark.parametrize("width", WIDTHS)
def test_files_that_nothing_refers_to(stored, screen, width):
    # Longer than a line, wherever the test runs.
    stored.put(f"data/{'o' * 100}", at=utc_now() - timedelta(days=9))
    check("orphans", width, screen(width, APART["orphans"]))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_of_pictures(events, screen, width):
    text = screen(width, APART["report"])
    check("report", width, re.sub(r"\d\.\d MB", "4.6 MB", text))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_story_of_the_demo(events, engine, ids, screen, width, monkeypatch):
    """Of a table that no Spark has made; plan and outcome are real ones."""
    with Neve.open() as neve:
        by_spark = {"rewrite_data_files.engine": "spark"}
        plan = neve.plan_compaction("db.events", overrides=by_spark)
        outcome = neve.run("db.events", overrides=by_spark)
    story = Story(
        table=plan.table,
        events=500_000,
        before=FileMetrics(250, 5.19, 0.0208, 0.0184, 0.0269, 5),
        after=FileMetrics(5, 4.93, 0.9867, 0.9186, 1.2401, 5),
        query_before=SimpleNamespace(seconds=1.917, rows=[]),
        query_after=SimpleNamespace(seconds=0.769, rows=[]),
        plan=plan,
        compaction=outcome,
        partition="purchase",
        partition_compaction=outcome,
        comparison=None,
        validations=(Validation("No data loss", True, "500,000 → 500,000 records"),),
        seconds=182.4,
    )
    monkeypatch.setattr(Neve, "demo", lambda *_, **__: story)
    check("demo", width, screen(width, APART["demo"]))


def test_every_command_has_a_screen():
    """Whoever adds a command adds what it shows to one of the lists above."""
    shown = {words[0] for some in ALL for words in some.values()}
    assert shown == set(COMMANDS)


def test_every_screen_is_of_a_command():
    named = {name for some in ALL for name in some} | {"neve", "help", "compact-again"}
    assert {path.stem for path in SCREENS.iterdir()} == {
        f"{name}-{width}" for name in named for width in WIDTHS
    }


def helped(command, words=()):
    """A command and all below it, each with the words that ask for its help."""
    yield (*words, "-h")
    for name in sorted(getattr(command, "commands", {})):
        yield from helped(command.commands[name], (*words, name))


@pytest.mark.parametrize("width", WIDTHS)
def test_what_every_command_says_of_itself(screen, width):
    below = [
        words for name, known in COMMANDS.items() for words in helped(build(name, known), (name,))
    ]
    shown = [f"$ neve {' '.join(words)}\n{screen(width, words)}" for words in below]
    check("help", width, "\n".join(shown))


@pytest.mark.parametrize("width", WIDTHS)
def test_no_kind_of_a_value_is_broken(width):
    """`<auto|small_` in one line and `files>` in the next can be read by nobody."""
    text = (SCREENS / f"help-{width}.txt").read_text(encoding="utf-8")
    assert re.findall(r"^│ +[\w|]+\]?>.*", text, re.MULTILINE) == []


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
