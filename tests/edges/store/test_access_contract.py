"""Keys, the audit log and approvals: alike in all three stores."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from neve.access.approvals import (
    KEPT_SECONDS,
    MAX_OF_A_TENANT,
    VALID_SECONDS,
    Approval,
    ApprovalState,
)
from neve.access.chain import AuditEntry, AuditHead, seal
from neve.access.keys import ApiKey, digest_of
from neve.access.quotas import Usage
from neve.access.rights import Grant, Role
from neve.model.errors import TooMuch
from neve.model.job import JobRequest, JobState
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.service.auditing import AuditTrail
from neve.store.redis.store import RedisStore
from neve.testing.facts import NOW

T = TableRef("lake", ("db",), "t`ä")
GRANTS = (Grant(Role.OPERATOR, "lake.db", purge=True), Grant(Role.VIEWER))
KEY = ApiKey("abc", digest_of("secret"), "nightly", GRANTS, NOW, "acme", owner="ann")
ENTRY = AuditEntry(NOW, "ann", "compact", "202", "acme", str(T), detail="ä\ud83d\n")
ASKED = Approval("a1", "d1", T, "rollback", '{"snapshot_id": 1}', "key:x", "ann", "acme", NOW)


def test_a_key_is_kept_as_it_is_and_its_prefix_is_taken_once(store):
    assert store.api_keys.key("abc") is None
    assert store.api_keys.all() == []
    assert store.api_keys.add(KEY)
    assert not store.api_keys.add(replace(KEY, name="other"))
    assert store.api_keys.key("abc") == KEY

    later = replace(KEY, prefix="xyz", created_at=NOW + timedelta(1), expires_at=NOW)
    assert store.api_keys.add(later)
    assert store.api_keys.all() == [KEY, later]


def test_a_key_is_revoked_once_and_stays_on_the_list(store):
    store.api_keys.add(KEY)
    at = NOW + timedelta(hours=1)
    assert store.api_keys.revoke("abc", at)
    assert not store.api_keys.revoke("abc", at + timedelta(hours=1))
    assert not store.api_keys.revoke("nope", at)
    assert store.api_keys.key("abc") == replace(KEY, revoked_at=at) == store.api_keys.all()[0]


def ended(store, job_id, tenant, **spent):
    store.submit(job_id, JobRequest(T, "rewrite_data_files", tenant=tenant))
    lease = store.claim_job(job_id, 60)
    times = {"started_at": NOW, "finished_at": NOW}
    outcome = Outcome(job_id, T, "rewrite_data_files", Status.SUCCEEDED, "", **times, **spent)
    store.finish(lease, outcome)
    store.release(lease)


def today():
    return datetime.now(tz=UTC).date()


@pytest.mark.promise(60)
def test_what_a_tenant_has_and_had_is_counted_by_the_store(store):
    assert store.usage("a", today()) == Usage()
    for number, tenant in enumerate(("a", "a", "a:b", "", "1:a")):
        ended(store, f"e{number}", tenant, bytes_rewritten=2**40, actual_usd=0.25)
        store.submit(f"q{number}", JobRequest(T, "rewrite_manifests", tenant=tenant))

    assert store.usage("a", today()) == Usage(2, 2**41, 0.5)
    assert store.usage("a:b", today()) == store.usage("", today()) == Usage(1, 2**40, 0.25)
    assert store.usage("b", today()) == Usage()
    assert store.usage("a", today() - timedelta(1)) == Usage(open_jobs=2)


@pytest.mark.promise(60)
def test_a_job_is_open_until_it_has_an_end_however_that_comes(store):
    asked = JobRequest(T, "rewrite_data_files", tenant="a", max_attempts=1)
    for name in ("cancelled", "failed", "unknown", "waits"):
        store.submit(name, asked)
    store.cancel("cancelled")
    store.retry(store.claim_job("failed", 60), "no")
    lease = store.claim_job("unknown", 60)
    assert store.usage("a", today()).open_jobs == 2
    store.end(lease, JobState.UNKNOWN, "who knows")
    store.release(lease)
    assert store.usage("a", today()).open_jobs == 2
    assert store.settle(store.job("unknown"), JobState.SUCCEEDED, "it did")
    assert store.usage("a", today()).open_jobs == 1


@pytest.mark.promise(60)
def test_redis_counts_what_it_has_forgotten_since(redis_server):
    """Of many jobs in a day the oldest are forgotten, and what they took is not."""
    store = RedisStore(redis_server.url, prefix="forgetful", history_jobs=1)
    for number in range(4):
        ended(store, f"j{number}", "a", bytes_rewritten=10)
    assert len(store.jobs()) == 1
    assert store.usage("a", today()).bytes_today == 40
    store.close()


def test_rows_follow_the_head_alone(store):
    first = seal(ENTRY, AuditHead())
    second = seal(ENTRY, AuditHead(1, first.digest))
    assert store.audit.head() == AuditHead()
    assert not store.audit.append(second)
    assert store.audit.append(first)
    assert not store.audit.append(first)
    assert store.audit.append(second)
    assert not store.audit.append(replace(second, number=3))

    assert store.audit.head() == AuditHead(2, second.digest)
    assert store.audit.rows() == [first, second]
    assert store.audit.rows(1) == [second]
    assert store.audit.rows(0, 1) == [first]
    assert store.audit.newest() == [second, first]
    assert store.audit.newest(before=2) == [first]
    assert store.audit.newest(limit=1) == [second]
    assert store.audit.newest(before=1) == []
    assert first.entry == ENTRY


@pytest.mark.promise(57)
def test_many_append_to_one_chain_without_a_fork(store):
    def append(number):
        # Each has a trail of its own, as processes have.
        trail = AuditTrail(store.audit)
        for _ in range(5):
            trail.record(replace(ENTRY, who=f"writer {number}"))

    threads = [threading.Thread(target=append, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert AuditTrail(store.audit).verify() == (store.audit.head(), None)
    assert store.audit.head().number == len(store.audit.rows()) == 20


def test_the_same_request_is_one_approval_until_it_is_used_or_too_old(store):
    assert store.approvals.ask(ASKED) == ASKED
    assert store.approvals.ask(replace(ASKED, approval_id="a2")) == ASKED
    assert store.approvals.ask(replace(ASKED, approval_id="a3", digest="d3")).approval_id == "a3"
    assert store.approvals.approval("a1") == ASKED
    assert store.approvals.approval("nope") is None

    late = replace(ASKED, approval_id="a4", created_at=NOW + timedelta(seconds=VALID_SECONDS + 1))
    assert store.approvals.ask(late) == late
    assert [a.approval_id for a in store.approvals.newest()] == ["a4", "a3", "a1"]
    assert [a.approval_id for a in store.approvals.newest(1)] == ["a4"]


def test_a_tenant_asks_for_so_many_approvals_within_a_day(store):
    def ask(number, tenant="acme", created_at=NOW):
        more = {"approval_id": f"n{number}", "digest": f"e{number}", "created_at": created_at}
        return store.approvals.ask(replace(ASKED, tenant=tenant, **more))

    for number in range(MAX_OF_A_TENANT):
        ask(number)
    assert ask(0).approval_id == "n0"
    with pytest.raises(TooMuch, match="within a day"):
        ask("more")
    ask("other", tenant="hush")
    # What was rejected counts, so that two who work together do not fill the lists of all others.
    pending, approved, used = ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.USED
    assert store.approvals.move("n1", pending, ApprovalState.REJECTED, "bob")
    with pytest.raises(TooMuch):
        ask("more")
    assert store.approvals.move("n2", pending, approved, "bob")
    assert store.approvals.move("n2", approved, used)
    ask("more")
    assert store.approvals.move("n2", used, approved)
    with pytest.raises(TooMuch):
        ask("one more")
    ask("tomorrow", created_at=NOW + timedelta(seconds=VALID_SECONDS + 1))


def test_an_approval_is_forgotten_after_months(store):
    store.approvals.ask(ASKED)
    kept = NOW + timedelta(seconds=KEPT_SECONDS)
    store.approvals.ask(replace(ASKED, approval_id="a2", created_at=kept))
    assert store.approvals.approval("a1") == ASKED
    later = kept + timedelta(seconds=VALID_SECONDS + 1)
    store.approvals.ask(replace(ASKED, approval_id="a3", created_at=later))
    assert store.approvals.approval("a1") is None
    assert [a.approval_id for a in store.approvals.newest()] == ["a3", "a2"]


def test_an_approval_moves_from_the_state_that_was_seen(store):
    pending, approved, used = ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.USED
    store.approvals.ask(ASKED)
    assert not store.approvals.move("a1", approved, used)
    assert store.approvals.move("a1", pending, approved, "bob")
    assert not store.approvals.move("a1", pending, ApprovalState.REJECTED, "cid")
    assert store.approvals.ask(replace(ASKED, approval_id="a2")).decided_by == "bob"
    assert store.approvals.move("a1", approved, used)
    assert not store.approvals.move("a1", approved, used)
    assert not store.approvals.move("nope", pending, approved, "bob")

    found = store.approvals.approval("a1")
    assert (found.state, found.decided_by) == (used, "bob")
    assert store.approvals.ask(replace(ASKED, approval_id="a2")).approval_id == "a2"
