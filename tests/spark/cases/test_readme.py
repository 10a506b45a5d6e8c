"""The commands of the README do what it says, in the order in which it says it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.json_documents import check_document
from tests.spark.cases.test_demo import SMALL_DEMO, check_story
from typer.testing import CliRunner

from neve.app import App
from neve.cli.commands import COMMANDS
from neve.cli.main import app as command_line
from neve.spark.engine import BorrowedEngine

README = Path(__file__).parents[3] / "README.md"


def expected(line: str) -> set[int]:
    """Exit codes that mean well; 2 means that there is work."""
    if line.startswith("neve maintain") and "--dry-run" in line:
        return {0, 2}
    return {2} if line.startswith("neve plan") else {0}


def commands() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("neve ")]


@pytest.fixture
def neve(spark, catalogs, tmp_path, monkeypatch):
    """The command line on the shared session, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    Path("neve.yaml").write_text(json.dumps({"catalogs": catalogs}), encoding="utf-8")
    monkeypatch.setattr("neve.app.make_engine", lambda *_: BorrowedEngine(spark))
    monkeypatch.setattr(App, "stop", lambda self: None)
    return lambda line: CliRunner().invoke(command_line, shlex.split(line)[1:])


def test_every_command_works(neve):
    demo = neve(shlex.join(("neve", *SMALL_DEMO)))
    check_story(demo.exit_code, check_document(["demo"], demo.stdout))

    for line in commands():
        result = neve(line)
        assert result.exit_code in expected(line), (line, result.output)
        assert result.stdout.strip(), line
        if "-o json" in line:
            check_document(shlex.split(line)[1:], result.stdout)


def test_the_readme_has_commands():
    shown = {line.split()[1] for line in commands()}
    assert shown >= {"tables", "health", "snapshots", "plan", "apply", "compact", "history"}
    assert shown >= {"deletes", "manifests", "expire", "orphans", "consumers"}
    assert shown >= {"policy", "maintain", "doctor"}


def test_the_readme_names_every_command():
    pages = (README, README.parent / "docs" / "commands.md")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [name for name in COMMANDS if f"`neve {name}" not in text] == []
