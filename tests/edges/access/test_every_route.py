"""Every route of the OpenAPI document, asked by those who may not.

A route that is new fails here until it declares its right, and has a request below that it takes.
"""

from __future__ import annotations

import inspect
import json
import re
from typing import get_args

import pytest
from fastapi import APIRouter, Request
from fastapi.routing import iter_route_contexts
from starlette.testclient import TestClient
from tests.edges.access.conftest import OTHER, OWN, World, opened

from neve import Neve
from neve.access.approvals import Approval
from neve.access.rights import Right
from neve.api.access import check_routes, needs, right_of
from neve.api.app import create_app
from neve.aws_lambda.function import Function
from neve.database.bodies import Request as AnyRequest
from neve.guarding import Guarded, view
from neve.model.job import TURN, JobRequest
from neve.model.table import TableRef

pytestmark = pytest.mark.promise(56)


def routes_of(app):
    return [
        (method, route.path, right_of(route))
        for route in iter_route_contexts(app.routes)
        for method in sorted((route.methods or set()) - {"HEAD"})
        if route.path.startswith("/api/")
    ]


ROUTES = routes_of(create_app(None))
#: Bodies that routes take, where an empty one will not do; None: a body has no place there.
BODIES = {
    "POST /api/v1/compact": lambda table: {"table": table},
    "POST /api/v1/plans": lambda table: {"table": table},
    "POST /api/v1/plans/{plan_id}/approve": lambda table: {"approved_by": "x"},
    "POST /api/v1/tables/{table}/maintain": lambda table: {"operations": ["rewrite_manifests"]},
    "POST /api/v1/tables/{table}/rollback": lambda table: {"snapshot_id": 1},
    "POST /api/v1/tables/{table}/expire": lambda table: {"apply": True},
    "POST /api/v1/tables/{table}/orphans": lambda table: {"action": "purge"},
    "PUT /api/v1/policies/{name}": lambda table: {"undo_window": "3d"},
    "POST /api/v1/database": lambda table: {
        "tenant_id": table.split(".")[1],
        "namespace": "default",
        "table": "users",
        "operation": "QUERY",
        "sql": "SELECT 1",
    },
    "PUT /api/v1/set-aside/{table}": lambda table: {"reason": "why"},
}
KINDS = get_args(get_args(AnyRequest)[0])
#: What a caller of the tenant may see of it that bears its name: nothing.
HUSH = "hush"


@pytest.fixture(scope="module")
def world(lake, tmp_path_factory):
    """Two tenants with a job, a plan, an approval, a turn and a table that is set aside each."""
    policies = [{"name": "hush-policy", "match": {"tables": ["lake.hush.*"]}, "undo_window": "3d"}]
    with opened(lake, tmp_path_factory.mktemp("routes"), policies) as made:
        for tenant in ("acme", HUSH):
            seed(made, tenant)
        yield made


def seed(world, tenant):
    neve, store = world.neve, world.store
    table = TableRef("lake", (tenant,), "events")
    who = f"{tenant}-user"
    turn = {TURN: f"{tenant}-turn"}
    asked = JobRequest(table, "rewrite_data_files", turn, who, tenant=tenant, max_attempts=1)
    for name in ("queued", "failed"):
        store.submit(f"{tenant}-{name}", asked)
    store.retry(store.claim_job(f"{tenant}-failed", 60), f"{tenant} reason")
    neve.keep_plan(neve.plan_compaction(table), requested_by=who)
    arguments = (table, "rollback", "{}", who, who, tenant, neve.now())
    store.approvals.ask(Approval(f"{tenant}-approval", tenant, *arguments))
    store.pause(table)
    store.set_aside(table, f"{tenant} reason")
    neve.access.record(who, "something", "done", tenant=tenant, table=str(table))


def plan_of(world, tenant):
    plans = world.store.plans.newest()
    return next(plan.plan_id for plan in plans if plan.table.namespace == (tenant,))


def send(world, method, path, headers, tenant):
    """A request that the route takes, about what a tenant has."""
    table = OTHER if tenant == HUSH else OWN
    job = f"{tenant}-failed" if path.endswith("/retry") else f"{tenant}-queued"
    values = {
        "table": table,
        "job_id": job,
        "plan_id": plan_of(world, tenant),
        "approval_id": f"{tenant}-approval",
        "name": f"{tenant}-policy",
        "turn_id": f"{tenant}-turn",
    }
    filled = re.sub(r"\{(\w+)\}", lambda found: values[found[1]], path)
    make = BODIES.get(f"{method} {path}", lambda table: {})
    body = None if method in ("GET", "DELETE") else make(table)
    return world.client.request(method, filled, headers=headers, json=body)


def state_of(world):
    store = world.store
    return (
        [(job.job_id, job.state, job.cancel_requested) for job in store.jobs(limit=1000)],
        [(plan.plan_id, plan.approved_at) for plan in store.plans.newest(1000)],
        store.approvals.newest(),
        store.set_aside_tables(),
        store.schedule_states(),
    )


def refused_by_all(world, headers, tenant, wanted, statuses):
    before = state_of(world)
    for method, path, right in ROUTES:
        if not wanted(path, right):
            continue
        answer = send(world, method, path, headers, tenant)
        assert answer.status_code in statuses, (method, path, answer.status_code, answer.text)
        assert answer.headers["content-type"] == "application/problem+json", path
        entry = world.last_row
        assert entry.outcome == str(answer.status_code), (path, entry)
    assert state_of(world) == before


def test_without_a_key_nothing_is_answered(world):
    def is_closed(path, right):
        return right is not Right.OPEN

    refused_by_all(world, {}, "acme", is_closed, {401})


def test_what_another_tenant_has_is_not_there(world):
    """Whoever may do everything with their own sees nothing of others, whatever ids they know."""
    check_others(world, ROUTES)


def check_others(world, routes):
    headers = world.key("admin", purge=True)
    before = state_of(world)
    for method, path, right in routes:
        if right is Right.OPEN:
            continue
        answer = send(world, method, path, headers, HUSH)
        names_it = "{" in path or f"{method} {path}" in BODIES
        # What a body names is known only to who says it.
        assert names_it or method in ("GET", "DELETE"), f"{method} {path} has no body above"
        # Where the tenant itself is named, that it is another's is no secret.
        is_plain = right in (Right.SERVICE, Right.POLICIES) or path.endswith("/database")
        expected = {403, 404} if is_plain else {404}
        statuses = expected if names_it else {200, 403}
        assert answer.status_code in statuses, (method, path, answer.status_code, answer.text)
        if answer.status_code == 200:
            assert HUSH not in answer.text, (path, answer.text)
    assert state_of(world) == before


def test_a_shared_table_shows_jobs_of_the_own_tenant_alone(world):
    headers = world.key("operator", "lake.hush", tenant="acme")
    for method, path, _ in ROUTES:
        if "{job_id}" in path:
            answer = send(world, method, path, headers, HUSH)
            assert answer.status_code == 404, (path, answer.text)
    found = world.client.get("/api/v1/jobs", headers=headers).json()
    assert found == {"jobs": [], "next_cursor": None}
    as_other = world.client.get("/api/v1/jobs?tenant=hush", headers=headers).json()
    assert as_other["jobs"] == []


def test_a_role_that_is_too_small_is_refused(world):
    viewer = world.key("viewer")

    def is_more(path, right):
        return right not in (Right.OPEN, Right.VIEW)

    refused_by_all(world, viewer, "acme", is_more, {403})
    operator = world.key("operator")

    def is_apart(path, right):
        deletes = path.endswith(("/expire", "/orphans"))
        return deletes or right in (Right.PURGE, Right.POLICIES, Right.SERVICE)

    refused_by_all(world, operator, "acme", is_apart, {403})


def test_who_may_is_not_refused(world):
    """The requests are such that rights alone decide about them."""
    headers = world.key("admin", "*", tenant="", all_tenants=True, purge=True, policies=True)
    for method, path, _ in ROUTES:
        if path.endswith("/events"):
            # It lasts until the job ends.
            continue
        answer = send(world, method, path, headers, "acme")
        who = json.dumps([method, path, answer.text[:300]])
        # A name of an approver is the caller's own, and a policy of that name is not there.
        expected = {
            "POST /api/v1/plans/{plan_id}/approve": 403,
            "GET /api/v1/policies/{name}": 404,
            "DELETE /api/v1/policies/{name}": 404,
            "POST /api/v1/tables/{table}/rollback": 422,
            "POST /api/v1/turns/{turn_id}/rollback": 422,
        }
        if f"{method} {path}" in expected:
            assert answer.status_code == expected[f"{method} {path}"], who
        else:
            assert answer.status_code not in (401, 403, 404, 422, 500), who


def test_a_route_without_a_right_cannot_be_served():
    router = APIRouter(prefix="/api/v1")

    @router.get("/new")
    def new() -> str:
        return "open to all"

    app = create_app(None)
    check_routes(app)
    app.include_router(router)
    with pytest.raises(AssertionError, match="/api/v1/new does not declare one right"):
        check_routes(app)


def leak_job(job_id: str, request: Request) -> str:
    return str(request.app.state.neve.job(job_id))


def leak_list(request: Request) -> list[str]:
    return [job.job_id for job in request.app.state.neve.history()]


def leak_table(table: str, request: Request) -> str:
    return str(request.app.state.neve.outline(table).location)


def change_others(table: str, request: Request) -> str:
    request.app.state.neve.resume(table)
    return "done"


def take_body(body: dict[str, str]) -> str:
    return "done"


@pytest.mark.parametrize(
    ("path", "method", "route"),
    [
        ("/leak/{job_id}", "GET", leak_job),
        ("/leaks", "GET", leak_list),
        ("/leak-of/{table}", "GET", leak_table),
        ("/resume/{table}", "POST", change_others),
        ("/new-body", "POST", take_body),
        ("/named/{something}", "GET", lambda something: "done"),
    ],
)
def test_a_new_route_that_asks_nobody_fails_this_suite(world, path, method, route):
    """Also where it declares a right: what it says is held against who asked."""
    app = create_app(world.neve)
    made = [needs(Right.VIEW)]
    app.add_api_route(f"/api/v1{path}", route, methods=[method], dependencies=made)
    check_routes(app)
    new = [item for item in routes_of(app) if item not in ROUTES]
    assert len(new) == 1
    with TestClient(app, raise_server_exceptions=False) as client:
        careless = World(world.neve, client)
        with pytest.raises((AssertionError, KeyError)):
            check_others(careless, new)
    world.store.pause(world.neve.table(OTHER))


#: A body for each of the database operations, about a table of the tenant.
OPERATIONS = {
    "CREATE_TABLE": {"schema": {"fields": {"a": {"type": "string"}}}},
    "WRITE": {"records": [{"a": "b"}]},
    "QUERY": {"sql": "SELECT 1 AS one"},
    "COMPACT": {"force": True},
}


@pytest.mark.parametrize("edge", ["rest", "lambda"])
def test_operations_on_tables_of_others_are_refused(world, edge):
    """Every operation that there is: one that is new has no body above, and fails here."""
    known = {get_args(kind.model_fields["operation"].annotation)[0] for kind in KINDS}
    assert known == set(OPERATIONS)
    before, function = state_of(world), Function(lambda: world.neve)
    callers = [
        ({}, HUSH, {401}),
        (world.key("admin", "*", purge=True), HUSH, {403}),
        (world.key("admin", "lake.t_hush__*", purge=True), HUSH, {403}),
        (world.key("admin", "lake.t_hush__*", purge=True), "acme", {403, 404}),
    ]
    for operation, more in OPERATIONS.items():
        for headers, tenant, statuses in callers:
            body = {"operation": operation, "tenant_id": tenant, "table": "users", **more}
            if edge == "rest":
                answer = world.client.post("/api/v1/database", headers=headers, json=body)
                status = answer.status_code
            else:
                event = {"httpMethod": "POST", "path": "/database", "headers": headers}
                status = function({**event, "body": json.dumps(body)})["statusCode"]
            assert status in statuses, (operation, tenant, status)
            assert world.last_row.outcome == str(status)
    assert state_of(world) == before


def public(of):
    return {name for name, _ in inspect.getmembers(of) if not name.startswith("_")}


def test_every_part_of_the_facade_is_guarded():
    """Whatever is added there must be filtered, refused, or known to ask for its table."""
    own = {name for kind in Guarded.__mro__[: Guarded.__mro__.index(Neve)] for name in vars(kind)}
    guarded = own | set(view.BY_TABLE) | set(view.HARMLESS)
    assert public(Neve) - guarded == set()


@pytest.mark.parametrize("name", view.REFUSED)
def test_what_runs_in_the_process_is_refused(world, name):
    guarded = Guarded(world.neve, None, Right.VIEW)
    with pytest.raises(Exception, match="is not for callers of a server"):
        getattr(guarded, name)(OWN)
