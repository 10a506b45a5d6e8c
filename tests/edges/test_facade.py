"""The façade: its surface is what docs/python.md lists, and every method works without a JVM."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from neve import Neve
from neve.listeners import CarefulReporter
from neve.model.errors import InputError
from neve.model.job import JobState
from neve.model.operation import Operation
from neve.testing.facts import MB
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))


@pytest.fixture
def neve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lake = LocalLake(tmp_path / ".neve")
    table = lake.create("db.events", SCHEMA)
    lake.commit(table, Manifest([FileEntry(f"file:///f{i}", (), size_bytes=MB) for i in range(5)]))
    with Neve.open() as opened:
        yield opened


def public(of) -> set[str]:
    return {name for name, _ in inspect.getmembers(of) if not name.startswith("_")}


def test_its_surface_is_the_documented_one():
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)", text, re.MULTILINE))

    assert listed == public(Neve)


def test_every_method_says_what_it_does_and_is_typed():
    for name, method in inspect.getmembers(Neve, inspect.isfunction):
        if name.startswith("_"):
            continue
        signature = inspect.signature(method)
        assert signature.return_annotation is not inspect.Signature.empty, name
        assert name == "job" or method.__doc__, name


def test_looking(neve):
    (table,) = neve.tables()
    assert str(table) == "lake.db.events"
    assert len(neve.survey("db.events").data_files) == 5
    assert neve.health("db.events").score < 100
    assert neve.history() == []
    assert neve.jobs() == []
    assert neve.consumers() == []
    assert neve.diagnose("db.events", sample=1).table == table


def test_a_plan_is_of_the_operation_that_was_asked_for(neve):
    assert len(neve.plan("db.events").steps) == 1
    for operation in Operation:
        if operation is not Operation.REMOVE_ORPHAN_FILES:
            assert neve.plan("db.events", operation).operation is operation
    with pytest.raises(InputError) as raised:
        neve.plan("db.events", "drop_table")
    assert raised.value.next_step.startswith("Choose from: rewrite_data_files, ")


def test_overrides_are_the_strongest_layer(neve):
    key = "rewrite_data_files.options.min-input-files"
    assert neve.policy("db.events", {key: 99}).setting(key).value == 99
    assert neve.plan("db.events", overrides={key: 99}).is_empty


def test_a_job_is_queued_found_and_cancelled(neve):
    job = neve.submit("db.events", requested_by="ann")
    assert neve.job(job.job_id).state is JobState.QUEUED
    (report,) = neve.jobs()
    assert report.job.job_id == job.job_id

    assert neve.cancel(job.job_id).state is JobState.CANCELLED
    assert neve.cancel("no-such-job") is None


def test_listeners_hear_events_for_the_length_of_the_block(neve):
    heard = []
    with neve.events(heard.append):
        neve.run("db.events", Operation.REMOVE_DANGLING_DELETES)
    count = len(heard)
    neve.run("db.events", Operation.REMOVE_DANGLING_DELETES)

    assert heard[-1].phase is JobState.SUCCEEDED
    assert count == len(heard) > 0


def fail(event):
    raise RuntimeError("no listener")


def test_a_listener_that_raises_is_logged_once_and_stops_nobody(neve, caplog):
    heard = []
    with neve.events(fail), neve.events(heard.append):
        outcome = neve.run("db.events", Operation.REMOVE_DANGLING_DELETES)

    assert outcome.status.is_good
    assert neve.job(outcome.job_id).state is JobState.SUCCEEDED
    assert heard[-1].phase is JobState.SUCCEEDED
    (line,) = caplog.records
    assert "no listener" in line.getMessage()


def test_a_listener_that_listens_twice_leaves_once(neve):
    heard = []
    with neve.events(heard.append):
        with neve.events(heard.append):
            pass
        neve.run("db.events", Operation.REMOVE_DANGLING_DELETES)

    assert heard


class Raising:
    def __call__(self, message):
        raise OSError("no terminal")

    def progress(self, done, total):
        raise OSError("no terminal")


def test_a_reporter_that_raises_is_logged_once_and_stops_no_job(neve, caplog):
    careful = CarefulReporter(Raising())
    for _ in range(2):
        careful("A message.")
        careful.progress(1, 2)

    (line,) = caplog.records
    assert "no terminal" in line.getMessage()
    with Neve.open(reporter=Raising()) as opened:
        outcome = opened.run("db.events", Operation.REMOVE_DANGLING_DELETES)
    assert outcome.status.is_good


class Telling(Raising):
    def tell(self, message):
        self.told = message


def test_what_takes_minutes_is_told_in_a_line_where_the_reporter_has_lines(caplog):
    lines = Telling()
    CarefulReporter(lines).tell("Fetching …")
    CarefulReporter(Raising()).tell("Fetching …")

    assert lines.told == "Fetching …"
    assert len(caplog.records) == 1


def test_a_log_of_events_that_cannot_be_written_stops_no_job(neve, caplog):
    telling = Neve(neve._app.telling(fail))
    outcome = telling.run("db.events", Operation.REMOVE_DANGLING_DELETES)

    assert outcome.status.is_good
    assert len(caplog.records) == 1


@pytest.mark.parametrize("where", ["no_such_column = 1", "id = "])
@pytest.mark.parametrize(
    "operation", [Operation.REWRITE_DATA_FILES, Operation.REWRITE_POSITION_DELETE_FILES]
)
def test_a_filter_that_cannot_be_read_makes_no_job(neve, operation, where):
    with pytest.raises(InputError):
        neve.submit("db.events", operation, overrides={f"{operation}.where": where})

    assert neve.history() == []


def test_a_failed_job_is_queued_again_as_one_job(neve):
    request = {"requested_by": "ann", "tenant": "x", "priority": 3, "idempotency_key": "k"}
    job = neve.submit("db.events", **request)
    assert neve.submit("db.events", **request).job_id == job.job_id
    with pytest.raises(InputError, match="is queued"):
        neve.requeue(job.job_id)
    neve.cancel(job.job_id)

    again = neve.requeue(job.job_id)

    assert again.job_id != job.job_id
    assert neve.requeue(job.job_id).job_id == again.job_id
    assert (again.requested_by, again.tenant, again.priority, again.arguments) == (
        "ann",
        "x",
        3,
        job.arguments,
    )
    with pytest.raises(InputError, match="no job"):
        neve.requeue("nobody")


def test_jobs_and_their_events_are_read_without_a_catalog(neve, monkeypatch):
    jobs = [neve.submit("db.events", tenant=str(number)) for number in range(3)]
    monkeypatch.setattr(neve._app.catalogs, "find", None)

    first = neve.job_page(limit=2)
    rest = neve.job_page(limit=2, before=first.before)

    assert [job.tenant for job in (*first.jobs, *rest.jobs)] == ["2", "1", "0"]
    assert rest.before is None
    assert [job.tenant for job in neve.job_page("db.events", tenant="1").jobs] == ["1"]
    (event,) = neve.job_events(jobs[0].job_id)
    assert event.phase is JobState.QUEUED
    assert neve.job_events(jobs[0].job_id, after=event.number) == []


def test_turns_are_paused_and_resumed(neve):
    assert neve.pause("db.events").is_paused
    assert [state.is_paused for state in neve.schedule_states()] == [True]
    assert not neve.resume("db.events").is_paused


def test_what_a_server_does_follows_from_the_configuration(tmp_path):
    file = tmp_path / "service.yaml"
    file.write_text(
        "{server: {host: 0.0.0.0, port: 9}, catalog: {uri: 'http://c'}, "
        "compaction: {max_parallelism: 4}, scheduler: {enabled: false}}"
    )
    with Neve.open(file) as opened:
        found = opened.serve_defaults()

    assert (found.host, found.port, found.concurrency) == ("0.0.0.0", 9, 4)
    assert not found.is_scheduling


def test_a_day_without_channels_is_told_to_nobody(neve):
    assert neve.send_digest(neve.now().date()) == []
    assert neve.send_due_digest() == []
