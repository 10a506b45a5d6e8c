"""POST /compact: the documented request and answer, and what is refused before there is a job."""

from __future__ import annotations

import re

import pytest

from neve.model.job import JobState, Trigger

REQUEST = {
    "catalog": "production",
    "namespace": "analytics",
    "table": "events",
    "strategy": "small_files",
    "options": {
        "target_file_size": "1GB",
        "max_cost": 10.0,
        "partition_filter": "date = '2024-01-01'",
    },
}
TABLE = {"catalog": "production", "namespace": "analytics", "table": "events"}


def test_the_documented_request_gets_the_documented_answer(api, store):
    response = api.post("/api/v1/compact", json=REQUEST)

    assert response.status_code == 202
    body = response.json()
    assert list(body) == ["job_id", "status", "created_at", "estimated_duration_seconds"]
    assert re.fullmatch(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", body["job_id"])
    assert body["status"] == "queued"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", body["created_at"])
    assert isinstance(body["estimated_duration_seconds"], int)
    assert response.headers["location"] == f"/api/v1/jobs/{body['job_id']}"
    job = store.job(body["job_id"])
    assert (str(job.table), job.operation) == ("production.analytics.events", "rewrite_data_files")
    assert (job.state, job.trigger) == (JobState.QUEUED, Trigger.API)
    assert job.arguments["overrides"] == {
        "rewrite_data_files.strategy": "small_files",
        "rewrite_data_files.where": "date = '2024-01-01'",
        "rewrite_data_files.options.target-file-size-bytes": str(1024**3),
        "budget.max_cost_usd": 10.0,
    }


def test_the_first_compaction_of_the_documentation(api):
    """Without options, and with no more than a strategy."""
    response = api.post("/api/v1/compact", json={**TABLE, "strategy": "small_files"})
    assert response.status_code == 202


@pytest.mark.parametrize(
    ("strategy", "columns", "policy"),
    [
        ("auto", [], {"rewrite_data_files.strategy": "auto"}),
        ("delete_files", [], {"rewrite_data_files.strategy": "delete_files"}),
        ("time_series", [], {"rewrite_data_files.strategy": "time_series"}),
        (
            "sort",
            ["id"],
            {"rewrite_data_files.strategy": "sort", "rewrite_data_files.sort_order": "id"},
        ),
        (
            "zorder",
            ["id", "date"],
            {
                "rewrite_data_files.strategy": "sort",
                "rewrite_data_files.sort_order": "zorder(id, date)",
            },
        ),
        (None, [], {}),
    ],
)
def test_every_strategy_is_a_layer_of_the_policy(api, store, strategy, columns, policy):
    body = {**TABLE, "strategy": strategy, "options": {"sort_columns": columns}}
    job_id = api.post("/api/v1/compact", json=body).json()["job_id"]

    assert store.job(job_id).arguments.get("overrides", {}) == policy


@pytest.mark.parametrize(
    ("change", "status", "kind"),
    [
        ({"table": "missing"}, 404, "table-not-found"),
        ({"catalog": "other"}, 422, "input"),
        ({"namespace": "analytics..x"}, 422, "input"),
        ({"table": "t'); DROP TABLE x--"}, 404, "table-not-found"),
        ({"table": "events.files"}, 404, "table-not-found"),
        ({"table": "a\u0000"}, 422, "validation"),
        ({"table": "a\ud800"}, 422, "validation"),
        ({"table": "a\u200bb"}, 422, "input"),
        ({"table": "x" * 10_000}, 422, "validation"),
        ({"table": "*"}, 404, "table-not-found"),
        ({"strategy": "best"}, 422, "validation"),
        ({"strategy": "zorder"}, 422, "input"),
        ({"options": {"sort_columns": ["id"]}}, 422, "input"),
        ({"strategy": "sort", "options": {"sort_columns": ["nope"]}}, 422, "input"),
        ({"options": {"target_file_size": "0"}}, 422, "input"),
        ({"options": {"target_file_size": "-1GB"}}, 422, "input"),
        ({"options": {"target_file_size": 0}}, 422, "input"),
        ({"options": {"target_file_size": "1e999"}}, 422, "input"),
        ({"options": {"target_file_size": True}}, 422, "validation"),
        ({"options": {"max_cost": -1}}, 422, "validation"),
        ({"options": {"verify": "rows"}}, 422, "validation"),
        ({"options": {"verify": False}}, 422, "validation"),
        ({"options": {"max_cost": float("nan")}}, 422, "validation"),
        ({"options": {"max_cost": float("inf")}}, 422, "validation"),
        ({"options": {"partition_filter": "date ="}}, 422, "filter"),
        ({"options": {"partition_filter": "reflect('java.lang.System', 'exit')"}}, 422, "filter"),
        ({"options": {"partition_filter": "(" * 5000 + "1=1" + ")" * 5000}}, 422, "filter"),
        ({"options": {"partition_filter": "nope = 1"}}, 422, "filter"),
        ({"options": {"partial-progress.enabled": "true"}}, 422, "validation"),
        ({"unknown": 1}, 422, "validation"),
        ({"priority": 10_000}, 422, "validation"),
    ],
)
@pytest.mark.promise(46)
def test_what_cannot_be_honoured_is_refused_with_the_reason_and_no_job(
    api, store, change, status, kind
):
    response = api.post("/api/v1/compact", content=_text({**TABLE, **change}), headers=_JSON)

    problem = response.json()
    assert (response.status_code, problem["type"]) == (status, f"urn:neve:problem:{kind}"), problem
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["detail"]
    assert store.jobs() == []


@pytest.mark.promise(47)
def test_the_same_key_is_the_same_job(api, store):
    first, second = (
        api.post("/api/v1/compact", json=TABLE, headers={"Idempotency-Key": "k1"}).json()
        for _ in range(2)
    )
    assert first["job_id"] == second["job_id"]
    assert len(store.jobs()) == 1


def test_a_key_of_another_tenant_is_another_key(api, store):
    for tenant in ("a", "b"):
        body = {**TABLE, "tenant": tenant}
        api.post("/api/v1/compact", json=body, headers={"Idempotency-Key": "k1"})
    assert len(store.jobs()) == 2


@pytest.mark.promise(47)
def test_a_key_that_was_used_for_something_else_is_refused(api, store):
    headers = {"Idempotency-Key": "k1"}
    api.post("/api/v1/compact", json=TABLE, headers=headers)
    response = api.post("/api/v1/compact", json=REQUEST, headers=headers)

    assert response.status_code == 422
    assert response.json()["type"] == "urn:neve:problem:idempotency-key-reused"
    assert len(store.jobs()) == 1


@pytest.mark.parametrize("key", ["", "a b", "ä", "x" * 256])
def test_a_key_that_is_none_is_refused(api, store, key):
    response = api.post("/api/v1/compact", json=TABLE, headers={"Idempotency-Key": key.encode()})
    assert response.status_code == 422
    assert store.jobs() == []


def test_who_asks_is_remembered(api, store):
    body = {**TABLE, "requested_by": "ann", "tenant": "ads", "priority": 7}
    job = store.job(api.post("/api/v1/compact", json=body).json()["job_id"])
    assert (job.requested_by, job.tenant, job.priority) == ("ann", "ads", 7)


_JSON = {"Content-Type": "application/json"}


def _text(document) -> str:
    import json

    return json.dumps(document)


def test_a_table_can_be_named_as_everywhere_else(api, store):
    for name in ("analytics.events", f"{TABLE['catalog']}.analytics.events"):
        response = api.post("/api/v1/compact", json={"table": name})

        assert response.status_code == 202
        assert store.job(response.json()["job_id"]).table.name == "events"


@pytest.mark.parametrize("verify", ["full", "metadata", "off"])
def test_what_is_verified_can_be_said(api, store, verify):
    response = api.post("/api/v1/compact", json={**TABLE, "options": {"verify": verify}})

    job = store.job(response.json()["job_id"])
    assert job.arguments["overrides"] == {"rewrite_data_files.verify": verify}
