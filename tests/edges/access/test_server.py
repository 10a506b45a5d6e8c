"""What a server asks of its callers, and what it writes down about them."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.edges.access.conftest import OTHER, OWN
from tests.edges.access.issuer import running_issuer

from neve.access.approvals import VALID_SECONDS
from neve.model.job import JobRequest, JobState
from neve.model.outcome import Outcome, Status
from neve.testing.facts import NOW

COMPACT = {"table": OWN}


def problem(answer):
    return answer.json()["type"].removeprefix("urn:neve:problem:")


@pytest.mark.promise(58)
def test_a_key_is_taken_until_it_is_revoked_or_expired(world):
    access, now = world.neve.access, world.neve.now
    good = world.key("viewer")
    late = world.key("viewer", name="late", expires_in_seconds=-1)
    assert world.client.get("/api/v1/tables", headers=good).json()["tables"] == [OWN]
    assert world.client.get("/api/v1/tables", headers=late).status_code == 401

    access.revoke_key(next(key.prefix for key in access.all_keys() if key.is_good(now())))
    refused = world.client.get("/api/v1/tables", headers=good)
    assert (refused.status_code, problem(refused)) == (401, "not-authenticated")
    assert refused.headers["www-authenticate"] == "Bearer"


NO_KEYS = [
    "", "Bearer", "Bearer ", "Basic dXNlcjpwdw==", "neve_abc", "Bearer a b", "Bearer \u00e4",
    "Bearer neve_aaaaaaaaaa_" + "x" * 43, "Bearer a.b.c", "Bearer " + "x" * 20_000,
]  # fmt: skip


@pytest.mark.promise(58)
def test_what_is_no_key_is_refused(world):
    for header in NO_KEYS:
        sent = {"Authorization": header.encode("latin-1")}
        assert world.client.get("/api/v1/jobs", headers=sent).status_code == 401, header
        assert world.last_row.outcome == "401"
    assert len(world.neve.access.audit_rows()) == len(NO_KEYS)


@pytest.mark.promise(58)
def test_two_keys_at_once_are_refused(world):
    good = world.key()["Authorization"]
    headers = [("Authorization", good), ("Authorization", good)]
    assert world.client.get("/api/v1/jobs", headers=headers).status_code == 401


@pytest.mark.promise(58)
def test_a_key_in_an_address_is_refused(world):
    headers = world.key()
    secret = headers["Authorization"].removeprefix("Bearer ")
    for name in ("api_key", "token", "access_token", "Authorization", "q"):
        answer = world.client.get("/api/v1/jobs", headers=headers, params={name: secret})
        assert (answer.status_code, problem(answer)) == (400, "key-in-address")
        assert secret not in answer.text
    assert secret not in str(world.neve.access.audit_rows())


@pytest.mark.promise(58)
def test_a_token_of_the_issuer_is_taken(make_world):
    with running_issuer() as issuer:
        roles = {"ops": [{"role": "operator", "tables": ["lake.acme"]}]}
        oidc = {"issuer": issuer.issuer, "audience": "neve", "roles": roles}
        world = make_world(oidc={**oidc, "tenant_claim": "org"})
        exp = int(world.neve.now().timestamp()) + 60
        claims = {"iss": issuer.issuer, "aud": "neve", "sub": "ann", "org": "acme", "exp": exp}
        token = issuer.token({**claims, "roles": ["ops"]})
        headers = {"Authorization": f"Bearer {token}"}
        job = world.client.post("/api/v1/compact", json=COMPACT, headers=headers).json()
        assert world.store.job(job["job_id"]).requested_by == "user:ann"
        assert world.store.job(job["job_id"]).tenant == "acme"
        without = {"Authorization": f"Bearer {issuer.token(claims)}"}
        assert world.client.get("/api/v1/jobs", headers=without).status_code == 403


@pytest.mark.promise(56)
def test_nobody_asks_in_the_name_of_another(world):
    headers = world.key()
    for body in ({"tenant": "hush"}, {"requested_by": "hush-user"}):
        answer = world.client.post("/api/v1/compact", json=COMPACT | body, headers=headers)
        assert (answer.status_code, problem(answer)) == (403, "access-denied")
    assert world.store.jobs() == []
    job = world.client.post("/api/v1/compact", json=COMPACT, headers=headers).json()
    found = world.store.job(job["job_id"])
    assert found.tenant == "acme"
    assert found.requested_by.startswith("key:")


@pytest.mark.promise(56)
def test_tenants_with_the_same_idempotency_key_have_jobs_of_their_own(world):
    headers = {"Idempotency-Key": "same"}
    one = world.key(tenant="acme") | headers
    two = world.key(tenant="beta", name="b") | headers
    jobs = [
        world.client.post("/api/v1/compact", json=COMPACT, headers=who).json()["job_id"]
        for who in (one, two, one)
    ]
    assert jobs[0] == jobs[2] != jobs[1]


@pytest.mark.promise(56)
def test_several_jobs_are_refused_as_a_whole(world):
    """The operator may rewrite and may not expire: nothing is queued."""
    body = {"overrides": {"expire_snapshots.enabled": True}}
    answer = world.client.post(f"/api/v1/tables/{OWN}/maintain", json=body, headers=world.key())
    assert answer.status_code == 403
    assert world.store.jobs() == []


@pytest.mark.promise(56)
def test_what_was_refused_is_not_had_by_trying_again(world):
    """A failed purge of somebody who may is not repeated by somebody who may not."""
    table = world.neve.table(OWN)
    asked = JobRequest(table, "expire_snapshots", {}, tenant="acme", max_attempts=1)
    world.store.submit("j1", asked)
    world.store.retry(world.store.claim_job("j1", 60), "no")
    path = "/api/v1/jobs/j1/retry"
    assert world.client.post(path, headers=world.key()).status_code == 403
    assert len(world.store.jobs()) == 1
    assert world.client.post(path, headers=world.key(purge=True)).status_code == 202


@pytest.mark.promise(56)
def test_pages_of_jobs_skip_those_of_others(world):
    own, other = (world.neve.table(name) for name in (OWN, OTHER))
    for number in range(30):
        whose = ("acme", own) if number % 3 == 0 else ("hush", other)
        world.store.submit(f"j{number}", JobRequest(whose[1], "x", tenant=whose[0]))
    headers, seen, cursor = world.key("viewer"), [], None
    while True:
        query = {"limit": 4} | ({"cursor": cursor} if cursor else {})
        page = world.client.get("/api/v1/jobs", headers=headers, params=query).json()
        seen += [job["job_id"] for job in page["jobs"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"j{number}" for number in range(27, -1, -3)]


PURGE = {"action": "purge"}


@pytest.mark.promise(59)
def test_a_second_person_must_agree_once(make_world):
    world = make_world(approval=["purge", "rollback"])
    path = f"/api/v1/tables/{OWN}/orphans"
    ann = world.key(purge=True, owner="ann")
    first = world.client.post(path, json=PURGE, headers=ann)
    assert (first.status_code, problem(first)) == (409, "approval-needed")
    approval_id = first.json()["approval_id"]
    again = world.client.post(path, json=PURGE, headers=ann)
    assert again.json()["approval_id"] == approval_id

    approve = f"/api/v1/approvals/{approval_id}/approve"
    for unfit in (ann, world.key(purge=True, owner="ann", name="second key")):
        refused = world.client.post(approve, headers=unfit)
        assert (refused.status_code, problem(refused)) == (403, "access-denied")
    # Somebody who could not do it cannot agree to it.
    assert world.client.post(approve, headers=world.key(owner="cid")).status_code == 403
    assert world.client.post(approve, headers=world.key("viewer")).status_code == 403
    assert world.store.jobs() == []

    bob = world.key(purge=True, owner="bob")
    agreed = world.client.post(approve, headers=bob)
    assert (agreed.status_code, agreed.json()["state"]) == (200, "approved")
    assert world.client.post(approve, headers=bob).status_code == 409
    # An approval is for who asked, and for what was asked.
    assert world.client.post(path, json=PURGE, headers=bob).status_code == 409
    other = PURGE | {"older_than": "30d"}
    assert world.client.post(path, json=other, headers=ann).status_code == 409

    done = world.client.post(path, json=PURGE, headers=ann)
    assert done.status_code == 202
    replayed = world.client.post(path, json=PURGE, headers=ann)
    assert replayed.status_code == 409
    assert replayed.json()["approval_id"] != approval_id
    assert len(world.store.jobs()) == 1
    # Nor is it had by repeating the job.
    world.store.cancel(done.json()["job_id"])
    retried = world.client.post(f"/api/v1/jobs/{done.json()['job_id']}/retry", headers=ann)
    assert retried.status_code == 409
    assert len(world.store.jobs()) == 1


@pytest.mark.promise(59)
def test_what_was_rejected_or_is_too_old_is_not_had(make_world, monkeypatch):
    world = make_world(approval=["purge"])
    path, ann = f"/api/v1/tables/{OWN}/orphans", world.key(purge=True, owner="ann")
    bob = world.key(purge=True, owner="bob")
    asked = world.client.post(path, json=PURGE, headers=ann).json()["approval_id"]
    assert world.client.post(f"/api/v1/approvals/{asked}/reject", headers=bob).status_code == 200
    assert world.client.post(f"/api/v1/approvals/{asked}/approve", headers=bob).status_code == 409
    second = world.client.post(path, json=PURGE, headers=ann).json()["approval_id"]
    assert second != asked

    world.client.post(f"/api/v1/approvals/{second}/approve", headers=bob)
    clock, access = world.neve._services.clock, world.neve.access
    later = clock() + timedelta(seconds=VALID_SECONDS + 1)
    object.__setattr__(access._services, "clock", lambda: later)
    third = world.client.post(path, json=PURGE, headers=ann)
    assert third.status_code == 409
    assert third.json()["approval_id"] not in (asked, second)
    assert world.store.jobs() == []


def put_another_there(world, monkeypatch):
    """As if the table had been renamed, and another one made by its name."""
    outline = world.neve._services.surveyor.outline
    other = replace(outline(world.neve.table(OWN)), table_uuid="another")
    monkeypatch.setattr(world.neve._services.surveyor, "outline", lambda table: other)


def append(world, monkeypatch):
    outline = world.neve._services.surveyor.outline
    later = replace(outline(world.neve.table(OWN)), snapshot_id=99)
    monkeypatch.setattr(world.neve._services.surveyor, "outline", lambda table: later)


@pytest.mark.promise(59)
@pytest.mark.parametrize(
    ("route", "body", "change", "is_had"),
    [
        ("orphans", PURGE, put_another_there, False),
        ("expire", {"apply": True}, put_another_there, False),
        ("orphans", PURGE, append, True),
        ("expire", {"apply": True}, append, True),
        ("rollback", {"snapshot_id": 1}, put_another_there, False),
        ("rollback", {"snapshot_id": 1}, append, False),
    ],
)
def test_an_approval_is_for_the_table_that_was_there(
    make_world, monkeypatch, route, body, change, is_had
):
    # The table has no snapshot to go back to.
    monkeypatch.setattr("neve.service.operations.rollback.RollbackHandler.prepare", lambda *_: None)
    world = make_world(approval=["purge", "rollback"])
    path, ann = f"/api/v1/tables/{OWN}/{route}", world.key(purge=True, owner="ann")
    asked = world.client.post(path, json=body, headers=ann).json()["approval_id"]
    bob = world.key(purge=True, owner="bob")
    agreed = world.client.post(f"/api/v1/approvals/{asked}/approve", headers=bob)
    assert agreed.status_code == 200

    change(world, monkeypatch)

    sent = world.client.post(path, json=body, headers=ann)
    assert (sent.status_code, len(world.store.jobs())) == ((202, 1) if is_had else (409, 0))
    assert is_had or sent.json()["approval_id"] != asked


@pytest.mark.promise(59)
def test_of_many_who_use_an_approval_at_once_one_has_it(make_world):
    world = make_world(approval=["purge"])
    path, ann = f"/api/v1/tables/{OWN}/orphans", world.key(purge=True, owner="ann")
    asked = world.client.post(path, json=PURGE, headers=ann).json()["approval_id"]
    bob = world.key(purge=True, owner="bob")
    world.client.post(f"/api/v1/approvals/{asked}/approve", headers=bob)
    statuses = []

    def send():
        statuses.append(world.client.post(path, json=PURGE, headers=ann).status_code)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [202, 409, 409, 409]
    assert len(world.store.jobs()) == 1


def test_approval_needs_to_know_who_asks(make_world):
    with pytest.raises(Exception, match="second person"):
        make_world(approval=["purge"], enabled=False)


@pytest.mark.promise(59)
def test_a_plan_is_not_approved_by_who_made_it(world):
    ann = world.key(owner="ann")
    plan = world.client.post("/api/v1/plans", json=COMPACT, headers=ann).json()
    path = f"/api/v1/plans/{plan['plan_id']}/approve"
    same = world.key(owner="ann", name="other")
    answer = world.client.post(path, json={"approved_by": "ann"}, headers=same)
    assert answer.status_code == 403
    bob = world.client.post(path, json={"approved_by": "bob"}, headers=world.key(owner="bob"))
    assert bob.json()["approved_by"].startswith("key:")


@pytest.mark.promise(56)
def test_who_shares_tables_learns_nothing_of_jobs_that_others_made_of_a_plan(world):
    own, other = world.key(), world.key(tables="lake.acme", tenant="hush")
    plan = world.client.post("/api/v1/plans", json=COMPACT, headers=own).json()
    path = f"/api/v1/plans/{plan['plan_id']}"
    applied = world.client.post(f"{path}/apply", headers=own)
    assert applied.status_code == 202
    again = world.client.post(f"{path}/apply", headers=own)
    assert again.json()["job_id"] == applied.json()["job_id"]
    refused = world.client.post(f"{path}/apply", headers=other)
    assert (refused.status_code, refused.json()["detail"]) == (
        422,
        f"Plan {plan['plan_id']} was applied already.",
    )
    assert world.client.get(path, headers=other).json()["job_id"] is None
    assert len(world.store.jobs()) == 1


@pytest.mark.promise(56)
def test_lists_are_not_cut_by_what_others_have(make_world, monkeypatch):
    # The tables have no snapshot to go back to.
    monkeypatch.setattr("neve.service.operations.rollback.RollbackHandler.prepare", lambda *_: None)
    world = make_world(approval=["rollback"])
    own, other = world.key(), world.key(tables="lake.hush", tenant="hush")
    asked = {"snapshot_id": 1}
    for headers, namespace in ((own, "acme"), (other, "hush")):
        body = {"table": f"lake.{namespace}.events"}
        assert world.client.post("/api/v1/plans", json=body, headers=headers).status_code == 201
        path = f"/api/v1/tables/lake.{namespace}.events/rollback"
        assert world.client.post(path, json=asked, headers=headers).status_code == 409
    for kind in ("plans", "approvals"):
        found = world.client.get(f"/api/v1/{kind}?limit=1", headers=own).json()[kind]
        assert [item["table"] for item in found] == ["lake.acme.events"]


@pytest.mark.promise(60)
def test_a_tenant_has_so_many_jobs_at_once(make_world):
    world = make_world(quotas={"acme": {"max_open_jobs": 2}, "*": {"max_open_jobs": 0}})
    headers = world.key()
    statuses, retry_after = [], set()

    def send():
        answer = world.client.post("/api/v1/compact", json=COMPACT, headers=headers)
        statuses.append(answer.status_code)
        if answer.status_code == 429:
            retry_after.add(answer.headers["retry-after"])

    threads = [threading.Thread(target=send) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [202, 202, 429, 429, 429]
    assert retry_after == {"30"}
    assert len(world.store.jobs()) == 2

    other = world.client.post("/api/v1/compact", json=COMPACT, headers=world.key(tenant="beta"))
    assert (other.status_code, problem(other)) == (429, "too-much")
    world.store.cancel(world.store.jobs()[0].job_id)
    again = world.client.post("/api/v1/compact", json=COMPACT, headers=headers)
    assert again.status_code == 202


@pytest.mark.promise(60)
@pytest.mark.parametrize("quota", [{"max_bytes_per_day": "1MB"}, {"max_usd_per_day": 1.5}])
def test_a_tenant_has_so_many_bytes_and_dollars_a_day(make_world, quota):
    world = make_world(quotas={"acme": quota})
    headers, store = world.key(), world.store
    job = world.client.post("/api/v1/compact", json=COMPACT, headers=headers).json()["job_id"]
    lease = store.claim_job(job, 60)
    facts = {"started_at": NOW, "finished_at": NOW, "bytes_rewritten": 2**20, "actual_usd": 1.5}
    table = world.neve.table(OWN)
    store.finish(lease, Outcome(job, table, "rewrite_data_files", Status.SUCCEEDED, "", **facts))
    store.release(lease)
    assert store.job(job).state is JobState.SUCCEEDED

    answer = world.client.post("/api/v1/compact", json=COMPACT, headers=headers)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 24 * 3600 + 1
    other = world.client.post("/api/v1/compact", json=COMPACT, headers=world.key(tenant="beta"))
    assert other.status_code == 202


@pytest.mark.promise(60)
def test_a_caller_asks_so_often(make_world):
    world = make_world(requests_per_minute=3)
    one, two = world.key(name="one"), world.key(name="two")
    statuses = [world.client.get("/api/v1/jobs", headers=one).status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    answer = world.client.get("/api/v1/jobs", headers=one)
    assert 0 < int(answer.headers["retry-after"]) <= 20
    assert world.client.get("/api/v1/jobs", headers=two).status_code == 200
    # Nobody fills the log by asking too often.
    assert world.neve.access.audit_rows()[0].entry.action != "GET /jobs"


@pytest.mark.promise(60)
def test_whoever_guesses_keys_is_stopped(make_world, monkeypatch):
    monkeypatch.setattr("neve.access.rates.FAILURES_PER_MINUTE", 3)
    world = make_world()
    headers = {"Authorization": "Bearer neve_aaaaaaaaaa_guess"}
    statuses = [world.client.get("/api/v1/jobs", headers=headers).status_code for _ in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    assert world.client.get("/api/v1/jobs", headers=world.key()).status_code == 200


@pytest.mark.promise(57)
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/health"), ("GET", "/ready?role=other"), ("GET", "/health?api_key=a")],
)
def test_nobody_fills_the_log_by_what_is_open_to_all(make_world, monkeypatch, method, path):
    monkeypatch.setattr("neve.access.rates.FAILURES_PER_MINUTE", 3)
    world = make_world()
    statuses = {world.client.request(method, path).status_code for _ in range(10)}
    assert all(400 <= status < 500 for status in statuses)
    assert len(world.neve.access.audit_rows()) == 3
    assert world.client.get("/health").status_code == 200


@pytest.mark.promise(57)
def test_changes_and_refusals_are_written_down_and_looking_is_not(world):
    headers = world.key()
    count = len(world.neve.access.audit_rows())
    job = world.client.post("/api/v1/compact", json=COMPACT, headers=headers).json()["job_id"]
    entry = world.last_row
    assert (entry.action, entry.outcome, entry.table) == ("POST /compact", "202", OWN)
    assert (entry.job_id, entry.tenant) == (job, "acme")
    assert entry.who.startswith("key:")
    world.client.get("/api/v1/jobs", headers=headers)
    assert len(world.neve.access.audit_rows()) == count + 1
    world.client.get("/api/v1/jobs/nope", headers=headers)
    assert (world.last_row.outcome, world.last_row.detail) == ("404", "There is no job nope.")
    world.client.get("/api/v1/nowhere", headers=headers)
    assert (world.last_row.outcome, world.last_row.action) == ("404", "GET /api/v1/nowhere")
    assert world.neve.access.verify_audit()[1] is None


@pytest.mark.promise(57)
def test_the_log_is_read_a_page_at_a_time_and_each_tenant_its_own(world):
    for number in range(7):
        world.neve.access.record("x", f"a{number}", "ok", tenant="acme", table=OWN)
        world.neve.access.record("x", f"h{number}", "ok", tenant="hush", table=OTHER)
    headers, seen, cursor = world.key("viewer"), [], ""
    while cursor is not None:
        query = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = world.client.get("/api/v1/audit", headers=headers, params=query).json()
        seen += [row["action"] for row in page["rows"]]
        cursor = page["next_cursor"]
    assert seen == [f"a{number}" for number in range(6, -1, -1)]
    everything = world.key("admin", "*", tenant="", all_tenants=True)
    rows = world.client.get("/api/v1/audit", headers=everything).json()["rows"]
    assert {"a0", "h0", "create key"} <= {row["action"] for row in rows}


def test_readiness_and_figures_tell_tenants_nothing(world):
    ready = world.client.get("/ready").json()
    assert [check["name"] for check in ready["checks"]] == ["service"]
    assert world.client.get("/health").json() == {"status": "ok"}
    assert world.client.get("/metrics", headers=world.key("admin")).status_code == 403
    everything = world.key("admin", "*", tenant="", all_tenants=True)
    assert world.client.get("/metrics", headers=everything).status_code == 200
    assert len(world.client.get("/ready", headers=everything).json()["checks"]) > 1


def test_documents_are_for_all(world):
    for path in ("/docs", "/docs.css", "/openapi.json"):
        assert world.client.get(path).status_code == 200


PAGES = [
    ({"Host": "evil.example.com"}, 403),
    ({"Host": "localhost.evil.com:8080"}, 403),
    ({"Host": "localhost:8080"}, 200),
    ({"Host": "127.0.0.1:8080"}, 200),
    ({"Host": "[::1]:8080"}, 200),
    ({"Origin": "https://evil.example.com"}, 403),
    ({"Origin": "null"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Sec-Fetch-Site": "same-site"}, 403),
    ({"Host": "localhost:8080", "Origin": "http://localhost:8080"}, 200),
]


@pytest.mark.promise(58)
def test_pages_of_other_sites_do_not_reach_a_server_that_asks_nobody(make_world):
    world = make_world(enabled=False, audit=True)
    for headers, status in PAGES:
        answer = world.client.post(f"/api/v1/schedules/{OWN}/pause", headers=headers)
        assert answer.status_code == status, headers
        assert len(world.store.schedule_states()) == (status == 200)
        assert world.last_row.who == ("local" if status == 200 else "nobody")
        world.store.resume(world.neve.table(OWN))
        for path in world.store._path.parent.glob("state.db*"):
            path.unlink()


@pytest.mark.promise(56)
def test_which_catalogs_there_are_is_not_told(world):
    """A name in no catalog is answered as one in a catalog of others is."""
    headers = world.key()

    def asked(name):
        yield world.client.get(f"/api/v1/tables/{name}", headers=headers)
        yield world.client.get("/api/v1/tables", params={"pattern": name}, headers=headers)
        yield world.client.post("/api/v1/compact", json={"table": name}, headers=headers)
        yield world.client.post("/api/v1/plans", json={"table": name}, headers=headers)
        yield world.client.post(f"/api/v1/schedules/{name}/trigger", json={}, headers=headers)
        yield world.client.get("/api/v1/jobs", params={"table": name}, headers=headers)
        yield world.client.put(f"/api/v1/set-aside/{name}", json={"reason": "x"}, headers=headers)

    for known, unknown in zip(asked(OTHER), asked("cold.hush.events"), strict=True):
        assert (known.status_code, known.text.replace("lake", "cold")) == (
            unknown.status_code,
            unknown.text,
        )
        assert "lake" not in unknown.text
    everything = world.key("admin", "*", tenant="", all_tenants=True)
    told = world.client.get("/api/v1/tables/cold.hush.events", headers=everything)
    assert "(configured: lake)" in told.json()["detail"]
