"""What is sent to a REST catalog, and what its answers come to: one request at most."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from tests.unit.catalog.rest_server import RestTable, serving

from neve.catalog import connect
from neve.catalog.connect import Catalogs
from neve.catalog.metadata_commit import CatalogMetadataWriter
from neve.model.errors import CommitConflict, CommitUnknown, ExecutionError, LeaseLost, RefLost
from neve.model.expiry import TagToSet
from neve.model.metadata_change import MetadataChange
from neve.testing.facts import NOW
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

pytestmark = pytest.mark.promise(8, 15)

UNDO = TagToSet("neve-undo-x", 4, 60_000)
REMOVAL = {"remove_snapshots": (1, 3), "expected_refs": {"audit": 2}, "knows_all_refs": True}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Four snapshots, a tag on the second, statistics of the first, settings of main."""
    lake = LocalLake(tmp_path_factory.mktemp("rest") / "lake")
    made = lake.create("db.events", Schema(NestedField(1, "id", LongType(), required=False)))
    for number in range(4):
        lake.commit(made, Manifest([FileEntry(f"file:///f{number}")]))
    made.manage_snapshots().create_tag(2, "audit").commit()
    location = lake.catalog.load_table("db.events").metadata_location
    metadata = json.loads(Path(location.removeprefix("file://")).read_text())
    metadata["refs"]["main"]["min-snapshots-to-keep"] = 3
    file = {"statistics-path": "file:///s", "file-size-in-bytes": 1}
    table_file = {**file, "file-footer-size-in-bytes": 1, "blob-metadata": []}
    metadata["statistics"] = [{**table_file, "snapshot-id": 1}, {**table_file, "snapshot-id": 2}]
    metadata["partition-statistics"] = [{**file, "snapshot-id": 3}]
    return json.dumps(metadata), location


@pytest.fixture
def table(made):
    metadata, location = made
    return RestTable(json.loads(metadata), location)


@pytest.fixture
def catalogs(table, monkeypatch):
    monkeypatch.setattr(connect, "REST_TIMEOUT_SECONDS", (5.0, 0.5))
    with serving(table) as uri:
        yield Catalogs({"rest": {"type": "rest", "uri": uri}})


@pytest.fixture
def commit(catalogs, table):
    def send(**what):
        judged = {
            "table": catalogs.parse("rest.db.events"),
            "table_uuid": table.metadata["table-uuid"],
            "purpose": "Testing",
            "head": 4,
        }
        CatalogMetadataWriter(catalogs, lambda: NOW).commit(MetadataChange(**judged | what))

    return send


def test_who_lost_the_table_meanwhile_sends_no_request(catalogs, table):
    judged = {"table": catalogs.parse("rest.db.events"), "purpose": "Testing", "head": 4}
    change = MetadataChange(table_uuid=table.metadata["table-uuid"], set_main=2, **judged)

    def lost():
        raise LeaseLost("Table rest.db.events is another job's by now.")

    with pytest.raises(LeaseLost):
        CatalogMetadataWriter(catalogs, lambda: NOW).commit(change, lost)
    assert table.commits == []


def rollback(commit):
    commit(set_main=2, tags=(UNDO,), expected_refs={UNDO.name: None})


def asserted(table, **refs):
    uuid = {"type": "assert-table-uuid", "uuid": table.metadata["table-uuid"]}
    return [
        uuid,
        *(
            {"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": snapshot_id}
            for name, snapshot_id in refs.items()
        ),
    ]


def test_a_rollback_asserts_main_and_that_its_tag_is_new(commit, table):
    rollback(commit)

    (sent,) = table.commits
    assert sent["requirements"] == asserted(table, main=4, **{UNDO.name: None})
    assert sent["updates"] == [
        {
            "action": "set-snapshot-ref",
            "ref-name": UNDO.name,
            "type": "tag",
            "snapshot-id": 4,
            "max-ref-age-ms": 60_000,
        },
        {
            "action": "set-snapshot-ref",
            "ref-name": "main",
            "type": "branch",
            "snapshot-id": 2,
            "min-snapshots-to-keep": 3,
        },
    ]


def test_a_removal_asserts_every_ref_and_takes_statistics_along(commit, table):
    commit(**REMOVAL)

    (sent,) = table.commits
    assert sent["requirements"] == asserted(table, main=4, audit=2)
    assert sent["updates"] == [
        {"action": "remove-snapshots", "snapshot-ids": [1, 3]},
        {"action": "remove-statistics", "snapshot-id": 1},
        {"action": "remove-partition-statistics", "snapshot-id": 3},
    ]


def test_a_dropped_tag_is_asserted_where_it_was(commit, table):
    commit(drop_refs=("audit",), expected_refs={"audit": 2})

    (sent,) = table.commits
    assert sent["requirements"] == asserted(table, main=4, audit=2)
    assert sent["updates"] == [{"action": "remove-snapshot-ref", "ref-name": "audit"}]


def test_a_head_that_may_advance_is_asserted_as_it_was_found(commit, table):
    commit(head=3, head_may_advance=True, tags=(UNDO,), expected_refs={UNDO.name: None})

    assert table.commits[0]["requirements"] == asserted(table, main=4, **{UNDO.name: None})


def append(table):
    """Another writer's commit to main."""
    last = table.metadata["snapshots"][-1]
    made = {**last, "snapshot-id": 5, "parent-snapshot-id": 4, "sequence-number": 5}
    main = {**table.metadata["refs"]["main"], "snapshot-id": 5}
    table.metadata = {
        **table.metadata,
        "snapshots": [*table.metadata["snapshots"], made],
        "last-sequence-number": 5,
        "current-snapshot-id": 5,
        "refs": {**table.metadata["refs"], "main": main},
    }


@pytest.mark.parametrize("what", [{"set_main": 2}, REMOVAL])
def test_an_append_at_the_last_moment_wins(commit, table, what):
    table.before_commit = lambda: append(table)

    with pytest.raises(CommitConflict, match=r"snapshot 5 \(append at .* came in between"):
        commit(**what)

    assert len(table.commits) == 1
    assert (table.metadata["current-snapshot-id"], len(table.metadata["snapshots"])) == (5, 5)


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (409, CommitConflict, "Somebody else changed table rest.db.events at the same moment"),
        (500, CommitUnknown, "the answer to the commit was lost"),
        (502, CommitUnknown, "the answer to the commit was lost"),
        (503, CommitUnknown, "the answer to the commit was lost"),
        (504, CommitUnknown, "the answer to the commit was lost"),
        (429, CommitUnknown, "the answer to the commit was lost"),
        (400, ExecutionError, "was refused by the catalog"),
        (401, ExecutionError, "was refused by the catalog"),
        (403, ExecutionError, "was refused by the catalog"),
        (419, ExecutionError, "was refused by the catalog"),
        (501, ExecutionError, "was refused by the catalog"),
    ],
)
def test_an_answer_without_a_commit_is_asked_for_once(commit, table, status, error, message):
    table.status, table.applies = status, False

    with pytest.raises(error, match=message) as raised:
        rollback(commit)

    assert type(raised.value) is error
    assert len(table.commits) == 1
    assert table.metadata["current-snapshot-id"] == 4


@pytest.mark.parametrize("status", [409, 500, 502, 503, 504, 429, 400, 401, 403, 404, 419])
def test_a_commit_that_was_answered_wrongly_is_found_in_the_table(commit, table, status):
    table.status = status

    rollback(commit)

    assert len(table.commits) == 1
    assert table.metadata["current-snapshot-id"] == 2


@pytest.mark.parametrize("applies", [True, False])
def test_an_answer_that_never_comes_is_settled_by_reading(commit, table, applies):
    table.silent_seconds, table.applies = 1.0, applies

    if applies:
        rollback(commit)
    else:
        with pytest.raises(CommitUnknown):
            rollback(commit)

    assert len(table.commits) == 1


def late_tag(table, folder, *, readable=True):
    """Somebody tags a snapshot that is just being removed; the server's commit drops both."""

    def tag():
        refs = {**table.metadata["refs"], "late": {"type": "tag", "snapshot-id": 1}}
        log = [
            *table.metadata["metadata-log"],
            {"timestamp-ms": table.metadata["last-updated-ms"], "metadata-file": table.location},
        ]
        table.metadata = {**copy.deepcopy(table.metadata), "refs": refs, "metadata-log": log}
        table.location = (folder / "late.metadata.json").as_uri()
        if readable:
            (folder / "late.metadata.json").write_text(json.dumps(table.metadata))

    table.before_commit = tag


def test_a_tag_that_the_server_dropped_with_its_snapshot_is_told(commit, table, tmp_path):
    late_tag(table, tmp_path)

    with pytest.raises(RefLost, match=r"tag late of table rest\.db\.events was made"):
        commit(**REMOVAL)


def test_a_commit_in_between_that_cannot_be_read_stops_the_deletion(commit, table, tmp_path):
    late_tag(table, tmp_path, readable=False)

    with pytest.raises(RefLost, match="No file was deleted"):
        commit(**REMOVAL)


def test_a_tag_on_a_snapshot_that_stays_does_no_harm(commit, table, tmp_path):
    late_tag(table, tmp_path)
    tag = table.before_commit

    def elsewhere():
        tag()
        table.metadata["refs"]["late"]["snapshot-id"] = 4
        (tmp_path / "late.metadata.json").write_text(json.dumps(table.metadata))

    table.before_commit = elsewhere

    commit(**REMOVAL)

    assert [s["snapshot-id"] for s in table.metadata["snapshots"]] == [2, 4]


@pytest.mark.parametrize(
    "what",
    [
        {"tags": (UNDO,), "expected_refs": {UNDO.name: None}},
        {"set_main": 2},
        {"drop_refs": ("audit",), "expected_refs": {"audit": 2}},
    ],
    ids=["tag", "main", "dropped"],
)
def test_a_catalog_that_takes_a_change_and_keeps_nothing_is_told(commit, table, what):
    table.applies = False

    with pytest.raises(ExecutionError, match="took the change, and the table does not show it"):
        commit(**what)

    assert len(table.commits) == 1
