"""Blocks of the pages run in their order, on one table; so do the examples."""

from __future__ import annotations

import json
import runpy
import shlex
from pathlib import Path

import pytest
import yaml
from tests.json_documents import check_document
from tests.pages import ROOT, blocks, pages
from typer.testing import CliRunner

from neve import Neve
from neve.app import App
from neve.cli.main import app as command_line
from neve.model.table import TableRef
from neve.spark.engine import BorrowedEngine
from neve.spark.samples import create_events, write_batch

TABLE = TableRef("lake", ("demo",), "events")
#: Exit codes that mean well: a plan with work, and one without.
GOOD = {"plan": (0, 2), "maintain": (0, 2)}
#: Sections that say where things are: a page's test has places of its own.
PLACES = {"catalogs", "state", "spark", "engine", "trino"}
#: Pages that need more than a table have tests of their own (tests/system, tests/slow, tests/unit).
ELSEWHERE = {"start/stack.md", "start/lambda.md", "queries.md", "jq.md"}
RUN = {"bash", "python", "sql"}
PAGES = [p for p in pages() if p not in ELSEWHERE and RUN & {b.language for b in blocks(p)}]


@pytest.fixture
def place(spark, catalogs, tmp_path, monkeypatch):
    """A folder with a configuration, a table of small files, and the command line on it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("neve.app.make_engine", lambda *_: BorrowedEngine(spark))
    monkeypatch.setattr(App, "stop", lambda self: None)
    create_events(spark, TABLE)
    for batch in range(4):
        write_batch(spark, TABLE, batch, 40, ("click",))
    Place(spark, catalogs).configure({})
    yield Place(spark, catalogs)
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    for own in ("_maintenance_log", "_health_history"):
        spark.sql(f"DROP TABLE IF EXISTS lake.demo.{own} PURGE")


class Place:
    def __init__(self, spark, catalogs):
        self.spark, self.catalogs = spark, catalogs

    def configure(self, said):
        own = {key: value for key, value in said.items() if key not in PLACES}
        Path("neve.yaml").write_text(json.dumps({"catalogs": self.catalogs, **own}), "utf-8")

    def run(self, block):
        match block.language:
            case "bash":
                for line in block.lines:
                    self.command(line)
            case "yaml":
                self.configure(yaml.safe_load(block.text))
            case "properties" if block.title:
                Path(block.title).write_text(block.text, encoding="utf-8")
            case "sql":
                self.spark.sql(block.text)
            case "python":
                exec(compile(block.text, block.page, "exec"), {"spark": self.spark})

    def command(self, line):
        words = shlex.split(line)[1:]
        result = CliRunner().invoke(command_line, words)
        assert result.exit_code in GOOD.get(words[0], (0,)), (line, result.output)
        assert result.output.strip(), line
        if "json" in words:
            check_document(words, result.stdout)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_works(place, page):
    for block in blocks(page):
        place.run(block)


def test_a_log_with_many_rows_is_maintained(place):
    log = "lake.demo._maintenance_log"
    (said,) = [b for b in blocks("guides/many-tables.md") if b.language == "yaml"]
    policies = yaml.safe_load(said.text.replace("min-input-files: 20", "min-input-files: 4"))
    place.configure(policies)
    for batch in range(10, 18):
        write_batch(place.spark, TABLE, batch, 10, ("click",))
        if batch % 2:
            place.command("neve compact lake.demo.events")
    rows = place.spark.table(log).count()
    assert rows == 4
    place.command("neve maintain 'lake.demo._*' --now")

    with Neve.open(spark=place.spark) as neve:
        # One file of all rows before, one of what was done now.
        assert len(neve.survey(log).data_files) == 2
    assert place.spark.table(log).count() > rows


def test_the_example_of_the_python_api(place, monkeypatch, capsys):
    example("python_api.py", monkeypatch, "lake.demo.*", spark=place.spark)

    assert "lake.demo.events succeeded" in capsys.readouterr().out


def test_the_example_of_a_spark_application(place, monkeypatch, capsys):
    example("spark_application.py", monkeypatch, str(TABLE))

    assert "succeeded" in capsys.readouterr().out
    assert place.spark.sql("SELECT 1").first()[0] == 1


def example(name, monkeypatch, *arguments, **opened_with):
    """Run a file as python would, with arguments; it must end well."""
    opened = Neve.open
    monkeypatch.setattr(Neve, "open", lambda *a, **named: opened(*a, **{**opened_with, **named}))
    monkeypatch.setattr("sys.argv", [name, *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    assert ended.value.code == 0
