"""Whether metadata shows a commit, and whether it shows that the commit cannot come any more."""

from __future__ import annotations

import json

import pytest
from tests.unit.spark.gate.conftest import (
    BASE,
    OURS,
    TABLE_PATH,
    THEIRS,
    Said,
    append,
    snapshot,
    table_at,
)

from neve.spark.gate.commits import is_commit, read_commit
from neve.spark.gate.effects import Effect, effect_of, is_overtaken
from neve.spark.gate.settle import LOOKS_AT_CONFLICT


def change(*updates, requirements=()):
    request = {"updates": list(updates), "requirements": list(requirements)}
    return read_commit("v1/namespaces/n/tables/t", json.dumps(request).encode()).changes[0]


def metadata(**values):
    named = {key.replace("_", "-"): value for key, value in values.items()}
    return {**table_at(BASE)["metadata"], **named}


TAG = {"snapshot-id": BASE, "type": "tag", "max-ref-age-ms": 5}
STATISTICS = {"snapshot-id": BASE, "statistics-path": "file:/s.puffin"}
#: An update, metadata that show it, and metadata that do not.
EFFECTS = {
    "set-properties": (
        {"action": "set-properties", "updates": {"a": "1"}},
        metadata(properties={"a": "1", "b": "2"}),
        metadata(properties={"a": "2"}),
    ),
    "remove-properties": (
        {"action": "remove-properties", "removals": ["a"]},
        metadata(),
        metadata(properties={"a": "1"}),
    ),
    "set-snapshot-ref": (
        {"action": "set-snapshot-ref", "ref-name": "x", **TAG},
        metadata(refs={"x": TAG}),
        metadata(refs={"x": {**TAG, "max-ref-age-ms": 6}}),
    ),
    "remove-snapshot-ref": (
        {"action": "remove-snapshot-ref", "ref-name": "x"},
        metadata(),
        metadata(refs={"x": TAG}),
    ),
    "remove-snapshots": (
        {"action": "remove-snapshots", "snapshot-ids": [7, 8]},
        metadata(),
        metadata(snapshots=[snapshot(8, None)]),
    ),
    "set-statistics": (
        {"action": "set-statistics", "snapshot-id": BASE, "statistics": STATISTICS},
        metadata(statistics=[STATISTICS]),
        metadata(statistics=[{**STATISTICS, "statistics-path": "file:/other"}]),
    ),
    "remove-statistics": (
        {"action": "remove-statistics", "snapshot-id": BASE},
        metadata(),
        metadata(statistics=[STATISTICS]),
    ),
    "set-partition-statistics": (
        {"action": "set-partition-statistics", "partition-statistics": STATISTICS},
        metadata(partition_statistics=[STATISTICS]),
        metadata(),
    ),
    "remove-partition-statistics": (
        {"action": "remove-partition-statistics", "snapshot-id": BASE},
        metadata(),
        metadata(partition_statistics=[STATISTICS]),
    ),
    "set-location": (
        {"action": "set-location", "location": "file:/b"},
        metadata(location="file:/b"),
        metadata(location="file:/a"),
    ),
    "upgrade-format-version": (
        {"action": "upgrade-format-version", "format-version": 3},
        metadata(format_version=3),
        metadata(),
    ),
}


@pytest.mark.parametrize("action", EFFECTS)
def test_an_update_is_told_by_its_effect(action):
    update, with_it, without_it = EFFECTS[action]

    assert effect_of(change(update), with_it) is Effect.LANDED
    assert effect_of(change(update), without_it) is Effect.ABSENT


def test_one_effect_of_several_is_not_enough():
    (first, shown, _), (second, *_) = EFFECTS["set-properties"], EFFECTS["set-location"]

    assert effect_of(change(first, second), shown) is Effect.ABSENT


@pytest.mark.parametrize("action", ["add-schema", "add-spec", "something-new"])
def test_what_cannot_be_told_is_unclear(action):
    assert effect_of(change({"action": action}), metadata()) is Effect.UNCLEAR
    assert effect_of(change(), metadata()) is Effect.UNCLEAR


def test_a_staged_snapshot_needs_no_branch():
    staged = change({"action": "add-snapshot", "snapshot": snapshot(OURS, BASE)})

    assert effect_of(staged, table_at(BASE, OURS, main=BASE)["metadata"]) is Effect.LANDED


def test_a_commit_to_a_branch_is_looked_for_on_that_branch():
    request = json.dumps(append(ref="audit")).encode()
    (to_branch,) = read_commit("v1/namespaces/n/tables/t", request).changes
    on_main = table_at(BASE, OURS)["metadata"]
    refs = {**on_main["refs"], "audit": {"snapshot-id": OURS, "type": "branch"}}

    assert effect_of(to_branch, on_main) is Effect.UNCLEAR
    assert effect_of(to_branch, {**on_main, "refs": refs}) is Effect.LANDED


def test_a_created_table_is_told_by_its_id():
    created = change(
        {"action": "assign-uuid", "uuid": "u-1"},
        {"action": "add-schema"},
        requirements=[{"type": "assert-create"}],
    )

    assert effect_of(created, metadata()) is Effect.LANDED
    assert effect_of(created, metadata(table_uuid="u-2")) is Effect.ABSENT
    assert effect_of(created, None) is Effect.ABSENT
    assert is_overtaken(created, metadata(table_uuid="u-2"))
    assert not is_overtaken(created, None)


def test_a_ring_of_parents_ends():
    ring = metadata(snapshots=[snapshot(BASE, THEIRS), snapshot(THEIRS, BASE), snapshot(OURS, 9)])
    (appended,) = read_commit("v1/namespaces/n/tables/t", json.dumps(append()).encode()).changes

    assert effect_of(appended, ring) is Effect.UNCLEAR


#: Names of requirements, their field, and the field of metadata that they are about.
FIELDS = [
    ("assert-table-uuid", "uuid", "table-uuid"),
    ("assert-last-assigned-field-id", "last-assigned-field-id", "last-column-id"),
    ("assert-current-schema-id", "current-schema-id", "current-schema-id"),
    ("assert-last-assigned-partition-id", "last-assigned-partition-id", "last-partition-id"),
    ("assert-default-spec-id", "default-spec-id", "default-spec-id"),
    ("assert-default-sort-order-id", "default-sort-order-id", "default-sort-order-id"),
]


@pytest.mark.parametrize(("kind", "field", "about"), FIELDS)
def test_a_requirement_that_no_longer_holds_shows_a_conflict(kind, field, about):
    wanted = change(requirements=[{"type": kind, field: 4}])

    assert not is_overtaken(wanted, {**metadata(), about: 4})
    assert is_overtaken(wanted, {**metadata(), about: 5})


@pytest.mark.parametrize(("ref", "snapshot_id"), [("main", THEIRS), ("x", None)])
def test_a_ref_that_moved_shows_a_conflict(ref, snapshot_id):
    refs = {"main": {"snapshot-id": BASE}, "x": TAG}
    kept = {"type": "assert-ref-snapshot-id", "ref": ref, "snapshot-id": BASE}
    moved = {**kept, "snapshot-id": snapshot_id}

    assert not is_overtaken(change(requirements=[kept]), metadata(refs=refs))
    assert is_overtaken(change(requirements=[moved]), metadata(refs=refs))


def test_numbers_that_another_branch_has_taken_show_a_conflict():
    added = change(
        {"action": "add-snapshot", "snapshot": {**snapshot(OURS, BASE), "first-row-id": 9}}
    )

    assert not is_overtaken(added, metadata(next_row_id=9))
    assert is_overtaken(added, metadata(last_sequence_number=2))
    assert is_overtaken(added, metadata(next_row_id=10))


def test_a_requirement_of_a_later_version_shows_nothing():
    assert not is_overtaken(change(requirements=[{"type": "assert-something-new"}]), metadata())


def test_a_table_of_format_1_has_no_refs():
    old = {"current-snapshot-id": -1}
    first = change(requirements=[{"type": "assert-ref-snapshot-id", "ref": "main"}])

    assert not is_overtaken(first, old)
    assert is_overtaken(first, {"current-snapshot-id": 5})


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "v1/namespaces/n/tables/t", True),
        ("POST", "v1/a/b/namespaces/a%1Fb/tables/t%2Fx?y=1", True),
        ("POST", "v1/p/transactions/commit", True),
        ("GET", "v1/namespaces/n/tables/t", False),
        ("DELETE", "v1/namespaces/n/tables/t", False),
        ("POST", "v1/namespaces/n/tables", False),
        ("POST", "v1/namespaces/n/tables/t/metrics", False),
        ("POST", "v1/namespaces/n/register", False),
        ("POST", "v1/tables/rename", False),
        ("POST", "v1/namespaces/n/views/v", False),
        ("POST", "v1/oauth/tokens", False),
    ],
)
def test_commits_are_told_by_their_address(method, path, expected):
    assert is_commit(method, path) is expected


@pytest.mark.parametrize("said", [Said(409), Said(403), Said(429), Said(None)])
def test_a_rollback_is_never_tried_again(send, catalog, said):
    """Iceberg's next try would drop whatever was committed meanwhile."""
    request = append()
    request["updates"].pop(0)
    catalog.says("POST", said)
    catalog.says("GET", Said(200, table_at(OURS, BASE, THEIRS)))

    answer = send("POST", TABLE_PATH, request)

    assert (answer.status_code in (500, 502, 503), catalog.count("POST")) == (True, 1)


def test_a_rollback_that_is_there_is_done(send, catalog):
    request = append()
    request["updates"].pop(0)
    catalog.says("POST", Said(503, headers={"Retry-After": "1"}))
    catalog.says("GET", Said(200, table_at(OURS, BASE, main=OURS)))

    assert send("POST", TABLE_PATH, request).status_code == 200


def test_a_conflict_about_properties_is_passed_on(send, catalog):
    update, _, without_it = EFFECTS["set-properties"]
    catalog.says("POST", Said(409))
    catalog.says("GET", Said(200, {"metadata-location": "x", "metadata": without_it}))

    assert send("POST", TABLE_PATH, {"updates": [update], "requirements": []}).status_code == 409


def test_a_transaction_is_looked_up_in_all_its_tables(send, catalog):
    one = {"identifier": {"namespace": ["a", "b"], "name": "t x"}, **append()}
    other = {"identifier": {"namespace": ["n"], "name": "t2"}, **append()}
    catalog.says("POST", Said(503, headers={"Retry-After": "1"}))
    catalog.says("GET", Said(200, table_at(BASE, OURS)))

    answer = send("POST", "v1/p/transactions/commit", {"table-changes": [one, other]})

    assert (answer.status_code, answer.content) == (204, b"")
    assert [asked[1] for asked in catalog.asked[1:]] == [
        f"/api/{TABLE_PATH}?snapshots=all",
        "/api/v1/p/namespaces/n/tables/t2?snapshots=all",
    ]


def test_half_a_transaction_is_in_doubt(send, catalog):
    change = {"identifier": {"namespace": ["n"], "name": "t"}, **append()}
    catalog.says("POST", Said(409))
    halves = Said(200, table_at(BASE, OURS)), Said(200, table_at(BASE, THEIRS))
    catalog.says("GET", *halves * LOOKS_AT_CONFLICT)

    answer = send("POST", "v1/transactions/commit", {"table-changes": [change, change]})

    assert answer.status_code == 500
