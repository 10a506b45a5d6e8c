"""`neve maintain` where the configuration says `engine: trino`: jobs as everywhere else."""

from __future__ import annotations

import sqlite3

import pytest

from neve import Neve
from neve.model.errors import ConfigError, InputError
from neve.model.job import ENGINE, TRINO, JobRequest, JobState
from neve.model.table import TableRef
from neve.store.sqlite import SqliteStore
from neve.trino.testing import FakeCursor, FakeTrinoError

CONFIG = """
engine: trino
trino: {host: trino.example, port: 9, catalog: iceberg, schema: lakehouse, password: geheim,
        http_scheme: https, snapshot_retention: 9d}
"""
OPERATIONS = ["rewrite_data_files", "expire_snapshots", "remove_orphan_files"]
SALES = TableRef("iceberg", ("lakehouse",), "sales")


class Connection:
    def __init__(self, cursor):
        self._cursor = cursor

    def cursor(self):
        return self._cursor

    def close(self):
        self._cursor.closed = True


@pytest.fixture
def trino(monkeypatch, tmp_path):
    """A Trino with two tables, reached by the configuration of the current folder."""
    cursor = FakeCursor()
    cursor.answer("SHOW TABLES", [["sales"], ["events"]])
    cursor.answer("$snapshots", [[3]])
    cursor.answer("$files", [[5]], [[1]])
    cursor.options = {}
    cursor.closed = False

    def connect(**options):
        cursor.options.update(options)
        return Connection(cursor)

    monkeypatch.setattr("neve.trino.engine.connect", connect)
    monkeypatch.setattr("neve.trino.engine.trino_errors", lambda: (FakeTrinoError, OSError))
    monkeypatch.setattr("neve.trino.engine.lost_errors", lambda: (OSError,))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "neve.yaml").write_text(CONFIG)
    return cursor


@pytest.fixture
def store(trino, tmp_path):
    """The state that the commands use, too."""
    return SqliteStore(tmp_path / ".neve" / "state.db")


def executed(cursor):
    return [statement for statement in cursor.statements if "EXECUTE" in statement]


def logged(cursor):
    pairs = zip(cursor.statements, cursor.parameters, strict=True)
    return [parameters for statement, parameters in pairs if statement.startswith("INSERT")]


def test_maintain_runs_on_trino_where_the_configuration_says_so(run_json, trino):
    document, code = run_json("maintain")

    assert code == 0
    # Trino's commits carry no job's name, so that its turns have no id to be undone by.
    assert (document["engine"], document["turn_id"]) == ("trino", None)
    assert (document["engine"], document["catalog_problems"]) == ("trino", [])
    assert [
        (table["table"], [(o["operation"], o["status"]) for o in table["operations"]])
        for table in document["tables"]
    ] == [
        (f"iceberg.lakehouse.{name}", [(operation, "succeeded") for operation in OPERATIONS])
        for name in ("events", "sales")
    ]
    assert any("retention_threshold => '9d'" in statement for statement in trino.statements)
    assert trino.options["host"] == "trino.example"
    assert trino.options["password"] == "geheim"
    assert trino.closed


def test_the_document_has_the_form_of_sparks(run_json, trino, tmp_path, lake, events, engine):
    on_trino, _ = run_json("maintain", "sales")
    (tmp_path / "neve.yaml").unlink()
    # The engine of these tests makes no tasks.
    with events.transaction() as change:
        change.set_properties({"neve.rewrite_data_files.engine": "spark"})

    on_spark, _ = run_json("maintain", "db.events")

    def keys(document):
        """Of every level that both engines fill."""
        (table,) = document["tables"]
        report = table["operations"][0]
        outcome = report["outcome"]
        levels = (document, table, report, outcome, outcome["stats"])
        return [list(level) for level in levels]

    assert keys(on_trino) == keys(on_spark)


def test_each_operation_is_a_job_with_its_outcome_and_its_row_in_the_log(run_json, trino, store):
    document, _ = run_json("maintain", "sales")

    outcomes = [o["outcome"] for o in document["tables"][0]["operations"]]
    jobs = {job.job_id: job for job in store.jobs()}
    assert [jobs[o["job_id"]].operation for o in outcomes] == OPERATIONS
    assert {(job.table, job.state) for job in jobs.values()} == {(SALES, JobState.SUCCEEDED)}
    assert outcomes[0]["reason"] == "5 files became 1."
    assert outcomes[0]["stats"]["files_before"] == 5
    assert [row[10] for row in logged(trino)] == [o["job_id"] for o in outcomes]
    assert store.schedule_state(SALES) is not None


def test_one_operation_that_fails_is_told_and_the_others_run(run, run_json, trino, store):
    trino.fail("expire_snapshots", FakeTrinoError("too short"))

    document, code = run_json("maintain", "sales")

    assert code == 1
    (table,) = document["tables"]
    assert [o["status"] for o in table["operations"]] == ["succeeded", "failed", "succeeded"]
    assert [row[2] for row in logged(trino)] == ["completed", "failed", "completed"]
    assert [job.state for job in reversed(store.jobs())] == ["succeeded", "failed", "succeeded"]
    assert "too short" in run("maintain", "sales").stdout


def test_an_operation_that_nobody_answered_is_unknown_until_the_next_one_ends_it(
    run_json, trino, store
):
    trino.fail("EXECUTE optimize", ConnectionResetError("reset"), times=1)

    document, code = run_json("maintain", "sales")

    assert code == 1
    (report, *_) = document["tables"][0]["operations"]
    assert report["status"] == "unknown"
    job = store.job(report["outcome"]["job_id"])
    # The operation after it has settled it.
    assert job.state is JobState.FAILED
    assert "may have finished it all the same" in job.reason
    assert store.unfinished() == []


def test_a_log_that_cannot_be_written_hides_nothing(run, run_json, trino):
    trino.fail("INSERT INTO", FakeTrinoError("no space"))

    document, code = run_json("maintain", "sales")

    (table,) = document["tables"]
    assert code == 0
    assert [o["status"] for o in table["operations"]] == ["succeeded"] * 3
    assert "no space" in table["log_problem"]
    assert "not logged" in run("maintain", "sales").stdout


def test_a_table_that_another_job_holds_is_left_alone_and_the_others_are_not(
    run_json, trino, store
):
    store.begin("other", JobRequest(SALES, "rewrite_data_files"), 600)

    document, code = run_json("maintain")

    assert code == 1
    events, sales = document["tables"]
    assert [o["status"] for o in events["operations"]] == ["succeeded"] * 3
    assert [o["status"] for o in sales["operations"]] == ["failed"] * 3
    assert sales["operations"][0]["outcome"]["stats"]["files_before"] is None
    assert not any('"sales"' in statement for statement in executed(trino))


def test_while_trino_works_on_a_table_nobody_else_may(trino, store):
    busy = []
    execute = trino.execute

    def watched(statement, *parameters):
        if "EXECUTE" in statement:
            busy.append(str(next(iter(store.jobs(SALES))).state))
            with pytest.raises(Exception, match="sales"):
                store.begin("second", JobRequest(SALES, "rewrite_data_files"), 600)
        return execute(statement, *parameters)

    trino.execute = watched
    with Neve.open() as neve:
        neve.maintain([SALES])

    assert busy == ["rewriting"] * 3


def test_a_job_that_was_left_behind_ends_with_the_next_one(run, run_json, trino, store):
    request = JobRequest(SALES, "expire_snapshots", {ENGINE: TRINO})
    store.begin("lost", request, 0)

    run_json("maintain", "sales")

    assert store.job("lost").state is JobState.FAILED


def test_a_job_that_was_left_behind_ends_with_a_look_at_the_jobs(run_json, trino, store):
    store.begin("lost", JobRequest(SALES, "expire_snapshots", {ENGINE: TRINO}), 0)

    jobs, code = run_json("jobs")

    assert code == 0
    assert [(job["job_id"], job["state"]) for job in jobs] == [("lost", "failed")]
    assert trino.statements == []


def test_a_job_of_spark_is_not_judged_by_a_neve_without_spark(run_json, trino, store):
    store.begin("sparks", JobRequest(SALES, "rewrite_data_files"), 0)

    _, code = run_json("maintain", "sales")

    assert code == 0
    assert not store.job("sparks").state.is_final


def test_a_stop_is_heard_between_operations(trino, store):
    execute = trino.execute
    with Neve.open() as neve:

        def stopping(statement, *parameters):
            if "EXECUTE optimize" in statement:
                neve.stop()
            return execute(statement, *parameters)

        trino.execute = stopping
        first, second = neve.maintain()

    assert [r.status for r in first.operations] == ["succeeded", "cancelled", "cancelled"]
    assert second.skipped == "The run was stopped before its turn."
    assert len(executed(trino)) == 1
    assert store.unfinished() == []


def test_phases_are_told_as_events(trino):
    told = []
    with (
        Neve.open() as neve,
        neve.events(lambda event: told.append((event.operation, event.phase))),
    ):
        neve.maintain([SALES])

    assert told[:2] == [("rewrite_data_files", "rewriting"), ("rewrite_data_files", "succeeded")]


def test_a_dry_run_on_trino_changes_nothing(run_json, trino, tmp_path):
    document, code = run_json("maintain", "--dry-run")

    assert code == 2
    assert [
        (table["table"], [o["status"] for o in table["operations"]]) for table in document["tables"]
    ] == [(f"iceberg.lakehouse.{name}", ["planned"] * 3) for name in ("events", "sales")]
    reasons = [o["reason"] for o in document["tables"][0]["operations"]]
    assert reasons[0] == "Would rewrite files under 10MB; the table has 5 files."
    assert executed(trino) == logged(trino) == []
    assert jobs_in(tmp_path) == 0


def jobs_in(folder):
    file = folder / ".neve" / "state.db"
    if not file.exists():
        return 0
    with sqlite3.connect(file) as state:
        ((count,),) = state.execute("SELECT count(*) FROM jobs")
    state.close()
    return count


def test_a_dry_run_says_which_table_cannot_be_counted(run, run_json, trino):
    trino.fail("sales$files", FakeTrinoError("no metadata"))

    document, code = run_json("maintain", "--dry-run")

    assert code == 1
    events, sales = document["tables"]
    assert (events["problem"], sales["operations"]) == (None, [])
    assert sales["problem"] == "Trino cannot read table iceberg.lakehouse.sales: no metadata"
    assert "no metadata" in run("maintain", "--dry-run").stdout


def test_a_name_that_matches_no_table_is_an_error(run, trino):
    result = run("maintain", "slaes")

    assert result.exit_code == 1
    assert "No table in Trino matches slaes." in result.stderr


def test_an_empty_schema_is_no_mistake(run_json, trino):
    trino._answers[0] = ("SHOW TABLES", [[]])

    document, code = run_json("maintain")
    assert (document["engine"], document["tables"], code) == ("trino", [], 0)


def test_the_password_is_never_shown(run, trino):
    trino.fail("SHOW TABLES", FakeTrinoError("refused"))

    result = run("maintain")

    assert result.exit_code == 1
    assert "geheim" not in result.output


@pytest.mark.parametrize("option", ["--due", "--now"])
def test_what_trino_does_not_know_is_refused_rather_than_ignored(run, trino, option):
    result = run("maintain", option)

    assert result.exit_code == 1
    assert "no schedules" in result.output
    assert trino.statements == []


def test_from_python_it_is_the_same(trino):
    with Neve.open() as neve:
        assert neve.engine == "trino"
        found = neve.maintainable("sal*")
        (report,) = neve.maintain(found.tables)

    assert (found.tables, report.table, report.is_good) == ([SALES], SALES, True)


@pytest.mark.parametrize("command", [("tables",), ("health", "lakehouse.sales")])
def test_what_needs_a_catalog_of_neves_own_says_that_there_is_none(run, trino, command):
    result = run(*command)

    assert result.exit_code == 1
    assert "No catalog is configured." in result.stderr


@pytest.mark.parametrize("name", ["iceberg.lakehouse.sales", "lakehouse.sales"])
def test_jobs_of_a_table_are_found_by_its_name_in_trino(run_json, trino, name):
    run_json("maintain")

    with Neve.open() as neve:
        jobs = neve.history(name)

    assert {(job.table, job.trigger) for job in jobs} == {(SALES, "maintain")}
    assert len(jobs) == 3


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_table_that_trino_cannot_address_is_its_own_problem(trino, dry_run):
    nested = TableRef("iceberg", ("a", "b"), "t")

    with Neve.open() as neve:
        odd, sales = neve.maintain([nested, SALES], dry_run=dry_run)

    assert (odd.is_good, sales.is_good) == (False, True)
    said = odd.problem or odd.operations[0].reason
    assert said == "Trino cannot address the table iceberg.a.b.t: its namespace has several levels."


def test_one_operation_is_a_job_of_its_own_and_can_be_queued(trino, store):
    with Neve.open() as neve:
        outcome = neve.run(SALES, "expire_snapshots", arguments={ENGINE: TRINO})
        queued = neve.submit(SALES, "remove_orphan_files", arguments={ENGINE: TRINO})
        with pytest.raises(InputError, match="no operation 'rewrite_manifests' on Trino"):
            neve.submit(SALES, "rewrite_manifests", arguments={ENGINE: TRINO})

    assert outcome.status.is_good
    assert len(executed(trino)) == 1
    assert [row[1] for row in logged(trino)] == ["expire_snapshots"]
    assert store.job(queued.job_id).state is JobState.QUEUED


def test_a_job_for_trino_is_refused_where_spark_is_configured(trino, tmp_path, lake, events):
    (tmp_path / "neve.yaml").unlink()

    with Neve.open() as neve, pytest.raises(ConfigError, match="not configured for Trino"):
        neve.run("db.events", "expire_snapshots", arguments={ENGINE: TRINO})


def test_the_log_has_the_callers_run_and_the_job_apart(run_json, trino, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CTX_DAG_RUN_ID", "scheduled__2026-03-01")
    document, _ = run_json("maintain")

    rows = [p for s, p in zip(trino.statements, trino.parameters, strict=True) if "INSERT" in s]
    jobs = [
        item["outcome"]["job_id"] for table in document["tables"] for item in table["operations"]
    ]
    assert [(row[8], row[10]) for row in rows] == [("scheduled__2026-03-01", job) for job in jobs]
    # The same names as with Spark, in the log, in the state and in documents.
    history, _ = run_json("history")
    assert {job["operation"] for job in history} == {
        item["operation"] for table in document["tables"] for item in table["operations"]
    }
    assert {row[1] for row in rows} == {"optimize", "expire_snapshots", "remove_orphan_files"}
