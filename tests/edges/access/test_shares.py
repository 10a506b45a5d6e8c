"""What one tenant takes of a live server, others still find: threads, queries, streams."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import httpx2
import pytest
from tests.edges.access.conftest import OTHER, OWN
from tests.edges.api.conftest import served

from neve.api.settings import ApiSettings
from neve.database.bodies import QueryAnswer
from neve.database.service import QUERIES_OF_A_TENANT, Database
from neve.model.errors import CatalogError
from neve.model.job import JobRequest
from neve.model.table import TableRef

#: More than the server has threads.
MANY = 60
NOTHING = QueryAnswer(columns=[], records=[], row_count=0, truncated=False)


@pytest.fixture
def address(world):
    settings = ApiSettings(poll_seconds=0.02, max_streams_of_tenant=2)
    with served(world.neve, settings) as url:
        yield url


@pytest.fixture
def other(world):
    return world.key(tables="lake.hush", tenant="hush")


def queued(world, name, tenant):
    catalog, namespace, table = name.split(".")
    ref = TableRef(catalog, (namespace,), table)
    request = JobRequest(ref, "rewrite_data_files", tenant=tenant)
    return world.store.submit(f"job-of-{tenant}", request).job_id


@pytest.mark.promise(60)
def test_queries_of_one_tenant_leave_room_for_others(world, address, other, monkeypatch):
    go_on, begun, running, most = threading.Event(), threading.Semaphore(0), [], []

    def wait(self, request, may_read):
        if request.tenant_id == "acme":
            running.append(request)
            most.append(len(running))
            begun.release()
            go_on.wait(30)
            running.pop()
        return NOTHING

    monkeypatch.setattr(Database, "query", wait)

    def ask(headers, tenant):
        body = {"operation": "QUERY", "tenant_id": tenant, "table": "t"}
        path = f"{address}/api/v1/database"
        return httpx2.post(path, headers=headers, json=body, timeout=30).status_code

    own = world.key(role="viewer", tables="lake.t_acme__*")
    theirs = world.key(tables="lake.t_hush__*", tenant="hush")
    with ThreadPoolExecutor(MANY) as pool:
        asked = [pool.submit(ask, own, "acme") for _ in range(MANY)]
        try:
            assert begun.acquire(timeout=20)
            jobs = httpx2.get(f"{address}/api/v1/jobs", headers=other, timeout=5)
            assert jobs.status_code == 200
            assert ask(theirs, "hush") == 200
        finally:
            go_on.set()
        assert {one.result() for one in asked} == {200}
    assert max(most) == QUERIES_OF_A_TENANT


@pytest.fixture
def hanging(monkeypatch):
    """A catalog that lets everybody wait who surveys; how many do, at most."""
    found = SimpleNamespace(is_back=threading.Event(), waiting=[], most=[])

    def hang(*_, **__):
        found.waiting.append(1)
        found.most.append(len(found.waiting))
        found.is_back.wait(30)
        found.waiting.pop()
        raise CatalogError("It does not answer.")

    monkeypatch.setattr("neve.catalog.surveyor.CatalogSurveyor.survey", hang)
    yield found
    found.is_back.set()


@pytest.mark.promise(60)
@pytest.mark.parametrize("is_asked_for_all", [False, True])
def test_a_catalog_that_hangs_keeps_those_alone_who_ask_it(world, other, hanging, is_asked_for_all):
    settings = ApiSettings(max_asking_of_tenant=12, asking_wait_seconds=0.3)
    more = {"tenant": "", "all_tenants": True} if is_asked_for_all else {}
    own = world.key(role="viewer", **more)
    with served(world.neve, settings) as url, ThreadPoolExecutor(MANY) as pool:

        def ask(path, headers, timeout=10):
            return httpx2.get(f"{url}/api/v1{path}", headers=headers, timeout=timeout)

        asked = [pool.submit(ask, f"/tables/{OWN}/health", own, 60) for _ in range(MANY)]
        refused = [one.result() for one in islice(as_completed(asked), MANY - 12)]
        assert {answer.status_code for answer in refused} == {429}
        assert refused[0].headers["Retry-After"] == "5"
        assert "wait for catalogs" in refused[0].json()["detail"]
        # Who asks is found out, and the state is asked, also for the tenant itself.
        assert ask("/jobs", other).status_code == ask("/jobs", own).status_code == 200
        assert ask(f"/tables/{OTHER}/snapshots", other).status_code == 200
        assert max(hanging.most) == 12
        hanging.is_back.set()


@pytest.mark.promise(60)
def test_who_asks_is_found_out_while_every_thread_waits(world, hanging):
    settings = ApiSettings(max_asking_of_tenant=MANY)
    own = world.key(role="viewer")
    with served(world.neve, settings) as url, ThreadPoolExecutor(MANY) as pool:

        def ask(path, headers, timeout):
            return httpx2.get(f"{url}/api/v1{path}", headers=headers, timeout=timeout).status_code

        asked = [pool.submit(ask, f"/tables/{OWN}/health", own, 60) for _ in range(MANY)]
        while len(hanging.waiting) < 40 and not any(one.done() for one in asked):
            time.sleep(0.01)
        # Its row in the audit log is written as well.
        assert ask("/jobs", {"Authorization": "Bearer neve_no_such"}, 10) == 401
        hanging.is_back.set()


@pytest.mark.promise(60)
def test_a_query_that_waits_for_its_tenants_others_is_given_up(world, address, monkeypatch):
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def wait(self, request, may_read):
        begun.release()
        go_on.wait(20)
        return NOTHING

    monkeypatch.setattr(Database, "query", wait)
    database = world.neve.database
    hasty = replace(database.rules, query=replace(database.rules.query, max_seconds=0.2))
    monkeypatch.setattr(database, "_rules", hasty)
    body = {"operation": "QUERY", "tenant_id": "acme", "table": "t"}
    headers = world.key(tables="lake.t_acme__*")

    def ask():
        return httpx2.post(f"{address}/api/v1/database", headers=headers, json=body, timeout=30)

    with ThreadPoolExecutor(QUERIES_OF_A_TENANT) as pool:
        asked = [pool.submit(ask) for _ in range(QUERIES_OF_A_TENANT)]
        try:
            assert all(begun.acquire(timeout=20) for _ in asked)
            found = [ask(), ask()]
        finally:
            go_on.set()
        for one in asked:
            one.result()
    assert {answer.json()["type"] for answer in found} == {"urn:neve:problem:query-limit"}
    assert "this tenant" in found[0].json()["detail"]


@pytest.mark.promise(60)
def test_bodies_of_one_tenant_are_worked_on_a_few_at_once(world, other, monkeypatch):
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def wait(self, request, may_read):
        begun.release()
        go_on.wait(20)
        return NOTHING

    monkeypatch.setattr(Database, "query", wait)
    body = {"operation": "QUERY", "tenant_id": "acme", "table": "t", "sql": "SELECT 1" + " " * 500}
    own = world.key(tables="lake.t_acme__*")
    settings = ApiSettings(max_body_bytes_of_tenant=1500, body_wait_seconds=0.5)
    with served(world.neve, settings) as url, ThreadPoolExecutor(2) as pool:

        def ask(headers, **more):
            return httpx2.post(f"{url}/api/v1/database", headers=headers, timeout=30, **more)

        asked = [pool.submit(ask, own, json=body) for _ in range(2)]
        try:
            assert all(begun.acquire(timeout=20) for _ in asked)
            large = ask(own, json=body)
            unsaid = ask(own, content=iter([b"{}"]))
            small = ask(own, json={})
            theirs = ask(other, json={**body, "tenant_id": "hush"})
        finally:
            go_on.set()
        assert [one.result().status_code for one in asked] == [200, 200]
    assert [(a.status_code, a.headers["retry-after"]) for a in (large, unsaid)] == [(429, "1")] * 2
    assert (small.status_code, theirs.status_code) == (422, 404)


@pytest.mark.promise(58)
def test_a_stream_ends_with_the_key_that_it_was_asked_for_with(world, address):
    job_id = queued(world, OWN, "acme")
    headers = world.key()
    path = f"{address}/api/v1/jobs/{job_id}/events"
    with httpx2.stream("GET", path, headers=headers, timeout=10) as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith("event: state")
        prefix = headers["Authorization"].split("_")[1]
        world.neve.access.revoke_key(prefix)
        # The job goes on: without the revocation the stream would, too.
        assert "event: end" not in list(lines)
    assert httpx2.get(path, headers=headers).status_code == 401


@pytest.mark.promise(60)
def test_streams_of_one_tenant_leave_room_for_others(world, address, other):
    paths = {t: f"{address}/api/v1/jobs/{queued(world, n, t)}/events" for n, t in
             ((OWN, "acme"), (OTHER, "hush"))}  # fmt: skip
    own = world.key()
    with (
        httpx2.stream("GET", paths["acme"], headers=own) as first,
        httpx2.stream("GET", paths["acme"], headers=world.key(name="second")) as second,
        httpx2.stream("GET", paths["acme"], headers=own) as third,
        httpx2.stream("GET", paths["hush"], headers=other) as theirs,
    ):
        assert [s.status_code for s in (first, second, third, theirs)] == [200, 200, 503, 200]
        third.read()
        assert third.json()["type"] == "urn:neve:problem:too-many-streams"


@pytest.mark.promise(60)
def test_streams_that_are_opened_at_once_are_counted_before_they_are_answered(world, address):
    path, own = f"{address}/api/v1/jobs/{queued(world, OWN, 'acme')}/events", world.key()
    # What is refused for its job gives its place back.
    unknown = [httpx2.get(f"{address}/api/v1/jobs/none/events", headers=own) for _ in range(3)]
    assert {answer.status_code for answer in unknown} == {404}
    together, answered = threading.Barrier(16), threading.Barrier(16)

    def follow(_):
        together.wait(20)
        with httpx2.stream("GET", path, headers=own, timeout=20) as answer:
            answered.wait(20)
            return answer.status_code

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(follow, range(16)))
    assert sorted(found) == [200] * 2 + [503] * 14
