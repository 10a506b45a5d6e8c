"""Database operations of callers: grants, quotas, approvals and rows of the log, on both edges."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count

import pytest
from tests.edges.access.conftest import World, opened
from tests.edges.database.lake import FIELDS, create, write

from neve.aws_lambda.function import Function
from neve.testing.local_lake import LocalLake

pytestmark = pytest.mark.promise(56)

NAMES = (f"x{number}" for number in count())
EDGES = ("rest", "lambda")
SALES = "lake.t_acme__sales"


@dataclass
class Edge:
    """One of the two doors to the same operations."""

    kind: str
    world: World
    function: Function

    def send(self, operation, headers, *, tenant="acme", namespace="sales", table="users", **more):
        place = {"tenant_id": tenant, "namespace": namespace, "table": table}
        body = {"operation": operation, **place, **more}
        if self.kind == "rest":
            answer = self.world.client.post("/api/v1/database", headers=headers, json=body)
            return answer.status_code, answer.json()
        event = {"httpMethod": "POST", "path": "/database", "headers": headers}
        answer = self.function({**event, "body": json.dumps(body)})
        return answer["statusCode"], json.loads(answer["body"])

    def create(self, headers, **more):
        return self.send("CREATE_TABLE", headers, schema={"fields": FIELDS}, **more)

    def write(self, headers, **more):
        return self.send("WRITE", headers, records=[{"name": "a"}], **more)


@pytest.fixture(scope="module")
def own_lake(tmp_path_factory):
    return LocalLake(tmp_path_factory.mktemp("tenants") / ".neve", name="lake")


@pytest.fixture
def make_edge(own_lake, tmp_path):
    worlds = []

    def make(kind, **access):
        folder = tmp_path / f"world{len(worlds)}"
        database = {"compact_wait_seconds": 0}
        manager = opened(own_lake, folder, more={"database": database}, **access)
        world = manager.__enter__()
        worlds.append(manager)
        return Edge(kind, world, Function(lambda: world.neve))

    yield make
    for manager in worlds:
        manager.__exit__(None, None, None)


@pytest.fixture(params=EDGES)
def edge(request, make_edge):
    return make_edge(request.param)


@pytest.fixture
def table(edge):
    """A table with a row, and one beside it in another namespace."""
    database, name = edge.world.neve.database, next(NAMES)
    for namespace in ("sales", "hr"):
        create(database, "acme", name, namespace=namespace)
    write(database, {"name": "a"}, tenant="acme", table=name, namespace="sales")
    return name


def more_files(edge, headers, table):
    for _ in range(2):
        assert edge.write(headers, table=table)[0] == 200


def files(edge, headers):
    """A table with so many files that they are compacted."""
    table = next(NAMES)
    assert edge.create(headers, table=table)[0] == 200
    assert edge.write(headers, table=table)[0] == 200
    more_files(edge, headers, table)
    return table


def kind_of(document):
    return document["type"].rpartition(":")[2]


def test_a_namespace_that_was_not_granted_is_not_there(edge, table):
    headers = edge.world.key(tables=SALES)

    assert edge.write(headers, table=table)[0] == 200
    for send in (edge.write, lambda *a, **m: edge.send("QUERY", *a, **m)):
        status, document = send(headers, table=table, namespace="hr")
        assert (status, kind_of(document)) == (404, "table-not-found")
    status, document = edge.send("COMPACT", headers, table=table, namespace="hr", force=True)
    assert (status, kind_of(document)) == (404, "table-not-found")
    assert edge.create(headers, table=next(NAMES), namespace="hr")[0] == 403
    assert edge.world.store.jobs() == []


def test_a_query_reads_no_namespace_beside_those_that_were_granted(edge, table):
    headers = edge.world.key(tables=SALES)
    statements = [f"SELECT * FROM hr.{table}", f"SELECT 1 FROM {table}, hr.{table} AS h",
                  f"SELECT (SELECT count(*) FROM hr.{table}) AS n FROM {table}",
                  f"WITH w AS (SELECT * FROM hr.{table}) SELECT * FROM w"]  # fmt: skip
    for statement in statements:
        status, document = edge.send("QUERY", headers, table=table, sql=statement)
        other = statement.replace(f"hr.{table}", "hr.nope")
        missing = edge.send("QUERY", headers, table=table, sql=other)
        assert (status, kind_of(document)) == (404, "table-not-found"), statement
        # In the words for a table that is not there.
        assert document["detail"].replace(table, "nope") == missing[1]["detail"]
    both = edge.world.key(tables=f"{SALES},lake.t_acme__hr")
    assert edge.send("QUERY", both, table=table, sql=statements[1])[0] == 200


def test_who_may_only_look_looks(edge, table):
    viewer = edge.world.key("viewer", "lake.t_acme__*")

    assert edge.send("QUERY", viewer, table=table)[1]["row_count"] == 1
    for status, document in (
        edge.create(viewer, table=next(NAMES)),
        edge.write(viewer, table=table),
        edge.send("COMPACT", viewer, table=table, force=True),
    ):
        assert (status, kind_of(document)) == (403, "access-denied")
    assert edge.world.store.jobs() == []
    assert edge.send("QUERY", viewer, table=table)[1]["row_count"] == 1


def test_another_tenant_is_refused_whatever_it_is_called(edge, table):
    headers = edge.world.key("admin", "*", purge=True)
    for tenant in ("hush", "ACME", "acme ", "acm\u0435", "acme__sales", "*", "t_acme"):
        for operation, more in (("QUERY", {}), ("WRITE", {"records": [{"name": "a"}]})):
            status, _ = edge.send(operation, headers, tenant=tenant, table=table, **more)
            assert status == 403, (tenant, operation)


def test_letting_snapshots_go_needs_the_right_to_delete(edge, table):
    headers = edge.world.key(tables="lake.t_acme__*")
    more = {"table": table, "force": True, "expire_snapshots": True}

    status, document = edge.send("COMPACT", headers, **more)
    assert (status, kind_of(document)) == (403, "access-denied")
    assert edge.world.store.jobs() == []
    purger = edge.world.key(tables="lake.t_acme__*", purge=True)
    assert edge.send("COMPACT", purger, **more)[0] in (200, 202)


def test_jobs_of_a_compaction_say_who_asked(edge, table):
    headers = edge.world.key(tables="lake.t_acme__*", name="ann")
    more_files(edge, headers, table)
    status, document = edge.send("COMPACT", headers, table=table)

    assert status in (200, 202), document
    job = edge.world.store.job(document["job_id"])
    assert (job.tenant, job.requested_by.partition(":")[0]) == ("acme", "key")
    assert job.requested_by.endswith(":ann")


@pytest.mark.promise(60)
@pytest.mark.parametrize("kind", EDGES)
def test_a_quota_counts_all_jobs_of_a_compaction(make_edge, kind):
    edge = make_edge(kind, quotas={"acme": {"max_open_jobs": 0}})
    headers = edge.world.key(tables="lake.t_acme__*", purge=True)
    table = files(edge, headers)
    status, document = edge.send("COMPACT", headers, table=table)
    assert (status, kind_of(document)) == (429, "too-much")
    assert edge.world.store.jobs() == []


@pytest.mark.promise(60)
def test_a_compaction_with_two_jobs_needs_room_for_both(make_edge):
    edge = make_edge("rest", quotas={"acme": {"max_open_jobs": 1}})
    headers = edge.world.key(tables="lake.t_acme__*", purge=True)
    table = files(edge, headers)
    assert edge.send("COMPACT", headers, table=table, expire_snapshots=True)[0] == 429
    assert edge.world.store.jobs() == []
    assert edge.send("COMPACT", headers, table=table)[0] == 202
    assert edge.send("COMPACT", headers, table=table)[0] == 429
    assert len(edge.world.store.jobs()) == 1


@pytest.mark.promise(59)
def test_a_second_person_agrees_to_letting_snapshots_go(make_edge):
    edge = make_edge("rest", approval=["purge"])
    world = edge.world
    ann = world.key(tables="lake.t_acme__*", purge=True, owner="ann")
    bob = world.key(tables="lake.t_acme__*", purge=True, owner="bob")
    table = files(edge, ann)
    more = {"table": table, "expire_snapshots": True}
    status, document = edge.send("COMPACT", ann, **more)
    assert (status, kind_of(document)) == (409, "approval-needed")
    assert world.store.jobs() == []
    path = f"/api/v1/approvals/{document['approval_id']}/approve"
    assert world.client.post(path, headers=ann).status_code == 403
    assert world.client.post(path, headers=bob).status_code == 200
    status, document = edge.send("COMPACT", ann, **more)
    assert (status, len(world.store.jobs())) == (202, 2)
    # It was agreed to once.
    assert edge.send("COMPACT", ann, **more, force=True)[0] == 409


def test_an_approval_is_not_used_up_by_a_table_that_needs_nothing(make_edge):
    edge = make_edge("rest", approval=["purge"])
    headers, table = edge.world.key(tables="lake.t_acme__*", purge=True), next(NAMES)
    edge.create(headers, table=table)
    status, document = edge.send("COMPACT", headers, table=table, expire_snapshots=True)
    assert (status, document["compacted"]) == (200, False)
    assert edge.world.neve.access.approvals() == []


OPERATIONS = {
    "CREATE_TABLE": {"schema": {"fields": FIELDS}, "if_not_exists": True},
    "WRITE": {"records": [{"name": "a"}]},
    "QUERY": {"sql": "SELECT 1 AS one"},
    "COMPACT": {},
}


@pytest.mark.promise(57)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_is_one_row_also_where_it_is_refused(edge, table, operation):
    world, more = edge.world, OPERATIONS[operation]
    headers = world.key(tables=SALES, name="ann")
    before = world.neve.access.audit_rows(limit=1)[0].number

    done = edge.send(operation, headers, table=table, **more)[0]
    row = world.last_row
    assert (row.outcome, row.tenant, row.table) == (str(done), "acme", f"{SALES}.{table}")
    assert row.action.endswith(f"POST /database {operation}")
    assert row.who.endswith(":ann")
    refused = edge.send(operation, headers, table=table, namespace="hr", **more)[0]
    assert world.last_row.outcome == str(refused) != str(done)
    strange = edge.send(operation, headers, table=table, tenant="hush", **more)[0]
    # Whom it named is not a tenant's to read, and not in the row of another.
    assert (strange, world.last_row.tenant, world.last_row.table) == (403, "acme", "")
    edge.send(operation, {}, table=table, **more)
    assert (world.last_row.outcome, world.last_row.who) == ("401", "nobody")
    assert world.neve.access.audit_rows(limit=1)[0].number == before + 4
    assert world.neve.access.verify_audit()[1] is None


def test_who_acts_for_a_tenant_stands_in_the_tenants_own_log(edge, table):
    root = edge.world.key("operator", "*", tenant="", all_tenants=True, name="carl")
    edge.write(root, table=table)
    tenant = edge.world.key("viewer", "lake.t_acme__*")
    rows = edge.world.client.get("/api/v1/audit", headers=tenant).json()["rows"]
    assert any(row["who"].endswith(":carl") and table in row["table"] for row in rows)
    other = edge.world.key("viewer", "lake.t_acme__*", tenant="beta")
    assert edge.world.client.get("/api/v1/audit", headers=other).json()["rows"] == []


@pytest.mark.promise(53)
def test_a_key_that_would_be_ignored_is_refused(edge, table):
    headers = edge.world.key(tables=SALES, purge=True) | {"Idempotency-Key": "k"}
    for operation, more in (
        ("COMPACT", {"force": True}),
        ("QUERY", {}),
        ("CREATE_TABLE", {"schema": {"fields": FIELDS}, "if_not_exists": True}),
    ):
        status, answer = edge.send(operation, headers, table=table, **more)
        assert status == 422, answer
        assert f"not for {operation}" in answer["detail"]
    assert edge.world.neve.job_page().jobs == ()
    status, answer = edge.write(headers, table=table, idempotency_key="other")
    assert status == 422
    assert "differ" in answer["detail"]
    assert [edge.write(headers, table=table, idempotency_key="k")[0] for _ in range(2)] == [200] * 2
    assert edge.write(headers, table=table)[1]["repeated"]
