"""Plans as resources: made, shown, approved, applied exactly once, refused when stale."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from neve.api.app import create_app
from neve.api.settings import ApiSettings

PLANS = "/api/v1/plans"
TABLE = {"namespace": "analytics", "table": "events"}


@pytest.fixture
def made(api):
    response = api.post(PLANS, json={**TABLE, "requested_by": "ann"})
    assert response.status_code == 201
    assert response.headers["location"] == f"{PLANS}/{response.json()['plan_id']}"
    return response.json()


def test_a_plan_is_made_and_shown_and_changes_nothing(api, made, store):
    assert made["status"] == "made"
    assert made["has_work"]
    assert made["reason"] == "5 files in 1 partition become about 1."
    assert made["estimated_duration_seconds"] > 0
    assert made["plan"]["table"] == made["table"] == "production.analytics.events"
    assert api.get(f"{PLANS}/{made['plan_id']}").json() == made
    (listed,) = api.get(PLANS).json()["plans"]
    assert listed == {key: made[key] for key in listed}
    assert store.jobs() == []


def test_a_plan_is_as_the_options_say(api):
    body = {**TABLE, "options": {"target_file_size": "1GB"}}
    assert api.post(PLANS, json=body).json()["plan"]["target_file_size_bytes"] == 1024**3


def test_a_plan_is_approved_by_the_first_who_agrees(api, made):
    for by in ("bob", "cid"):
        body = api.post(f"{PLANS}/{made['plan_id']}/approve", json={"approved_by": by}).json()
    assert (body["status"], body["approved_by"]) == ("approved", "bob")
    assert body["approved_at"].endswith("Z")


@pytest.mark.promise(47)
def test_a_plan_becomes_one_job_that_holds_exactly_it(api, made, store):
    first, second = (api.post(f"{PLANS}/{made['plan_id']}/apply") for _ in range(2))

    assert first.status_code == 202
    assert first.json() == second.json()
    (job,) = store.jobs()
    assert job.arguments["plan"] == made["plan"]
    assert first.headers["location"] == f"/api/v1/jobs/{job.job_id}"
    shown = api.get(f"{PLANS}/{made['plan_id']}").json()
    assert (shown["status"], shown["job_id"]) == ("applied", job.job_id)


def test_a_plan_that_was_applied_is_its_job_though_the_table_has_moved_on(
    api, made, store, monkeypatch
):
    job_id = api.post(f"{PLANS}/{made['plan_id']}/apply").json()["job_id"]
    moved_on(monkeypatch)
    assert api.post(f"{PLANS}/{made['plan_id']}/apply").json()["job_id"] == job_id


@pytest.mark.promise(47)
def test_a_stale_plan_is_refused(api, made, store, monkeypatch):
    moved_on(monkeypatch)
    response = api.post(f"{PLANS}/{made['plan_id']}/apply")

    assert response.status_code == 409
    assert response.json()["type"] == "urn:neve:problem:plan-stale"
    assert response.json()["next_step"] == "Plan again: neve plan production.analytics.events"
    assert store.jobs() == []


def test_where_approval_is_needed_none_is_applied_without(neve, store):
    with TestClient(create_app(neve, settings=ApiSettings(plans_need_approval=True))) as api:
        plan_id = api.post(PLANS, json=TABLE).json()["plan_id"]
        refused = api.post(f"{PLANS}/{plan_id}/apply")
        assert refused.status_code == 409
        assert refused.json()["type"] == "urn:neve:problem:plan-not-approved"
        assert store.jobs() == []

        api.post(f"{PLANS}/{plan_id}/approve", json={"approved_by": "bob"})
        assert api.post(f"{PLANS}/{plan_id}/apply").status_code == 202


@pytest.mark.parametrize("path", ["", "/approve", "/apply"])
def test_a_plan_that_is_not_there(api, path):
    method = "POST" if path else "GET"
    body = {"approved_by": "bob"} if path == "/approve" else None
    response = api.request(method, f"{PLANS}/nope{path}", json=body)
    assert response.status_code == 404
    assert response.json()["type"] == "urn:neve:problem:plan-not-found"


@pytest.mark.parametrize("by", ["", "x" * 300, "a\nb", 7, None])
def test_an_approval_needs_a_name(api, made, by):
    response = api.post(f"{PLANS}/{made['plan_id']}/approve", json={"approved_by": by})
    assert response.status_code == 422
    assert api.get(f"{PLANS}/{made['plan_id']}").json()["status"] == "made"


def moved_on(monkeypatch):
    """A writer has replaced the files of the table."""
    from neve.catalog.surveyor import CatalogSurveyor

    survey = CatalogSurveyor.survey
    monkeypatch.setattr(
        CatalogSurveyor,
        "survey",
        lambda self, table, **asked: replace(survey(self, table, **asked), data_files=()),
    )


@pytest.mark.parametrize("change", [{"steps": 1}, {"table": None}, {"cost": {}}, "not a plan"])
def test_a_plan_of_another_version_is_said(api, made, store, change):
    document = json.loads(store.plans.plan(made["plan_id"]).document)
    other = {**document, **change} if isinstance(change, dict) else change
    ref = store.plans.plan(made["plan_id"]).table
    store.plans.keep("other", ref, json.dumps(other), "")

    answers = [
        api.get(f"{PLANS}/other"),
        api.post(f"{PLANS}/other/approve", json={"approved_by": "ann"}),
        api.post(f"{PLANS}/other/apply"),
    ]

    assert {answer.json()["type"] for answer in answers} == {"urn:neve:problem:plan"}
    assert len(api.get(PLANS).json()["plans"]) == 2
    assert store.jobs() == []
