from __future__ import annotations

import pytest

from neve.trino.testing import FakeCursor, FakeTrinoError

CONFIG = """
engine: trino
trino: {host: trino.example, port: 9, catalog: iceberg, schema: lakehouse, password: geheim,
        http_scheme: https, snapshot_retention: 9d}
"""


class Connection:
    def __init__(self, cursor):
        self._cursor = cursor

    def cursor(self):
        return self._cursor

    def close(self):
        pass


@pytest.fixture
def trino(monkeypatch, tmp_path):
    """A Trino with two tables, reached by the configuration of the current folder."""
    cursor = FakeCursor()
    cursor.answer("SHOW TABLES", [["sales"], ["events"]])
    cursor.answer("$snapshots", [[3]])
    cursor.answer("$files", [[5]], [[1]])
    cursor.options = {}

    def connect(**options):
        cursor.options.update(options)
        return Connection(cursor)

    monkeypatch.setattr("neve.cli.maintain_trino.connect", connect)
    monkeypatch.setattr("neve.cli.maintain_trino.trino_errors", lambda: (FakeTrinoError,))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "neve.yaml").write_text(CONFIG)
    return cursor


def test_maintain_runs_on_trino_where_the_configuration_says_so(run_json, trino):
    document, code = run_json("maintain")

    assert code == 0
    assert [(o["table"], o["operation"], o["status"]) for o in document["outcomes"]] == [
        (f"iceberg.lakehouse.{table}", operation, "completed")
        for table in ("events", "sales")
        for operation in ("optimize", "expire_snapshots", "remove_orphan_files")
    ]
    assert any("retention_threshold => '9d'" in statement for statement in trino.statements)
    assert trino.options["host"] == "trino.example"
    assert trino.options["password"] == "geheim"


def test_one_operation_that_fails_is_told_and_the_others_run(run, run_json, trino):
    trino.fail("expire_snapshots", FakeTrinoError("too short"))

    document, code = run_json("maintain", "sales")

    assert code == 1
    assert [o["status"] for o in document["outcomes"]] == ["completed", "failed", "completed"]
    assert "too short" in run("maintain", "sales").stdout


def test_a_dry_run_on_trino_changes_nothing(run_json, trino):
    document, code = run_json("maintain", "--dry-run")

    assert code == 0
    assert [table["table"] for table in document["tables"]] == [
        "iceberg.lakehouse.events",
        "iceberg.lakehouse.sales",
    ]
    assert not any("EXECUTE" in statement for statement in trino.statements)


def test_a_dry_run_says_which_table_cannot_be_counted(run, run_json, trino):
    trino.fail("sales$files", FakeTrinoError("no metadata"))

    document, code = run_json("maintain", "--dry-run")

    assert code == 1
    assert document["tables"] == [
        {"table": "iceberg.lakehouse.events", "snapshots": 3, "files": 5, "problem": None},
        {
            "table": "iceberg.lakehouse.sales",
            "snapshots": None,
            "files": None,
            "problem": "no metadata",
        },
    ]
    assert "no metadata" in run("maintain", "--dry-run").stdout


def test_a_name_that_matches_no_table_is_an_error(run, trino):
    result = run("maintain", "slaes")

    assert result.exit_code == 1
    assert "No table in Trino matches slaes." in result.stderr


def test_the_password_is_never_shown(run, trino):
    (trino_error := FakeTrinoError("refused")).message = "refused"
    trino.fail("SHOW TABLES", trino_error)

    result = run("maintain")

    assert result.exit_code == 1
    assert "geheim" not in result.output


@pytest.mark.parametrize("option", ["--due", "--now"])
def test_what_trino_does_not_know_is_refused_rather_than_ignored(run, trino, option):
    result = run("maintain", option)

    assert result.exit_code == 1
    assert "no schedules" in result.output
    assert trino.statements == []
