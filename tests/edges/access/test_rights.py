"""Roles, grants, keys, quotas and rates: values in, values out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.access.asked import rights_for, sensitive
from neve.access.keys import ApiKey, caller_of, digest_of, new_secret, prefix_of
from neve.access.quotas import Quota, Usage, refusal_of
from neve.access.rates import MAX_NAMES, RateLimit
from neve.access.rights import LOCAL, NOBODY, Caller, Grant, Right, Role
from neve.model.errors import InputError, TooMuch
from neve.model.table import TableRef
from neve.testing.facts import NOW

pytestmark = pytest.mark.promise(56)


def table(*parts):
    return TableRef(parts[0], tuple(parts[1:]), "t")


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("lake.acme", ["lake.acme", "lake.acme.raw"], ["lake.acme2", "lake.xacme", "ake.acme"]),
        ("lake.acme_*", ["lake.acme_", "lake.acme_raw"], ["lake.acme", "lake.b.acme_x"]),
        ("lake", ["lake.acme", "lake.b.c"], ["lake2.acme", "Lake.acme"]),
        ("*.acme", ["lake.acme", "other.acme.x"], ["lake.other", "lake.x.acme"]),
        ("lake.a.b", ["lake.a.b", "lake.a.b.c"], ["lake.a", "lake.a.bc"]),
        ("*", ["lake.acme", "x.y.z"], []),
    ],
)
def test_a_pattern_is_for_namespaces_part_by_part(pattern, inside, outside):
    grant = Grant(Role.VIEWER, pattern)
    for name in inside:
        catalog, *namespace = name.split(".")
        assert grant.covers(catalog, tuple(namespace)), name
    for name in outside:
        catalog, *namespace = name.split(".")
        assert not grant.covers(catalog, tuple(namespace)), name


def test_names_are_never_patterns():
    """A namespace may be called as a pattern is, or hold a dot: it is that name and no other."""
    assert not Grant(Role.VIEWER, "lake.acme").covers("lake", ("*",))
    assert not Grant(Role.VIEWER, "lake.acme").covers("lake", ("acme.x",))
    assert not Grant(Role.VIEWER, "lake.acme").covers("lake", ("acm[e]",))


@pytest.mark.parametrize(
    "pattern", ["", ".", "lake.", ".acme", "lake..acme", "a b", "lake.acme[12]", "x" * 2000, "a/*"]
)
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises(InputError):
        Grant(Role.VIEWER, pattern)


def test_rights_of_their_own_come_with_no_role():
    for role in Role:
        grant = Grant(role)
        assert not grant.has(Right.PURGE)
        assert not grant.has(Right.POLICIES)
    assert Grant(Role.OPERATOR, purge=True).has(Right.PURGE)
    with pytest.raises(InputError):
        Grant(Role.VIEWER, purge=True)


@given(st.sampled_from(Role), st.sampled_from(Right))
def test_nobody_may_anything_and_roles_grow(role, right):
    grants = (Grant(role, "lake.acme"),)
    caller = Caller("x", grants, "acme")
    assert not caller.may(right, table("lake", "other"))
    assert not NOBODY.may(right, table("lake", "acme"))
    assert right is Right.OPEN or not NOBODY.has_somewhere(right)
    if Grant(Role.VIEWER).has(right):
        assert caller.may(right, table("lake", "acme"))
    assert LOCAL.may(right, table("any", "where"))


def test_rights_for_the_whole_server_need_all_tables_and_all_tenants():
    admin = Caller("x", (Grant(Role.ADMIN, policies=True),))
    for right in (Right.SERVICE, Right.POLICIES):
        assert not admin.has_somewhere(right)
        assert replace(admin, all_tenants=True).has_somewhere(right)
        some = replace(admin, grants=(Grant(Role.ADMIN, "lake", policies=True),), all_tenants=True)
        assert not some.has_somewhere(right)


@pytest.mark.parametrize(
    ("operation", "arguments", "deletes"),
    [
        ("rewrite_data_files", {}, False),
        ("rewrite_data_files", {"overrides": {"undo_window": "1s"}}, True),
        ("rewrite_manifests", {"overrides": {"guards.min_age": "1d"}}, True),
        ("expire_snapshots", {}, True),
        ("remove_orphan_files", {}, True),
        ("remove_orphan_files", {"quarantine": True, "purge": False}, False),
        ("remove_orphan_files", {"quarantine": True}, False),
        ("remove_orphan_files", {"quarantine": False, "purge": True}, True),
        ("remove_orphan_files", {"restore": []}, False),
        (
            "remove_orphan_files",
            {"overrides": {"guards.max_orphan_ratio": 1}, "purge": False},
            True,
        ),
    ],
)
def test_what_deletes_for_good_needs_its_own_right(operation, arguments, deletes):
    assert (Right.PURGE in rights_for(operation, arguments)) is deletes
    assert Right.OPERATE in rights_for(operation, arguments)
    assert (sensitive(operation, arguments) == "purge") is deletes
    assert sensitive("rollback", {}) == "rollback"


def test_a_key_is_known_by_its_secret_alone():
    prefix, secret = new_secret()
    key = ApiKey(prefix, digest_of(secret), "k", (Grant(Role.VIEWER),), NOW)
    assert prefix_of(secret) == prefix
    assert secret not in repr(key)
    assert caller_of(secret, key, NOW) == key.caller
    for wrong in (secret[:-1], secret + "x", secret.swapcase(), f"neve_{prefix}_", prefix, ""):
        assert caller_of(wrong, key, NOW) is None
    assert caller_of(secret, replace(key, revoked_at=NOW), NOW) is None
    assert caller_of(secret, None, NOW) is None
    assert caller_of("", None, NOW) is None


@pytest.mark.parametrize(
    "text", ["", "neve", "neve_", "neve_short_x", "neve_" + "a" * 10, "nevex_" + "a" * 10 + "_s",
             "neve_" + "a" * 10 + "_" + "s" * 500, "neve_" + "a" * 10 + "_ä", "a.b.c"],
)  # fmt: skip
def test_what_looks_like_no_key_is_none(text):
    assert prefix_of(text) is None


def test_a_key_ends_by_time_or_by_hand():
    key = ApiKey("p", "d", "k", (), NOW, expires_at=NOW + timedelta(seconds=10))
    assert key.is_good(NOW + timedelta(seconds=9))
    assert not key.is_good(NOW + timedelta(seconds=10))
    assert not replace(key, revoked_at=NOW).is_good(NOW)


@pytest.mark.parametrize(
    ("usage", "seconds"),
    [
        (Usage(open_jobs=2), 30),
        (Usage(open_jobs=1, bytes_today=1000), 3600 + 1),
        (Usage(usd_today=5.0), 3600 + 1),
    ],
)
def test_a_quota_that_is_used_up_says_when_to_ask_again(usage, seconds):
    quota = Quota(max_open_jobs=2, max_bytes_per_day=1000, max_usd_per_day=5.0)
    now = datetime(2026, 1, 1, 23, tzinfo=UTC)
    refusal = refusal_of(quota, usage, "acme", now)
    assert isinstance(refusal, TooMuch)
    assert refusal.retry_after_seconds == seconds
    assert refusal_of(quota, Usage(1, 999, 4.99), "acme", now) is None
    assert refusal_of(Quota(), usage, "acme", now) is None


def test_a_bucket_fills_with_time():
    now = [0.0]
    limit = RateLimit(60, lambda: now[0])
    assert [limit.wait_seconds("a") for _ in range(60)] == [0] * 60
    assert limit.wait_seconds("a") == 1
    assert limit.wait_seconds("b") == 0
    now[0] += 1
    assert [limit.wait_seconds("a") for _ in range(2)] == [0, 1]


def test_only_so_many_names_are_remembered():
    limit = RateLimit(1, lambda: 0.0)
    for number in range(MAX_NAMES + 5):
        limit.wait_seconds(str(number))
    assert len(limit._buckets) == MAX_NAMES
