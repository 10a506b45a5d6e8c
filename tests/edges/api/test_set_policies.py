"""Policies that are set through the API: for every process, by who knows what stands there."""

from __future__ import annotations

import json
import threading

import pytest

from neve import Neve
from neve.model.stored_policy import MAX_POLICY_BYTES

pytestmark = pytest.mark.promise(51)

API = "/api/v1"
EVENTS = "production.analytics.events"
HOURLY = {
    "match": {"tables": ["*.analytics.*"]},
    "priority": 9,
    "schedule": "0 * * * *",
    "operations": {"expire_snapshots": {"older_than": "9d"}},
}
NEW = {"If-None-Match": "*"}


def put(api, body=HOURLY, name="hourly", **headers):
    said = {key.replace("_", "-"): value for key, value in headers.items()} or dict(NEW)
    # As bytes, since the client itself refuses halves of characters.
    said["Content-Type"] = "application/json"
    return api.put(f"{API}/policies/{name}", content=json.dumps(body), headers=said)


def source(api, key):
    settings = api.get(f"{API}/tables/{EVENTS}/policy").json()["settings"]
    return next(item for item in settings if item["key"] == key)


def test_a_policy_is_set_shown_and_honoured(api):
    made = put(api)
    assert made.status_code == 201
    assert made.json()["source"] == "api"
    assert made.json()["document"] == {"name": "hourly", **HOURLY}

    shown = api.get(f"{API}/policies/hourly")
    assert shown.json() == made.json()
    assert shown.headers["etag"] == made.headers["etag"]
    listed = api.get(f"{API}/policies").json()["policies"]
    assert [(item["name"], item["source"]) for item in listed] == [
        ("nightly", "configuration"),
        ("hourly", "api"),
    ]
    assert source(api, "schedule")["value"] == "0 * * * *"
    told = source(api, "expire_snapshots.older_than")["source"]
    assert told == "policy 'hourly' (set through the API)"


def test_every_process_of_the_state_sees_it(api, neve, shared_neve, state):
    put(api)
    with Neve.open(state.with_name("neve.yaml")) as other:
        assert other.policy(EVENTS).schedule == "0 * * * *"
        assert [rule.name for rule, _ in other.policies()] == ["nightly", "hourly"]


def test_among_equal_priorities_what_was_set_is_stronger_and_a_higher_one_wins(api):
    tag = put(api, {**HOURLY, "priority": 5}).headers["etag"]
    assert source(api, "schedule")["value"] == "0 * * * *"
    put(api, {**HOURLY, "priority": 4}, If_Match=tag)
    assert source(api, "schedule")["value"] == "0 2 * * *"


def test_a_change_needs_the_state_that_it_means(api):
    assert api.put(f"{API}/policies/hourly", json=HOURLY).status_code == 428
    tag = put(api).headers["etag"]
    assert put(api).status_code == 412
    assert put(api, If_Match='"other"').status_code == 412
    assert put(api, If_Match=f"W/{tag}").status_code == 412
    assert put(api, name="none", If_Match="*").status_code == 412
    assert put(api, If_None_Match=tag).status_code == 412
    assert api.delete(f"{API}/policies/hourly").status_code == 428

    changed = put(api, {**HOURLY, "priority": 1}, If_Match=f'"x", {tag}')
    assert changed.status_code == 200
    assert put(api, If_Match=tag).status_code == 412
    stale = api.delete(f"{API}/policies/hourly", headers={"If-Match": tag})
    assert stale.json()["type"] == "urn:neve:problem:policy-changed"
    assert api.get(f"{API}/policies/hourly").json() == changed.json()


def test_a_policy_is_forgotten(api):
    tag = put(api).headers["etag"]
    gone = api.delete(f"{API}/policies/hourly", headers={"If-Match": tag})
    assert (gone.status_code, gone.content) == (204, b"")
    assert api.get(f"{API}/policies/hourly").status_code == 404
    assert api.delete(f"{API}/policies/hourly", headers={"If-Match": "*"}).status_code == 404
    assert source(api, "schedule")["value"] == "0 2 * * *"


def test_policies_of_the_configuration_are_changed_there(api, store):
    for answer in (
        put(api, name="nightly", If_Match="*"),
        put(api, name="nightly"),
        api.delete(f"{API}/policies/nightly", headers={"If-Match": "*"}),
    ):
        assert answer.status_code == 409
        assert answer.json()["type"] == "urn:neve:problem:policy-configured"
    assert store.policies.all() == []


def test_a_policy_that_the_configuration_came_to_hide_can_be_removed(api, store):
    document = '{"name": "nightly", "schedule": "1 1 * * *"}'
    store.policies.put("nightly", document, expected=None, updated_by="")
    assert api.get(f"{API}/policies/nightly").json()["source"] == "configuration"

    answer = api.delete(f"{API}/policies/nightly", headers={"If-Match": "*"})

    assert answer.status_code == 204
    assert store.policies.all() == []


WRONG = [
    ({}, "sets nothing"),
    ({"shedule": "0 * * * *"}, "shedule"),
    ({"schedule": "every now and then"}, "schedule"),
    ({"operations": {"rewrite": {}}}, "rewrite"),
    ({"operations": {"expire_snapshots": {"older_than": "soon"}}}, "older_than"),
    ({"operations": {"rewrite_data_files": {"where": "date ="}}}, "filter"),
    ({**HOURLY, "name": "other"}, "'other'"),
    ({**HOURLY, "match": 7}, "match"),
    ({**HOURLY, "match": {"tables": {"a": []}}}, "tables"),
    ({**HOURLY, "notify": {"failures": "mailto://u:geheim@example.com"}}, "address"),
    ({**HOURLY, "notify": {"failures": ["ops"]}}, "no channel"),
    ({**HOURLY, "match": {"tables": ["x" * MAX_POLICY_BYTES]}}, "bytes"),
    ({**HOURLY, "match": {"tables": ["\ud800"]}}, "cannot be kept"),
]


@pytest.mark.parametrize(("body", "word"), WRONG)
def test_what_a_file_may_not_hold_is_refused(api, store, body, word):
    answer = put(api, body)
    assert answer.status_code == 422
    assert word in answer.json()["detail"]
    assert "geheim" not in answer.text
    assert store.policies.all() == []


@pytest.mark.parametrize("name", ["a/b", "100%", "a%2Fb", "ü ö", "..", "a.b"])
def test_any_name_can_be_addressed(api, name):
    from urllib.parse import quote

    path = f"{API}/policies/{quote(name, safe='')}".replace("..", "%2E%2E")
    made = api.put(path, json=HOURLY, headers=NEW)
    assert (made.status_code, made.json()["name"]) == (201, name)
    assert api.get(path).json()["name"] == name
    assert api.delete(path, headers={"If-Match": "*"}).status_code == 204


def test_of_many_who_know_the_same_state_one_changes_it(api):
    tag, codes = put(api).headers["etag"], []

    def change(number):
        codes.append(put(api, {**HOURLY, "priority": number}, If_Match=tag).status_code)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [200, 412, 412, 412, 412, 412]


def test_a_policy_that_cannot_be_read_is_not_passed_over(api, store):
    store.policies.put("new", '{"name": "new", "unheard": 1}', expected=None, updated_by="")
    answer = api.get(f"{API}/tables/{EVENTS}/policy")
    assert answer.status_code == 500
    assert "unheard" in answer.json()["detail"]
