"""Policies with their ETags, schedules, and tables that are set aside."""

from __future__ import annotations

import pytest

API = "/api/v1"
EVENTS = "production.analytics.events"


def test_policies_are_those_of_the_configuration(api):
    (policy,) = api.get(f"{API}/policies").json()["policies"]
    assert policy == api.get(f"{API}/policies/nightly").json()
    assert policy["match"] == {"tables": ["production.analytics.*"]}
    assert policy["values"]["schedule"] == "0 2 * * *"
    assert api.get(f"{API}/policies/nope").json()["type"] == "urn:neve:problem:policy-not-found"


@pytest.mark.parametrize("path", ["policies", "policies/nightly", f"tables/{EVENTS}/policy"])
def test_an_etag_saves_the_second_answer(api, path):
    first = api.get(f"{API}/{path}")
    tag = first.headers["etag"]
    for seen in (tag, f'"other", W/{tag}', "*"):
        again = api.get(f"{API}/{path}", headers={"If-None-Match": seen})
        assert (again.status_code, again.content) == (304, b"")
    changed = api.get(f"{API}/{path}", headers={"If-None-Match": '"other"'})
    assert changed.json() == first.json()


def test_the_effective_policy_says_where_values_come_from(api):
    body = api.get(f"{API}/tables/{EVENTS}/policy").json()
    settings = {item["key"]: item for item in body["settings"]}
    assert "nightly" in settings["expire_snapshots.older_than"]["source"]
    assert body["schedule"] == "0 2 * * *"
    assert "expire_snapshots" in body["operations"]


def test_a_schedule_is_paused_and_resumed(api):
    assert api.get(f"{API}/schedules").json() == {"schedules": [], "next_cursor": None}
    shown = api.get(f"{API}/schedules/{EVENTS}").json()
    assert (shown["schedule"], shown["is_paused"]) == ("0 2 * * *", False)

    assert api.post(f"{API}/schedules/{EVENTS}/pause").json()["is_paused"]
    assert api.get(f"{API}/schedules/{EVENTS}").json()["is_paused"]
    (listed,) = api.get(f"{API}/schedules").json()["schedules"]
    assert (listed["table"], listed["is_paused"]) == (EVENTS, True)

    assert not api.post(f"{API}/schedules/{EVENTS}/resume").json()["is_paused"]


def test_a_turn_is_taken_now(api, store, neve):
    response = api.post(f"{API}/schedules/{EVENTS}/trigger")
    assert response.status_code == 202
    queued = [store.job(job["job_id"]).operation for job in response.json()["jobs"]]
    assert queued == [str(o) for o in neve.policy(EVENTS).operations_in_order()]


@pytest.mark.parametrize("what", ["pause", "resume", "trigger"])
def test_a_schedule_of_no_table_is_refused(api, what, store):
    assert api.post(f"{API}/schedules/analytics.nope/{what}").status_code == 404
    assert store.schedule_states() == store.jobs() == []


def test_a_table_is_set_aside_and_put_back(api):
    path = f"{API}/set-aside/{EVENTS}"
    assert api.put(path, json={"reason": "It is being moved."}).status_code == 204
    (aside,) = api.get(f"{API}/set-aside").json()["tables"]
    assert (aside["table"], aside["reason"]) == (EVENTS, "It is being moved.")

    assert api.delete(path).status_code == 204
    assert api.get(f"{API}/set-aside").json()["tables"] == []
    assert api.delete(path).status_code == 404


def test_a_table_that_is_not_there_is_not_set_aside(api, store):
    response = api.put(f"{API}/set-aside/analytics.nope", json={"reason": "x"})
    assert response.status_code == 404
    assert store.set_aside_tables() == []
