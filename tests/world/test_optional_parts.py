"""Airflow and Superset as parts of the stack, as `make stack-up PARTS=…` starts them."""

from __future__ import annotations

import json

import httpx2
import pytest

from neve.testing.spark_cluster import wait_for

DAGS = {"iceberg_maintenance", "nightly_table_compaction", "compact_on_new_snapshot"}


@pytest.fixture
def started(stack, request):
    """Facts of a part that is started for the test; others are left as they are."""
    name = request.param
    stack.command("up", name)
    try:
        yield stack, json.loads((stack.home / "stack.json").read_text())
    finally:
        stack.command("down", name)


@pytest.mark.parametrize("started", ["superset"], indirect=True)
def test_superset_has_the_dashboard_and_lets_its_user_in(started):
    stack, facts = started
    own = facts["superset"]
    login = {"username": own["access_key"], "password": own["secret_key"], "provider": "db"}
    with httpx2.Client(base_url=own["uri"], timeout=60) as client:
        token = client.post("/api/v1/security/login", json=login).json()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        shown = client.get("/api/v1/dashboard/neve-maintenance/charts", headers=headers).json()
    assert len(shown["result"]) == 8
    again(stack, "superset", facts)


@pytest.mark.parametrize("started", ["airflow"], indirect=True)
def test_airflow_has_the_dags_and_runs_none_of_them(started):
    stack, facts = started
    uri = facts["airflow"]["uri"]
    with httpx2.Client(base_url=uri, timeout=60) as client:
        token = client.get("/auth/token", follow_redirects=True).json()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}

        def dags():
            return client.get("/api/v2/dags", headers=headers).json()["dags"]

        # It is ready before it has read all files.
        wait_for("every DAG", lambda: {dag["dag_id"] for dag in dags()} == DAGS)
        assert all(dag["is_paused"] for dag in dags())
        errors = client.get("/api/v2/importErrors", headers=headers).json()
    assert errors["total_entries"] == 0
    again(stack, "airflow", facts)


def again(stack, name, facts):
    """A second time nothing is started: it is where it was."""
    pid = (stack.home / f"{name}.pid").read_text()
    stack.command("up", name)
    assert json.loads((stack.home / "stack.json").read_text()) == facts
    assert (stack.home / f"{name}.pid").read_text() == pid
