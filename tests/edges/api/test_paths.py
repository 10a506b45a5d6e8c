"""Tables of any name are addressed, and so is what is asked of them."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from tests.edges.api.conftest import SCHEMA

API = "/api/v1"
NAMES = ["a/b", "a%2Fb", "50%", "a/health", "x y?z#", "ü"]


@pytest.fixture(scope="module", autouse=True)
def odd(lake):
    lake.catalog.create_namespace("odd")
    for name in NAMES:
        lake.catalog.create_table(("odd", name), SCHEMA)
    yield
    for name in NAMES:
        lake.catalog.drop_table(("odd", name))
    lake.catalog.drop_namespace("odd")


@pytest.mark.parametrize("name", NAMES)
def test_a_table_of_any_name_is_addressed(api, store, neve, name):
    full = f"production.odd.`{name}`"
    part = quote(full, safe="")
    shown = api.get(f"{API}/tables/{part}").json()
    assert shown["table"] == str(neve.table(full))
    for what in ("health", "files", "snapshots", "history", "policy", "quarantine"):
        assert api.get(f"{API}/tables/{part}/{what}").status_code == 200, what
    assert api.post(f"{API}/schedules/{part}/pause").status_code == 200
    queued = api.post(f"{API}/tables/{part}/orphans", json={})
    assert queued.status_code == 202
    assert store.job(queued.json()["job_id"]).table.name == name
    assert api.put(f"{API}/set-aside/{part}", json={"reason": "x"}).status_code == 204
    assert api.delete(f"{API}/set-aside/{part}").status_code == 204


def test_a_slash_that_was_not_escaped_is_one_of_the_path(api):
    assert api.get(f"{API}/tables/production.odd.`a/b`").status_code == 404


def test_what_is_refused_names_the_path_as_it_was_sent(api):
    problem = api.get(f"{API}/jobs/a%2Fb").json()
    assert problem["instance"] == f"{API}/jobs/a%2Fb"
    assert problem["detail"] == "There is no job a/b."


@pytest.mark.promise(46)
@pytest.mark.parametrize("path", ["/health/", "/docs/", f"{API}/jobs/", f"{API}/compact/"])
def test_nobody_is_sent_to_a_server_that_the_request_named(api, path):
    """A redirect would name the host that was sent, and leave TLS where a proxy adds that."""
    answer = api.get(path, headers={"Host": "elsewhere.localhost"}, follow_redirects=False)
    assert answer.status_code == 404
    assert "location" not in answer.headers
