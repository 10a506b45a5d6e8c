"""Maintenance of one table: what deletes only looks, unless it is told to do more."""

from __future__ import annotations

import pytest

from neve.model.job import Trigger

EVENTS = "/api/v1/tables/analytics.events"


def ask(api, what, **body):
    return api.post(f"{EVENTS}/{what}", json=body)


@pytest.mark.promise(48)
def test_expiry_looks_by_default(api, store):
    response = ask(api, "expire", older_than="1d")
    assert response.status_code == 200
    body = response.json()
    assert body["job"] is None
    assert body["plan"]["expired"] == []
    assert body["reason"]
    assert store.jobs() == []


def test_expiry_is_queued_when_it_is_told_to(api, store):
    response = ask(api, "expire", apply=True, older_than="2d", retain_last=3, keep_daily=7)
    assert response.status_code == 202
    job = store.job(response.json()["job"]["job_id"])
    assert response.headers["location"].endswith(job.job_id)
    assert (job.operation, job.trigger) == ("expire_snapshots", Trigger.API)
    assert job.arguments["overrides"] == {
        "expire_snapshots.older_than": "2d",
        "expire_snapshots.retain_last": 3,
        "expire_snapshots.keep.daily": 7,
    }


@pytest.mark.parametrize(
    ("action", "arguments"),
    [
        ({}, {"quarantine": False, "purge": False}),
        ({"action": "look"}, {"quarantine": False, "purge": False}),
        ({"action": "quarantine"}, {"quarantine": True, "purge": False}),
        ({"action": "purge"}, {"quarantine": False, "purge": True}),
        ({"action": "restore"}, {"restore": []}),
    ],
)
@pytest.mark.promise(48)
def test_a_sweep_does_no_more_than_it_is_told(api, store, action, arguments):
    response = ask(api, "orphans", **action)
    assert response.status_code == 202
    job = store.job(response.json()["job_id"])
    assert (job.operation, job.arguments) == ("remove_orphan_files", arguments)


@pytest.mark.parametrize(
    ("what", "body", "kind"),
    [
        ("expire", {"apply": True, "older_than": "soon"}, "input"),
        ("expire", {"apply": True, "retain_last": 0}, "validation"),
        ("expire", {"apply": True, "keep_daily": -1}, "validation"),
        ("expire", {"apply": "maybe"}, "validation"),
        ("expire", {"apply": "yes"}, "validation"),
        ("expire", {"apply": 1}, "validation"),
        ("expire", {"retain_last": "3"}, "validation"),
        ("maintain", {"dry_run": "no"}, "validation"),
        ("maintain", {"priority": True}, "validation"),
        ("expire", {"dry_run": False}, "validation"),
        ("orphans", {"action": "delete"}, "validation"),
        ("orphans", {"action": "purge", "older_than": "1h"}, "input"),
        ("orphans", {"action": "quarantine", "max_orphan_ratio": 2}, "validation"),
        ("orphans", {"action": "purge", "paths": ["file:///x"]}, "validation"),
        ("orphans", {"action": "restore", "older_than": "3d"}, "validation"),
        ("orphans", {"action": "restore", "paths": ["file:///x"]}, "input"),
        ("orphans", {"action": "restore", "paths": ["file:///etc/passwd", "../x"]}, "input"),
        ("orphans", {"location": "s3://other/"}, "validation"),
        ("rollback", {}, "validation"),
        ("rollback", {"snapshot_id": 1, "job_id": "j"}, "validation"),
        ("rollback", {"snapshot_id": 99}, "input"),
        ("rollback", {"turn_id": "t", "job_id": "j"}, "validation"),
        ("rollback", {"turn_id": "t"}, "input"),
        ("rollback", {"snapshot_id": 2**70}, "validation"),
        ("rollback", {"time": "2024-01-01T00:00:00"}, "validation"),
        ("maintain", {"operations": ["drop_table"]}, "validation"),
        ("maintain", {"operations": ["remove_orphan_files"]}, "input"),
        ("maintain", {"overrides": {"nope": 1}}, "input"),
        ("maintain", {"overrides": {"spark.conf": "x"}}, "input"),
        ("maintain", {"overrides": {"rewrite_data_files.where": "date ="}}, "filter"),
    ],
)
@pytest.mark.promise(46)
def test_what_makes_no_sense_is_refused_and_no_job_is_made(api, store, what, body, kind):
    response = ask(api, what, **body)
    assert (response.status_code, response.json()["type"]) == (422, f"urn:neve:problem:{kind}")
    assert store.jobs() == []


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("expire", {}),
        ("expire", {"apply": True}),
        ("orphans", {}),
        ("rollback", {"snapshot_id": 1}),
        ("maintain", {}),
    ],
)
def test_a_table_that_is_not_there_gets_no_job(api, store, what, body):
    response = api.post(f"/api/v1/tables/analytics.nope/{what}", json=body)
    assert response.status_code == 404
    assert store.jobs() == []


def test_a_rollback_is_queued(api, store, neve):
    (first, last) = neve.outline("analytics.events").snapshots
    snapshot_id = first.snapshot_id
    response = ask(api, "rollback", snapshot_id=snapshot_id, requested_by="ann")
    assert response.status_code == 202
    job = store.job(response.json()["job_id"])
    seen = {"snapshot_id": snapshot_id, "expected_head": last.snapshot_id}
    assert (job.operation, job.arguments) == ("rollback", seen)
    assert job.requested_by == "ann"


@pytest.mark.promise(47)
def test_a_rollback_with_the_same_key_is_the_same_job(api, store, neve):
    body = {"snapshot_id": neve.outline("analytics.events").snapshots[0].snapshot_id}
    first, second = (
        api.post(f"{EVENTS}/rollback", json=body, headers={"Idempotency-Key": "k"})
        for _ in range(2)
    )
    assert first.status_code == second.status_code == 202
    assert first.json() == second.json()
    assert len(store.jobs()) == 1


def test_maintain_queues_what_the_policy_enables_in_order(api, store, neve):
    body = ask(api, "maintain").json()
    queued = [store.job(job["job_id"]).operation for job in body["jobs"]]
    assert queued == [str(o) for o in neve.policy("analytics.events").operations_in_order()]
    assert "expire_snapshots" in queued
    assert "remove_orphan_files" not in queued


def test_maintain_with_a_key_is_the_same_jobs(api, store):
    first, second = (
        api.post(f"{EVENTS}/maintain", json={}, headers={"Idempotency-Key": "k"}).json()
        for _ in range(2)
    )
    assert first == second
    assert len(store.jobs()) == len(first["jobs"])


MANIFESTS, STATS = "rewrite_manifests", "compute_table_stats"
TRIGGER = "/api/v1/schedules/production.analytics.events/trigger"
COMPACT = {"namespace": "analytics", "table": "events"}
REUSED = "urn:neve:problem:idempotency-key-reused"
#: Requests that are different, whatever of them comes first.
DIFFERENT = {
    "all": (f"{EVENTS}/maintain", {}),
    "all, if due": (f"{EVENTS}/maintain", {"only_due": True}),
    "one": (f"{EVENTS}/maintain", {"operations": [MANIFESTS]}),
    "another": (f"{EVENTS}/maintain", {"operations": [STATS]}),
    "both": (f"{EVENTS}/maintain", {"operations": [MANIFESTS, STATS]}),
    "one with values": (
        f"{EVENTS}/maintain",
        {"operations": [MANIFESTS], "overrides": {"budget.max_seconds": 60}},
    ),
    "compaction by its name": (f"{EVENTS}/maintain", {"operations": ["rewrite_data_files"]}),
    "the turn": (TRIGGER, {}),
    "compaction": ("/api/v1/compact", COMPACT),
    "expiry": (f"{EVENTS}/expire", {"apply": True}),
}


@pytest.mark.promise(47)
@pytest.mark.parametrize("first", DIFFERENT)
def test_a_key_is_for_one_request_whatever_route_it_comes_by(api, store, first):
    def send(name):
        path, body = DIFFERENT[name]
        return api.post(path, json=body, headers={"Idempotency-Key": "k"})

    before, jobs = send(first), len(store.jobs())
    after = {name: send(name).json() for name in DIFFERENT}

    assert after.pop(first) == before.json()
    assert {answer["type"] for answer in after.values()} == {REUSED}
    assert len(store.jobs()) == jobs > 0


@pytest.mark.promise(47)
def test_the_same_request_is_the_same_jobs_after_the_policy_has_changed(api, store):
    headers = {"Idempotency-Key": "k"}
    before = api.post(f"{EVENTS}/maintain", json={}, headers=headers).json()
    run = store.schedule_states()
    policy = {"operations": {"rewrite_data_files": {"enabled": False}}}
    api.put("/api/v1/policies/less", json=policy, headers={"If-None-Match": "*"})

    assert api.post(f"{EVENTS}/maintain", json={}, headers=headers).json() == before
    assert len(store.jobs()) == len(before["jobs"])
    assert store.schedule_states() == run


def test_a_dry_run_of_maintain_says_what_would_be_done(api, store):
    body = ask(api, "maintain", dry_run=True, operations=["rewrite_data_files"]).json()
    (plan,) = body["plans"]
    assert (plan["operation"], plan["has_work"]) == ("rewrite_data_files", True)
    assert body["jobs"] == store.jobs() == []


def test_the_quarantine_is_shown(api):
    assert api.get(f"{EVENTS}/quarantine").json() == []
