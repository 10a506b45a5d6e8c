"""Tables: listed, shown, judged; and what a name of a table may not do."""

from __future__ import annotations

from urllib.parse import quote

import pytest

TABLES = "/api/v1/tables"
EVENTS = f"{TABLES}/production.analytics.events"


def test_tables_are_listed_by_pages(api):
    first = api.get(TABLES, params={"limit": 1}).json()
    assert first["tables"] == ["production.analytics.empty"]
    rest = api.get(TABLES, params={"limit": 1, "cursor": first["next_cursor"]}).json()
    assert rest == {
        "tables": ["production.analytics.events"],
        "next_cursor": None,
        "catalog_problems": [],
    }
    assert api.get(TABLES, params={"pattern": "*.nope.*"}).json()["tables"] == []


def test_a_table_in_figures(api):
    body = api.get(EVENTS).json()
    assert body["table"] == "production.analytics.events"
    assert (body["data_files"], body["delete_files"], body["snapshots"]) == (6, 0, 2)
    assert [ref["name"] for ref in body["refs"]] == ["main"]


def test_the_default_catalog_need_not_be_named(api):
    assert api.get(f"{TABLES}/analytics.events").json() == api.get(EVENTS).json()


def test_health_says_how_well_and_why(api, neve):
    body = api.get(f"{EVENTS}/health").json()
    assert body["score"] == neve.health("analytics.events").score < 100
    assert body["table"] == "production.analytics.events"
    assert body["findings"][0]["sentence"]


def test_files_by_pages(api):
    first = api.get(f"{EVENTS}/files", params={"limit": 4}).json()
    rest = api.get(f"{EVENTS}/files", params={"cursor": first["next_cursor"]}).json()
    paths = [file["path"] for page in (first, rest) for file in page["files"]]
    assert paths == sorted(paths)
    assert len(set(paths)) == 6


def test_snapshots_by_pages(api):
    first = api.get(f"{EVENTS}/snapshots", params={"limit": 1}).json()
    rest = api.get(f"{EVENTS}/snapshots", params={"cursor": first["next_cursor"]}).json()
    (newest,), (oldest,) = first["snapshots"], rest["snapshots"]
    assert (newest["is_current"], newest["refs"]) == (True, ["main"])
    assert (oldest["is_current"], oldest["refs"]) == (False, [])
    assert newest["parent_id"] == oldest["snapshot_id"]
    assert rest["next_cursor"] is None


def test_history_is_that_of_the_table(api, queued):
    queued()
    assert [job["job_id"] for job in api.get(f"{EVENTS}/history").json()["jobs"]] == ["j1"]
    assert api.get(f"{TABLES}/analytics.empty/history").json()["jobs"] == []


@pytest.mark.parametrize("what", ["", "/health", "/files", "/snapshots", "/policy"])
def test_a_table_that_is_not_there(api, what):
    response = api.get(f"{TABLES}/analytics.nope{what}")
    assert response.status_code == 404
    assert response.json()["type"] == "urn:neve:problem:table-not-found"


@pytest.mark.parametrize(
    "name",
    [
        "t'); DROP TABLE x--",
        "a.b.c.d",
        "a..b",
        "analytics.t\u0000",
        "analytics.`a\u200bb`",
        "analytics.t%2e%2e",
        "x" * 1500,
        "analytics.*",
        "<script>",
        "${jndi:ldap://x}",
        "analytics.events;SET spark.x=y",
        "analytics.\udcff",
    ],
)
@pytest.mark.parametrize("what", ["/health", "/policy"])
def test_a_hostile_name_is_refused_and_told_as_it_is(api, name, what):
    encoded = quote(name.encode("utf-8", "surrogateescape"))
    response = api.get(f"{TABLES}/{encoded}{what}")
    assert response.status_code in (404, 422)
    assert response.headers["content-type"] == "application/problem+json"
    assert "Traceback" not in response.text
