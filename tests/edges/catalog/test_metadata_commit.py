"""Changes of metadata against a real catalog, with a writer exactly between judging and commit."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing

import pytest
from pyiceberg.io.pyarrow import PyArrowFile
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse
from pyiceberg.table.update import SetPropertiesUpdate
from pyiceberg.types import LongType, NestedField

from neve.catalog.metadata_commit import CatalogMetadataWriter
from neve.model.errors import CommitConflict, CommitUnknown, ExecutionError, LeaseLost
from neve.model.expiry import TagToSet
from neve.model.metadata_change import MetadataChange
from neve.testing.facts import NOW
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

pytestmark = pytest.mark.promise(8)

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
NAME = "db.events"
UNDO = TagToSet("neve-undo-x", 4, 60_000)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Four snapshots on main, a tag on the second, and what the catalog's database holds then."""
    lake = LocalLake(tmp_path_factory.mktemp("shared") / "lake")
    lake.create(NAME, SCHEMA)
    for _ in range(4):
        append(lake)
    manage(lake).create_tag(2, "audit").commit()
    with closing(sqlite3.connect(lake.folder / "catalog.db")) as db:
        return lake, db.execute("SELECT * FROM iceberg_tables").fetchall()


@pytest.fixture
def lake(shared):
    """The same table for every test: metadata files never change, so its row is enough."""
    lake, rows = shared
    with closing(sqlite3.connect(lake.folder / "catalog.db")) as db, db:
        db.execute("DELETE FROM iceberg_tables")
        marks = ", ".join("?" for _ in rows[0])
        db.executemany(f"INSERT INTO iceberg_tables VALUES ({marks})", rows)
    return lake


@pytest.fixture
def table(lake):
    return lake.catalog.load_table(NAME)


def append(lake, **summary):
    loaded = lake.catalog.load_table(NAME)
    entry = FileEntry(f"file:///f{len(loaded.metadata.snapshots)}")
    return lake.commit(loaded, Manifest([entry]), summary=summary)


def manage(lake):
    return lake.catalog.load_table(NAME).manage_snapshots()


@pytest.fixture
def writer(catalogs):
    return CatalogMetadataWriter(catalogs, lambda: NOW)


@pytest.fixture
def change(catalogs, table):
    """A change of the table as it is now, unless told otherwise."""

    def make(**what):
        judged = {
            "table": catalogs.parse(NAME),
            "table_uuid": str(table.metadata.table_uuid),
            "purpose": "Testing table lake.db.events",
            "head": 4,
        }
        return MetadataChange(**judged | what)

    return make


@pytest.fixture
def between(catalogs, lake, monkeypatch):
    """Let somebody in right after the table was loaded for the n-th time.

    The first load is the one that is judged, the second that of the catalog's own commit.
    """
    catalog = catalogs.writable(lake.name)

    def enter(act, load=1):
        loads = []
        original = catalog.load_table

        def load_table(identifier):
            found = original(identifier)
            loads.append(identifier)
            if len(loads) == load:
                act()
            return found

        monkeypatch.setattr(catalog, "load_table", load_table)

    return enter


def state(lake):
    """All that a change could have touched."""
    metadata = lake.catalog.load_table(NAME).metadata
    refs = {name: ref.snapshot_id for name, ref in metadata.refs.items()}
    return refs, sorted(s.snapshot_id for s in metadata.snapshots), metadata.current_snapshot_id


CHANGES = {
    "rollback": {"set_main": 2, "tags": (UNDO,), "expected_refs": {UNDO.name: None}},
    "take back": {"set_main": 3},
    "tag": {"tags": (UNDO,), "expected_refs": {UNDO.name: None}},
    "drop tag": {"drop_refs": ("audit",), "expected_refs": {"audit": 2}},
    "expiry": {"remove_snapshots": (1, 3), "expected_refs": {"audit": 2}, "knows_all_refs": True},
}
OUTCOMES = {
    "rollback": ({"main": 2, "audit": 2, UNDO.name: 4}, [1, 2, 3, 4], 2),
    "take back": ({"main": 3, "audit": 2}, [1, 2, 3, 4], 3),
    "tag": ({"main": 4, "audit": 2, UNDO.name: 4}, [1, 2, 3, 4], 4),
    "drop tag": ({"main": 4}, [1, 2, 3, 4], 4),
    "expiry": ({"main": 4, "audit": 2}, [2, 4], 4),
}
by_change = pytest.mark.parametrize("kind", CHANGES)
#: Before the judgement by the writer, after it, and after the catalog's own reading.
by_moment = pytest.mark.parametrize("load", [0, 1, 2])


@by_change
def test_each_change_is_one_commit_of_exactly_itself(writer, change, lake, kind):
    log = lake.catalog.load_table(NAME).metadata.metadata_log

    writer.commit(change(**CHANGES[kind]))

    after = lake.catalog.load_table(NAME).metadata
    assert state(lake) == OUTCOMES[kind]
    assert len(after.metadata_log) == len(log) + 1


def test_an_undone_rollback_goes_forward_again(writer, change, lake):
    writer.commit(change(**CHANGES["rollback"]))

    writer.commit(change(head=2, set_main=4))

    assert state(lake) == ({"main": 4, "audit": 2, UNDO.name: 4}, [1, 2, 3, 4], 4)


@by_moment
@by_change
def test_an_append_in_between_stays_and_is_named(writer, change, lake, between, kind, load):
    told = {"neve.job-id": "j1", "engine-name": "spark"}
    act_at(between, load, lambda: append(lake, **told))
    before = state(lake)

    with pytest.raises(CommitConflict) as conflict:
        writer.commit(change(**CHANGES[kind]))

    refs, snapshots, _ = before
    assert state(lake) == ({**refs, "main": 5}, sorted({*snapshots, 5}), 5)
    assert "snapshot 5 (append at 2" in conflict.value.message
    assert "job j1, engine-name spark) came in between" in conflict.value.message
    assert conflict.value.message.endswith("so nothing was changed.")
    assert conflict.value.next_step


def act_at(between, load, act):
    if load:
        between(act, load)
    else:
        act()


@by_moment
@by_change
def test_somebody_elses_rollback_stays(writer, change, lake, between, kind, load):
    act_at(between, load, lambda: manage(lake).rollback_to_snapshot(3).commit())

    what = {**CHANGES[kind]}
    if kind == "take back":
        what["set_main"] = 2
    with pytest.raises(CommitConflict, match="was moved from snapshot 4 to snapshot 3"):
        writer.commit(change(**what))

    assert state(lake) == ({"main": 3, "audit": 2}, [1, 2, 3, 4], 3)


@by_moment
@pytest.mark.parametrize("make", ["create_tag", "create_branch"])
def test_a_new_ref_stops_an_expiry_that_does_not_know_it(writer, change, lake, between, load, make):
    """Iceberg would drop the ref together with its snapshot."""
    act_at(between, load, lambda: getattr(manage(lake), make)(1, "late").commit())

    with pytest.raises(CommitConflict, match=r"(Tag|Branch) late at snapshot 1"):
        writer.commit(change(**CHANGES["expiry"]))

    assert state(lake) == ({"main": 4, "audit": 2, "late": 1}, [1, 2, 3, 4], 4)


@by_moment
@pytest.mark.parametrize("kind", ["drop tag", "expiry"])
def test_a_tag_that_was_moved_stays_where_it_is(writer, change, lake, between, kind, load):
    def move():
        manage(lake).remove_tag("audit").commit()
        manage(lake).create_tag(1, "audit").commit()

    act_at(between, load, move)

    with pytest.raises(CommitConflict, match="Tag audit at snapshot 1 of table"):
        writer.commit(change(**CHANGES[kind]))

    assert state(lake) == ({"main": 4, "audit": 1}, [1, 2, 3, 4], 4)


@by_moment
def test_a_tag_of_the_same_name_is_not_overwritten(writer, change, lake, between, load):
    act_at(between, load, lambda: manage(lake).create_tag(1, UNDO.name).commit())

    with pytest.raises(CommitConflict, match=f"Tag {UNDO.name} at snapshot 1"):
        writer.commit(change(**CHANGES["rollback"]))

    assert state(lake) == ({"main": 4, "audit": 2, UNDO.name: 1}, [1, 2, 3, 4], 4)


@by_moment
@by_change
def test_a_table_that_was_made_anew_is_left_alone(writer, change, lake, between, kind, load):
    def make_anew():
        lake.catalog.drop_table(NAME)
        lake.create(NAME, SCHEMA)
        for _ in range(4):
            append(lake)
        manage(lake).create_tag(2, "audit").commit()

    act_at(between, load, make_anew)

    with pytest.raises(CommitConflict, match="was dropped and made again"):
        writer.commit(change(**CHANGES[kind]))

    assert state(lake) == ({"main": 4, "audit": 2}, [1, 2, 3, 4], 4)


@by_moment
@by_change
def test_a_table_that_was_renamed_is_left_alone(writer, change, lake, between, kind, load):
    act_at(between, load, lambda: lake.catalog.rename_table(NAME, "db.other"))

    with pytest.raises(CommitConflict, match="is gone: somebody dropped or renamed it"):
        writer.commit(change(**CHANGES[kind]))

    metadata = lake.catalog.load_table("db.other").metadata
    assert (metadata.current_snapshot_id, set(metadata.refs)) == (4, {"main", "audit"})


@pytest.mark.parametrize("load", [1, 2])
def test_an_unrelated_commit_at_the_same_moment_is_not_overwritten(
    writer, change, lake, between, load
):
    def set_property():
        update = SetPropertiesUpdate(updates={"owner": "somebody"})
        lake.catalog.commit_table(lake.catalog.load_table(NAME), (), (update,))

    between(set_property, load)

    with pytest.raises(CommitConflict, match="Somebody else changed table"):
        writer.commit(change(**CHANGES["rollback"]))

    assert lake.catalog.load_table(NAME).properties["owner"] == "somebody"
    assert state(lake)[2] == 4


@pytest.mark.parametrize("kind", ["tag", "drop tag"])
def test_a_judgement_that_appends_do_not_touch_holds_after_them(writer, change, lake, kind):
    append(lake)

    writer.commit(change(**CHANGES[kind], head_may_advance=True))

    refs, snapshots, _ = OUTCOMES[kind]
    assert state(lake) == ({**refs, "main": 5}, [*snapshots, 5], 5)


def test_a_head_that_may_advance_may_not_be_undone(writer, change, lake):
    manage(lake).rollback_to_snapshot(3).commit()

    with pytest.raises(CommitConflict, match="was moved"):
        writer.commit(change(**CHANGES["tag"], head_may_advance=True))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"set_main": 9}, "Snapshot 9 of table lake.db.events is gone"),
        ({"tags": (TagToSet("t", 9, 1),)}, "Snapshot 9 of table lake.db.events is gone"),
        ({"tags": (TagToSet("main", 1, 1),)}, "main is a branch"),
        ({"drop_refs": ("main",)}, "Branch main of table lake.db.events is never dropped"),
        ({"remove_snapshots": (4,)}, "The current snapshot of table lake.db.events is never"),
        ({"remove_snapshots": (2,)}, "Tag audit at snapshot 2 of table lake.db.events points to"),
        (
            {"remove_snapshots": (1,), "tags": (TagToSet("t", 1, 1),)},
            "Snapshot 1 of table lake.db.events cannot be tagged and removed",
        ),
    ],
)
def test_what_would_break_the_table_is_never_sent(writer, change, lake, what, message):
    before = state(lake)

    with pytest.raises(CommitConflict, match=message):
        writer.commit(change(**what))

    assert state(lake) == before


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


def test_an_answer_that_was_lost_after_the_commit_is_found_in_the_table(
    writer, change, lake, catalogs, monkeypatch
):
    swap = type(catalogs.writable(lake.name)).commit_table

    def lose_answer(self, *order):
        swap(self, *order)
        raise TimeoutError("no answer")

    monkeypatch.setattr(type(catalogs.writable(lake.name)), "commit_table", lose_answer)

    writer.commit(change(**CHANGES["rollback"]))

    assert state(lake) == OUTCOMES["rollback"]


def test_an_answer_that_was_lost_before_the_commit_is_unknown(
    writer, change, lake, catalogs, monkeypatch
):
    kind = type(catalogs.writable(lake.name))
    monkeypatch.setattr(kind, "commit_table", raising(TimeoutError("no answer")))

    with pytest.raises(CommitUnknown, match="the answer to the commit was lost"):
        writer.commit(change(**CHANGES["rollback"]))

    assert state(lake)[2] == 4


def test_a_catalog_that_goes_its_own_way_is_not_taken_for_a_success(
    writer, change, lake, catalogs, monkeypatch
):
    def do_nothing(self, table, *_):
        location = table.metadata_location
        return CommitTableResponse.model_validate(
            {"metadata": table.metadata, "metadata-location": location}
        )

    monkeypatch.setattr(type(catalogs.writable(lake.name)), "commit_table", do_nothing)

    with pytest.raises(ExecutionError, match="nothing was changed: catalogs of the kind Sql"):
        writer.commit(change(**CHANGES["rollback"]))


def test_a_full_disk_changes_nothing_and_is_no_mystery(writer, change, lake, monkeypatch):
    monkeypatch.setattr(PyArrowFile, "create", raising(OSError("No space left on device")))

    with pytest.raises(ExecutionError, match="nothing was changed: metadata could not be written"):
        writer.commit(change(**CHANGES["rollback"]))

    assert state(lake)[2] == 4


def raw(lake):
    location = lake.catalog.load_table(NAME).metadata_location
    with lake.catalog.load_table(NAME).io.new_input(location).open() as file:
        data = file.read()
    return json.loads(gzip.decompress(data) if ".gz." in location else data)


def test_metadata_that_is_compressed_stays_so(writer, change, lake):
    update = SetPropertiesUpdate(updates={"write.metadata.compression-codec": "gzip"})
    lake.catalog.commit_table(lake.catalog.load_table(NAME), (), (update,))

    writer.commit(change(**CHANGES["rollback"]))

    assert lake.catalog.load_table(NAME).metadata_location.endswith(".gz.metadata.json")
    assert (raw(lake)["current-snapshot-id"], state(lake)) == (2, OUTCOMES["rollback"])
    writer.commit(change(head=2, set_main=4))
    assert raw(lake)["current-snapshot-id"] == 4


def test_files_of_older_metadata_are_left_to_the_sweep(writer, change, lake):
    update = SetPropertiesUpdate(
        updates={
            "write.metadata.delete-after-commit.enabled": "true",
            "write.metadata.previous-versions-max": "2",
        }
    )
    lake.catalog.commit_table(lake.catalog.load_table(NAME), (), (update,))
    before = raw(lake)["metadata-log"]

    writer.commit(change(**CHANGES["tag"]))

    assert len(raw(lake)["metadata-log"]) == 2
    io = lake.catalog.load_table(NAME).io
    assert all(io.new_input(entry["metadata-file"]).exists() for entry in before)


def test_a_property_that_makes_no_sense_is_no_mystery(writer, change, lake):
    update = SetPropertiesUpdate(updates={"write.metadata.previous-versions-max": "many"})
    metadata = raw(lake)
    metadata["properties"] = update.updates
    location = lake.catalog.load_table(NAME).metadata_location
    other = location.replace(".metadata.json", "-other.metadata.json")
    with lake.catalog.load_table(NAME).io.new_output(other).create(overwrite=True) as file:
        file.write(json.dumps(metadata).encode())
    with closing(sqlite3.connect(lake.folder / "catalog.db")) as db, db:
        db.execute("UPDATE iceberg_tables SET metadata_location = ?", (other,))

    with pytest.raises(ExecutionError, match=r"nothing was changed: .* .many.") as told:
        writer.commit(change(**CHANGES["rollback"]))

    assert type(told.value) is ExecutionError
    assert state(lake)[2] == 4


def test_an_encrypted_table_is_refused_before_anything_is_written(writer, change, lake):
    update = SetPropertiesUpdate(updates={"encryption.key-id": "k"})
    lake.catalog.commit_table(lake.catalog.load_table(NAME), (), (update,))

    with pytest.raises(ExecutionError, match="is encrypted"):
        writer.commit(change(**CHANGES["rollback"]))

    assert state(lake)[2] == 4


def test_who_lost_the_table_meanwhile_sends_nothing(writer, change, catalogs):
    """A process may sleep for as long as it likes between its last check and its request."""
    ref = catalogs.parse(NAME)
    before = catalogs.writable(ref.catalog).load_table(NAME).metadata_location
    asked = []

    def lost():
        asked.append(catalogs.writable(ref.catalog).load_table(NAME).metadata_location)
        raise LeaseLost("Table lake.db.events is another job's by now.")

    with pytest.raises(LeaseLost):
        writer.commit(change(set_main=2), lost)
    after = catalogs.writable(ref.catalog).load_table(NAME).metadata_location
    assert [before] == asked == [after]
    assert writer.commit(change(set_main=2), lambda: None).snapshot_id == 2
