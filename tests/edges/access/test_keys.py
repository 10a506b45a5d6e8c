"""Keys that are not accepted: the same work and the same answer, whatever is wrong with them."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext

import pytest

from neve.access import keys
from neve.aws_lambda.function import Function
from neve.model.errors import NotAuthenticated

pytestmark = pytest.mark.promise(58)


@pytest.fixture
def sent(world):
    """Headers by what is wrong with their key."""
    good, revoked = world.key(name="good"), world.key(name="revoked")
    prefix = keys.prefix_of(revoked["Authorization"].removeprefix("Bearer "))
    world.neve.access.revoke_key(prefix)
    return {
        "good": good,
        "unknown": {"Authorization": "Bearer neve_aaaaaaaaaa_" + "x" * 43},
        "wrong": {"Authorization": good["Authorization"][:-1] + "~"},
        "revoked": revoked,
        "revoked and wrong": {"Authorization": revoked["Authorization"][:-1] + "~"},
        "expired": world.key(name="expired", expires_in_seconds=-1),
    }


@pytest.fixture
def counted(world, monkeypatch):
    """How often a key is looked up, hashed, compared and held against the clock."""
    calls = Counter()

    def count(owner, name):
        real = getattr(owner, name)

        def call(*arguments):
            calls[name] += 1
            return real(*arguments)

        monkeypatch.setattr(owner, name, call)

    count(keys.hashlib, "sha256")
    count(keys.hmac, "compare_digest")
    count(keys.ApiKey, "is_good")
    count(type(world.store.api_keys), "key")
    return calls


def test_all_keys_take_the_same_work(world, sent, counted):
    found = {}
    for name, headers in sent.items():
        counted.clear()
        with nullcontext() if name == "good" else pytest.raises(NotAuthenticated):
            world.neve.access.authenticate(headers["Authorization"].removeprefix("Bearer "))
        found[name] = dict(counted)
    assert found.pop("good") == {"sha256": 1, "compare_digest": 1, "is_good": 1, "key": 1}
    assert {str(work) for work in found.values()} == {str(found["unknown"])}
    assert found["unknown"] == {"key": 1, "sha256": 1, "compare_digest": 1, "is_good": 1}


def test_all_of_them_get_the_same_answer_at_both_edges(world, sent):
    del sent["good"]
    function = Function(lambda: world.neve)
    told, rows = set(), set()
    for headers in sent.values():
        answer = world.client.get("/api/v1/jobs", headers=headers)
        told.add((answer.status_code, answer.text, tuple(sorted(answer.headers))))
        rows.add(_row(world))
        event = {"httpMethod": "POST", "path": "/database", "body": "{}", "headers": headers}
        told.add(json.dumps(function(event), sort_keys=True))
        rows.add(_row(world))
    assert len(told) == len(rows) == 2, (told, rows)


def _row(world):
    entry = world.last_row
    return entry.who, entry.action, entry.outcome, entry.tenant, entry.detail
