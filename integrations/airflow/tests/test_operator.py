from __future__ import annotations

import re
from pathlib import Path

import pytest
from airflow.sdk import Asset
from airflow.sdk.exceptions import TaskDeferred
from neve_provider.errors import NeveError, NeveJobFailed, NeveRefused
from neve_provider.links import PAGE
from neve_provider.operators.neve import REQUEST, NeveOperator
from neve_provider.triggers.neve import NeveJobTrigger
from scripted import job_document, problem

MAINTAIN = "/tables/lake.db.events/maintain"
OUTCOME = {"stats": {"files_before": 9, "files_after": 1}, "snapshot_before": 1}


class WorkerDied(BaseException):
    """What a process that is killed raises: nothing that anybody catches."""


def operator(**more):
    return NeveOperator(task_id="compact", table="lake.db.events", poll_seconds=0.0, **more)


def queue(server, *job_ids):
    """Each request becomes the next of these jobs."""
    answers = [(202, {"jobs": [{"job_id": job_id}]}) for job_id in job_ids]
    server.tell("POST", MAINTAIN, *answers)


def test_it_waits_for_the_job_and_tells_what_came_of_it(server, worker):
    queue(server, "j1")
    server.job("j1", "queued", "running", "succeeded", outcome=OUTCOME)

    told = operator().execute(worker.context())

    assert told == {
        "table": "lake.db.events",
        "jobs": [
            {
                "job_id": "j1",
                "table": "lake.db.events",
                "operation": "rewrite_data_files",
                "status": "succeeded",
                "reason": "It succeeded.",
                "snapshot_before": 1,
                "snapshot_after": None,
                "files_before": 9,
                "files_after": 1,
            }
        ],
    }
    assert server.seen[0][2]["requested_by"] == "airflow night.compact"
    assert worker.xcoms[PAGE] == f"{server.address}/api/v1/jobs/j1"


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_job_that_was_not_done_fails_the_task(server, worker, status):
    queue(server, "j1")
    server.job("j1", status)

    with pytest.raises(NeveJobFailed, match=rf"It {status}\. See {server.address}/api/v1/jobs/j1"):
        operator().execute(worker.context())


def test_it_defers_and_goes_on_when_the_trigger_fires(server, worker):
    queue(server, "j1")
    server.job("j1", "succeeded")
    task = operator(deferrable=True)

    with pytest.raises(TaskDeferred) as deferred:
        task.execute(worker.context())

    trigger = deferred.value.trigger
    assert isinstance(trigger, NeveJobTrigger)
    assert trigger.serialize()[1]["job_ids"] == ["j1"]
    assert deferred.value.method_name == "execute_complete"
    event = {"job_ids": ["j1"], "problem": None}
    assert task.execute_complete(worker.context(), event)["jobs"][0]["status"] == "succeeded"
    assert len(server.keys()) == 1


def test_what_the_trigger_could_not_do_fails_the_task(worker):
    with pytest.raises(NeveError, match="The server was away"):
        operator().execute_complete(worker.context(), {"problem": "The server was away."})


@pytest.mark.parametrize("status", ["running", "succeeded"])
def test_after_a_crash_it_goes_on_with_the_same_job(server, worker, monkeypatch, status):
    queue(server, "j1", "j2")
    server.job("j1", status, "succeeded")
    monkeypatch.setattr("neve_provider.operators.neve.follow", _dies)
    with pytest.raises(WorkerDied):
        operator().execute(worker.context())
    monkeypatch.undo()
    monkeypatch.setenv("AIRFLOW_CONN_NEVE_DEFAULT", server.address.replace("http", "neve"))

    told = operator().execute(worker.context())

    assert [job["job_id"] for job in told["jobs"]] == ["j1"]
    assert len(server.keys()) == 1


def _dies(*_, **__):
    raise WorkerDied


def test_a_crash_before_the_answer_was_kept_asks_with_the_same_key(server, worker, monkeypatch):
    queue(server, "j1")
    server.job("j1", "succeeded")
    monkeypatch.setattr("neve_provider.operators.neve.routes.queued", _dies)
    with pytest.raises(WorkerDied):
        operator().execute(worker.context())
    monkeypatch.undo()
    monkeypatch.setenv("AIRFLOW_CONN_NEVE_DEFAULT", server.address.replace("http", "neve"))

    operator().execute(worker.context())

    first, second = server.keys()
    assert first == second


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_the_try_after_a_failed_job_asks_anew(server, worker, status):
    queue(server, "j1", "j2")
    server.job("j1", status)
    server.job("j2", "succeeded")
    with pytest.raises(NeveJobFailed):
        operator().execute(worker.context())

    told = operator().execute(worker.context())

    assert [job["job_id"] for job in told["jobs"]] == ["j2"]
    first, second = server.keys()
    assert first != second


def test_a_job_that_the_server_has_forgotten_is_asked_for_anew(server, worker):
    queue(server, "j2")
    server.job("j2", "succeeded")
    worker.store.set(REQUEST, {"asked": _asked(operator(), worker), "key": "k", "job_ids": ["j1"]})

    assert operator().execute(worker.context())["jobs"][0]["job_id"] == "j2"


def test_another_question_does_not_go_on_with_the_job_of_before(server, worker):
    queue(server, "j2")
    server.job("j1", "running")
    server.job("j2", "succeeded")
    asked = _asked(operator(where="day = 1"), worker)
    worker.store.set(REQUEST, {"asked": asked, "key": "k", "job_ids": ["j1"]})

    assert operator().execute(worker.context())["jobs"][0]["job_id"] == "j2"


def _asked(task, worker):
    return task._request(worker.context()).fingerprint()


def test_a_server_that_is_busy_does_not_lose_the_job_of_before(server, worker):
    server.tell("GET", "/jobs/j1", (503, problem("Busy.", "busy", 503)))
    worker.store.set(REQUEST, {"asked": _asked(operator(), worker), "key": "k", "job_ids": ["j1"]})

    with pytest.raises(NeveRefused, match="Busy"):
        operator().execute(worker.context())

    assert server.keys() == []


def test_a_task_that_is_cleared_after_its_good_end_is_done_again(server, worker):
    queue(server, "j1", "j2")
    server.job("j1", "succeeded")
    server.job("j2", "succeeded")

    operator().execute(worker.context())

    assert worker.store.values == {}
    assert operator().execute(worker.context())["jobs"][0]["job_id"] == "j2"


def test_it_works_where_airflow_keeps_no_state(server, worker):
    queue(server, "j1")
    server.job("j1", "succeeded")
    context = worker.context()
    del context["task_state_store"]

    assert operator().execute(context)["jobs"][0]["status"] == "succeeded"


def test_a_dry_run_returns_what_would_be_done(server, worker):
    plans = {"table": "t", "plans": [{"has_work": True}], "jobs": [], "skipped": None}
    server.tell("POST", MAINTAIN, (202, plans))

    assert operator(dry_run=True).execute(worker.context()) == plans
    assert server.seen[0][2]["dry_run"] is True


def test_all_operations_of_the_policy_are_waited_for(server, worker):
    server.tell("POST", MAINTAIN, (202, {"jobs": [{"job_id": "a"}, {"job_id": "b"}]}))
    server.job("a", "running", "succeeded")
    server.job("b", "queued", "failed")

    with pytest.raises(NeveJobFailed, match="api/v1/jobs/b"):
        operator(operation=None).execute(worker.context())


def test_a_table_that_is_left_alone_is_no_failure(server, worker):
    server.tell("POST", MAINTAIN, (202, {"jobs": [], "skipped": "It is not due."}))

    told = operator(operation=None).execute(worker.context())

    assert told == {"table": "lake.db.events", "jobs": []}


def test_without_waiting_the_jobs_are_returned(server, worker):
    queue(server, "j1")

    told = operator(wait=False).execute(worker.context())

    assert told == {"table": "lake.db.events", "jobs": [{"job_id": "j1"}]}


def test_a_task_that_is_killed_cancels_its_jobs(server, worker, monkeypatch):
    queue(server, "j1")
    server.job("j1", "running")
    task = operator()
    monkeypatch.setattr("neve_provider.operators.neve.follow", _dies)
    with pytest.raises(WorkerDied):
        task.execute(worker.context())

    task.on_kill()

    assert server.asked("DELETE") == ["/api/v1/jobs/j1"]


def test_a_job_that_is_over_does_not_stop_the_killing(server, worker, monkeypatch):
    task = operator()
    task._job_ids = ["gone", "j1"]
    server.job("j1", "running")

    task.on_kill()

    assert server.asked("DELETE") == ["/api/v1/jobs/gone", "/api/v1/jobs/j1"]


def test_outlets_are_told_what_was_done(server, worker):
    class Event:
        def __init__(self):
            self.extra = {}

    queue(server, "j1")
    server.job("j1", "succeeded", outcome=OUTCOME)
    outlet = Asset("compacted")
    worker.outlet_events[outlet] = Event()

    operator(outlets=[outlet]).execute(worker.context())

    assert worker.outlet_events[outlet].extra["jobs"][0]["files_after"] == 1


def test_fields_are_templates():
    task = operator(where="day = DATE '{{ ds }}'", options={"target-file-size-bytes": "{{ size }}"})

    task.render_template_fields({"ds": "2025-01-16", "size": "64MB"})

    assert task.where == "day = DATE '2025-01-16'"
    assert task.options == {"target-file-size-bytes": "64MB"}


def test_a_job_document_is_enough_for_a_summary():
    from neve_provider.operators.neve import summary

    assert summary(job_document("j1", "succeeded"))["snapshot_after"] is None


def test_the_task_of_the_readme_can_be_made():
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {}
    exec(compile(shown, "README.md", "exec"), names)

    assert names["compact"].where == "event_date >= current_date - 7"
