"""The examples of docs/python.md run as they stand, on a session that is the caller's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from neve import Neve
from neve.model.outcome import Status
from neve.model.table import TableRef
from neve.spark.samples import create_events, create_namespace, write_batch

GUIDE = Path(__file__).parents[2] / "docs" / "python.md"
TABLE = TableRef("lake", ("demo",), "events")


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def place(spark, catalogs, tmp_path, monkeypatch):
    """A folder with a configuration, and a table of small files."""
    monkeypatch.chdir(tmp_path)
    Path("neve.yaml").write_text(json.dumps({"catalogs": catalogs}), encoding="utf-8")
    create_namespace(spark, TABLE)
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    create_events(spark, TABLE)
    for batch in range(4):
        write_batch(spark, TABLE, batch, 100, ("click",))
    yield
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")


def test_every_example_runs(place, spark, monkeypatch, capsys):
    opened = Neve.open
    # The one change: no second session beside that of the tests.
    monkeypatch.setattr(
        Neve, "open", lambda *args, **named: opened(*args, **{"spark": spark, **named})
    )
    assert len(examples()) == 4
    names = {"spark": spark}
    for example in examples():
        exec(compile(example, str(GUIDE), "exec"), names)

    assert "succeeded" in capsys.readouterr().out
    assert spark.sql("SELECT 1").first()[0] == 1


def test_a_session_of_the_caller_outlives_the_facade(place, spark):
    before = spark.table(str(TABLE)).count()
    with Neve.open(spark=spark) as neve:
        outcome = neve.run(TABLE)
        assert outcome.status is Status.SUCCEEDED
        files = len(neve.survey(TABLE).data_files)

    assert files == 1
    assert spark.table(str(TABLE)).count() == before
