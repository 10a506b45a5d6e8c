"""Jobs: pages, filters, one of them, stopping, trying again. None of it asks a catalog."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from neve.api.bodies import Jobs, job_body, listed_job
from neve.api.values import make_cursor
from neve.model.job import JobState, Progress
from neve.model.outcome import Status

JOBS = "/api/v1/jobs"


@pytest.fixture(autouse=True)
def no_catalog(monkeypatch):
    """Reading jobs must be cheap."""

    def refuse(*_, **__):
        raise AssertionError("a catalog was asked")

    for name in ("survey", "outline"):
        monkeypatch.setattr(f"neve.catalog.surveyor.CatalogSurveyor.{name}", refuse)


def pages(api, **parameters):
    cursor, found = None, []
    while True:
        more = {"cursor": cursor} if cursor else {}
        page = api.get(JOBS, params={**parameters, **more}).json()
        found.append([job["job_id"] for job in page["jobs"]])
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def test_jobs_come_newest_first_a_page_at_a_time_and_each_once(api, queued):
    for number in range(7):
        queued(f"j{number}")
    assert pages(api, limit=3) == [["j6", "j5", "j4"], ["j3", "j2", "j1"], ["j0"]]


def test_a_page_goes_on_where_it_ended_though_new_jobs_come(api, queued):
    for number in range(4):
        queued(f"j{number}")
    first = api.get(JOBS, params={"limit": 2}).json()
    queued("new")
    rest = api.get(JOBS, params={"limit": 9, "cursor": first["next_cursor"]}).json()
    assert [job["job_id"] for job in rest["jobs"]] == ["j1", "j0"]


@pytest.mark.parametrize("path", [JOBS, "/api/v1/tables/analytics.events/history"])
@pytest.mark.parametrize("number", [2**63, -(2**63), 10**30, 10**300])
def test_a_cursor_that_no_store_can_look_for_is_refused(api, path, number):
    response = api.get(path, params={"cursor": make_cursor(number)})
    assert (response.status_code, response.json()["type"]) == (422, "urn:neve:problem:cursor")


@pytest.mark.parametrize("cursor", ["x", "ä", "bnVsbA", "WyJhIl0", "W1tbW1tb", "W3RydWVd"])
def test_a_cursor_of_nobodys_is_refused(api, cursor):
    response = api.get(JOBS, params={"cursor": cursor})
    assert response.status_code == 422
    assert response.json()["type"] == "urn:neve:problem:cursor"


@pytest.mark.parametrize("limit", [0, -1, 1001, 10**9, "x"])
def test_a_page_has_bounds(api, limit):
    assert api.get(JOBS, params={"limit": limit}).status_code == 422


def test_jobs_are_filtered(api, queued, run_next):
    queued("a", tenant="ads")
    run_next()
    queued("b")
    assert pages(api, status="queued") == [["b"]]
    assert pages(api, status="succeeded") == [["a"]]
    assert pages(api, status="running") == [[]]
    assert pages(api, tenant="ads") == [["a"]]
    assert pages(api, operation="rewrite_data_files") == [["b", "a"]]
    assert pages(api, operation="expire_snapshots") == [[]]
    assert pages(api, table="analytics.events") == [["b", "a"]]
    assert pages(api, table="analytics.other") == [[]]
    assert api.get(JOBS, params={"status": "done"}).status_code == 422


@pytest.mark.promise(40)
def test_dead_jobs_are_listed_until_somebody_tries_them_again(api, queued, store):
    queued("a")
    store.retry(store.claim_next(60), "It broke.", 0.0)
    while lease := store.claim_next(60):
        store.retry(lease, "It broke.", 0.0)
    queued("b")

    assert (pages(api, dead=True), pages(api, dead=False)) == ([["a"]], [["b"]])
    assert api.post(f"{JOBS}/a/retry").status_code == 202
    assert pages(api, dead=True) == [[]]


def test_a_running_job_has_the_documented_fields(api, queued, store):
    # By the estimate, where nothing was timed yet.
    queued(estimated_seconds=60.0)
    lease = store.claim_next(60)
    store.set_state(lease, JobState.REWRITING)
    progress = Progress(5, 10, 150, 5368709120, 1073741824, bytes_total=10737418240)
    store.append_event("j1", JobState.REWRITING, "", progress)

    body = api.get(f"{JOBS}/j1").json()

    assert body["job_id"] == "j1"
    assert body["status"] == "running"
    assert body["state"] == "rewriting"
    assert body["progress"] == {
        "partitions_completed": 5,
        "partitions_total": 10,
        "files_processed": 150,
        "bytes_read": 5368709120,
        "bytes_written": 1073741824,
    }
    assert body["started_at"].endswith("Z")
    assert body["estimated_completion"] > body["started_at"]


def test_a_job_that_has_read_half_is_done_after_as_long_again(queued, store):
    queued()
    store.claim_next(60)
    store.append_event("j1", JobState.REWRITING, "", Progress(bytes_read=50, bytes_total=100))
    job = store.job("j1")
    body = job_body(job, job.started_at + timedelta(seconds=30))
    assert body.estimated_completion == job.started_at + timedelta(seconds=60)


def test_a_job_without_an_estimate_says_so(api, queued, store):
    queued()
    store.claim_next(60)
    body = api.get(f"{JOBS}/j1").json()
    assert (body["status"], body["estimated_completion"]) == ("running", None)


def test_an_estimate_that_is_over_tells_no_end(queued, store):
    queued()
    store.claim_next(60)
    job = replace(store.job("j1"), estimated_seconds=15.0)

    def completion(seconds):
        return job_body(job, job.started_at + timedelta(seconds=seconds)).estimated_completion

    assert completion(15) == job.started_at + timedelta(seconds=15)
    assert completion(16) is None


def test_a_job_that_ended_has_its_outcome(api, queued, run_next):
    queued()
    run_next()
    body = api.get(f"{JOBS}/j1").json()
    assert (body["status"], body["estimated_completion"]) == ("succeeded", None)
    assert body["outcome"]["stats"]["files_compacted"] == 6


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("DELETE", ""), ("POST", "/retry"), ("GET", "/events")],
)
@pytest.mark.parametrize("job_id", ["nope", "'; DROP TABLE jobs--", "%00", "%ff", "<script>"])
def test_a_job_that_is_not_there(api, method, path, job_id):
    response = api.request(method, f"{JOBS}/{job_id}{path}")
    assert response.status_code == 404
    assert response.json()["type"] == "urn:neve:problem:job-not-found"


def test_a_queued_job_is_cancelled_at_once_and_again(api, queued):
    queued()
    for _ in range(2):
        response = api.delete(f"{JOBS}/j1")
        assert (response.status_code, response.json()["status"]) == (202, "cancelled")


def test_a_running_job_is_asked_to_stop(api, queued, store):
    queued()
    store.claim_next(60)
    body = api.delete(f"{JOBS}/j1").json()
    assert (body["status"], body["cancel_requested"]) == ("running", True)


def test_a_job_that_is_over_cannot_be_stopped(api, queued, run_next):
    queued()
    run_next()
    response = api.delete(f"{JOBS}/j1")
    assert response.status_code == 409
    assert response.json()["type"] == "urn:neve:problem:job-ended"


def test_a_dead_job_is_tried_again_once(api, queued, store):
    queued()
    store.retry(store.claim_next(60), "It failed.")
    assert api.get(f"{JOBS}/j1").json()["is_dead"]

    first, second = (api.post(f"{JOBS}/j1/retry") for _ in range(2))

    assert first.status_code == 202
    assert first.json()["status"] == "queued"
    assert first.json()["job_id"] == second.json()["job_id"] != "j1"
    assert first.headers["location"] == f"{JOBS}/{first.json()['job_id']}"


@pytest.mark.parametrize("status", [None, Status.SUCCEEDED])
def test_a_job_that_has_not_failed_is_not_tried_again(api, queued, run_next, store, status):
    queued()
    if status:
        run_next(status)
    assert api.post(f"{JOBS}/j1/retry").status_code == 409
    assert len(store.jobs()) == 1


def test_a_page_is_written_as_its_document_says(api, store, queued, run_next, neve):
    """Texts are kept between requests, so that each change of a job must show."""
    queued("j1")
    queued("j2")

    def shown():
        page = api.get("/api/v1/jobs?limit=5")
        body = Jobs.model_validate_json(page.content)
        wanted = [listed_job(job, neve.now()) for job in neve.job_page(limit=5).jobs]
        assert body.jobs == wanted
        assert page.json()["jobs"] == [item.model_dump(mode="json") for item in wanted]
        return {job.job_id: job for job in body.jobs}

    assert {job.status for job in shown().values()} == {"queued"}
    lease = store.claim_next(60)
    assert shown()["j1"].status == "running"
    store.append_event("j1", JobState.REWRITING, "on", Progress(partitions_completed=3))
    assert shown()["j1"].progress.partitions_completed == 3
    store.cancel("j1")
    assert shown()["j1"].cancel_requested
    store.retry(lease, "no")
    assert shown()["j1"].status == "cancelled"
    run_next()
    assert shown()["j2"].status == "succeeded"


def test_a_dead_job_that_is_dismissed_is_shown_so(api, store, queued):
    queued("j1", max_attempts=1)
    store.retry(store.claim_next(60), "no")
    assert api.get("/api/v1/jobs").json()["jobs"][0]["is_dead"]
    store.dismiss("j1")
    assert not api.get("/api/v1/jobs").json()["jobs"][0]["is_dead"]
