"""jobs/compact_table.py, as it runs inside an application that somebody submitted."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

JOB = Path(__file__).parents[2] / "jobs" / "compact_table.py"
KINDS = "id BIGINT, kind STRING"


@pytest.fixture
def job(spark, catalogs, tmp_path, monkeypatch):
    """The program's `main`, which finds the session of the tests as the running one."""
    state = {"url": f"sqlite:///{tmp_path}/job.db"}
    (tmp_path / "neve.yaml").write_text(json.dumps({"catalogs": catalogs, "state": state}))
    monkeypatch.setenv("NEVE_CONFIG", str(tmp_path / "neve.yaml"))
    spec = importlib.util.spec_from_file_location("compact_table", JOB)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def test_only_the_partition_is_compacted_and_no_row_changes(lake, job, capsys):
    table = lake.create(KINDS, by="kind")
    lake.fill(table)
    before, paths = lake.rows(table), lake.paths(table)

    assert job(["--table", str(table), "--partition", "kind = 'k0'"]) == 0

    assert lake.rows(table) == before
    after = lake.paths(table)
    assert (len(paths), len(after), len(paths & after)) == (6, 4, 3)
    assert "succeeded" in capsys.readouterr().out
    assert lake.session.sql("SELECT 1").first()[0] == 1


def test_files_over_the_minimum_stay(lake, job, capsys):
    table = lake.create()
    lake.fill(table, "id", "sha2(cast(id AS string), 512) AS kind", rows=60_000)
    assert min(file.size_bytes for file in lake.facts(table).data_files) > 1024 * 1024

    assert job(["--table", str(table), "--min-size-mb", "1", "--target-size-mb", "2"]) == 0
    assert "nothing_to_do" in capsys.readouterr().out

    assert job(["--table", str(table)]) == 0
    assert len(lake.paths(table)) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--table", "lake.nope.events"], "lake.nope.events"),
        (["--table", "{table}", "--partition", "kind = 'k0'; DROP TABLE x"], "filter"),
        (["--table", "{table}", "--partition", ""], "is not a text"),
        (["--table", "{table}", "--min-size-mb", "500"], "min-file-size-bytes"),
    ],
)
def test_what_cannot_be_done_is_said_and_fails_the_application(lake, job, capsys, words, told):
    table = lake.create()
    lake.fill(table)
    paths = lake.paths(table)

    assert job([word.format(table=table) for word in words]) == 1

    assert told in capsys.readouterr().err.lower()
    assert lake.paths(table) == paths


@pytest.mark.parametrize("size", ["0", "-5", "many"])
def test_a_size_that_is_none_is_refused(job, size, capsys):
    with pytest.raises(SystemExit):
        job(["--table", "t", "--target-size-mb", size])

    assert "--target-size-mb" in capsys.readouterr().err
