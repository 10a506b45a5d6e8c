"""What other tables need, asked over all catalogs, on real tables; others read them at the end."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from tests.closed_folders import closed, open_folder

from neve.catalog import references
from neve.catalog.connect import Catalogs
from neve.catalog.embedded import EmbeddedCatalog
from neve.catalog.surveyor import CatalogSurveyor
from neve.model.errors import CatalogError, TableNotFound, TableUnreadable
from neve.model.table import TableRef
from neve.testing.facts import NOW, TABLE
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

pytestmark = pytest.mark.promise(15, 16, 20)

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
WHY = r"No file is deleted before it is known which tables need it\."


@pytest.fixture
def table(lake):
    return lake.create("db.events", SCHEMA)


@pytest.fixture
def second(tmp_path):
    """Another catalog with its own database and warehouse."""
    made = LocalLake(tmp_path / "second", name="second")
    made.catalog.create_namespace("db")
    return made


@pytest.fixture
def catalogs(lake, second):
    return Catalogs({lake.name: lake.properties, second.name: second.properties})


@pytest.fixture
def surveyor(catalogs):
    return CatalogSurveyor(catalogs, lambda: NOW)


def local(url):
    return Path(url.removeprefix("file://"))


def put(table, name):
    """A real Parquet file in the table's folder."""
    path = local(table.location()) / "data" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64())}), path)
    return f"file://{path}"


@pytest.mark.parametrize("name", ["db.twin", "db2.twin", "db.deep.twin"])
def test_a_twin_is_known_in_whatever_namespace(lake, table, surveyor, name):
    uuid = str(table.metadata.table_uuid)
    assert surveyor.other_registration(TABLE, uuid) is None

    lake.catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
    lake.catalog.register_table(name, table.metadata_location)

    twin = surveyor.other_registration(TABLE, uuid, recheck=True)
    assert str(twin) == f"lake.{name}"
    assert surveyor.other_registration(twin, uuid) == TABLE


def test_a_twin_is_known_in_another_catalog(second, table, surveyor):
    second.catalog.register_table("db.events", table.metadata_location)

    assert (
        str(surveyor.other_registration(TABLE, str(table.metadata.table_uuid)))
        == "second.db.events"
    )


def test_a_name_in_another_case_is_the_table_itself_only_where_one_is_listed(lake, table, surveyor):
    uuid = str(table.metadata.table_uuid)
    shouted = TABLE.sibling("EVENTS")
    assert surveyor.other_registration(shouted, uuid) is None

    lake.catalog.register_table("db.Events", table.metadata_location)

    # Two entries are listed, so that neither can be told to be the same.
    assert surveyor.other_registration(shouted, uuid, recheck=True) is not None
    assert surveyor.other_registration(TABLE, uuid) == TABLE.sibling("Events")


def test_a_catalog_that_is_configured_twice_shows_each_table_once():
    rest = {"type": "rest", "uri": "http://127.0.0.1:1", "warehouse": "w"}
    catalogs = Catalogs(
        {
            "a": {**rest, "token": "x"},
            "b": rest,
            "c": {**rest, "warehouse": "v"},
            "d": {"type": "sql", "uri": "sqlite:///x"},
            "e": {"type": "sql", "uri": "sqlite:///x"},
        }
    )
    assert catalogs.are_same("a", "b")
    assert not catalogs.are_same("a", "c")
    # Its own name is part of what a SQL catalog stores.
    assert not catalogs.are_same("d", "e")


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("glue", "glue.region"),
        ("glue", "glue.profile-name"),
        ("glue", "client.region"),
        ("glue", "glue.access-key-id"),
        ("dynamodb", "table-name"),
        ("dynamodb", "dynamodb.region"),
        ("bigquery", "gcp.bigquery.project-id"),
        ("rest", "header.X-Tenant"),
        ("rest", "rest.signing-region"),
        ("hive", "uri"),
    ],
)
def test_whatever_may_lead_to_other_entries_makes_another_catalog(kind, key):
    """A twin of the same name in another account or region is not the table itself."""
    at = {"type": kind, "warehouse": "s3://w"}
    catalogs = Catalogs({"a": {**at, key: "1"}, "b": {**at, key: "2"}, "c": at, "d": at})
    assert not catalogs.are_same("a", "b")
    assert not catalogs.are_same("a", "c")
    assert catalogs.are_same("c", "d")


def test_by_another_token_the_same_name_may_be_another_table(lake, table, second):
    """Servers may show each caller its own tables at one address."""
    other = second.create("db.events", SCHEMA)
    path = put(table, "f.parquet")
    second.commit(other, Manifest([FileEntry(path)]))
    same = {"type": "rest", "uri": "http://127.0.0.1:1"}
    catalogs = Catalogs({"lake": same | {"token": "a"}, "second": same | {"token": "b"}})
    catalogs._writable = {lake.name: lake.catalog, second.name: second.catalog}
    surveyor = CatalogSurveyor(catalogs, lambda: NOW)
    found = {path: TableRef("second", ("db",), "events")}

    assert surveyor.needed(TABLE, [path]) == found
    assert surveyor.needed(TABLE, [path], recheck=True) == found

    second.catalog.drop_table("db.events")
    second.catalog.register_table("db.events", table.metadata_location)
    catalogs = Catalogs({"lake": same, "second": same})
    catalogs._writable = {lake.name: lake.catalog, second.name: second.catalog}
    uuid = str(table.metadata.table_uuid)
    assert CatalogSurveyor(catalogs, lambda: NOW).other_registration(TABLE, uuid) is None


def test_a_file_that_another_table_names_by_a_relative_path_is_needed(
    lake, table, surveyor, monkeypatch
):
    """pyiceberg's `add_files` takes such names; whether they can be resolved here or not."""
    files = [put(table, name) for name in ("near.parquet", "far.parquet", "free.parquet")]
    other = lake.create("db2.other", SCHEMA)
    data = local(table.location()) / "data"
    entries = [FileEntry("data/near.parquet"), FileEntry("where/ever/far.parquet")]
    lake.commit(other, Manifest(entries))
    monkeypatch.chdir(data.parent)

    assert duckdb.sql("SELECT count(*) FROM 'data/near.parquet'").fetchall() == [(2,)]
    assert surveyor.needed(TABLE, files).keys() == set(files[:2])


def test_files_that_other_tables_reach_are_needed_wherever_those_lie(lake, second, table, surveyor):
    """`add_files`, a snapshot of a table, a shared landing folder: the other lies elsewhere."""
    names = ("own", "near", "far", "old", "free")
    files = {name: put(table, f"{name}.parquet") for name in names}
    lake.commit(table, Manifest([FileEntry(files["own"])]))
    near = lake.create("db2.near", SCHEMA)
    lake.commit(near, Manifest([FileEntry(files["near"]), FileEntry(files["old"])]))
    lake.commit(near, Manifest([FileEntry(files["near"])]), keeps=False)
    far = second.create("db.far", SCHEMA)
    second.commit(far, Manifest([FileEntry(files["far"].replace("/data/", "/data//./"))]))

    needed = surveyor.needed(TABLE, list(files.values()))

    assert {path: str(other) for path, other in needed.items()} == {
        files["near"]: "lake.db2.near",
        files["old"]: "lake.db2.near",
        files["far"]: "second.db.far",
    }
    for path in set(files.values()) - {*needed, files["own"]}:
        local(path).unlink()
    for name in ("near", "far", "old"):
        rows = duckdb.sql(f"SELECT count(*) FROM '{local(files[name])}'").fetchall()
        assert rows == [(2,)]


def test_what_the_table_reaches_by_another_name_is_needed(table, surveyor, tmp_path):
    path = put(table, "f.parquet")
    (tmp_path / "link").symlink_to(local(table.location()) / "data")

    assert surveyor.needed(TABLE, [path], [f"file:{tmp_path}/link/f.parquet"]) == {path: TABLE}
    assert surveyor.needed(TABLE, [path], [f"file:{tmp_path}/link/g.parquet"]) == {}


def test_metadata_manifests_and_lists_of_others_are_needed(lake, table, surveyor):
    other = lake.create("db2.other", SCHEMA)
    first = other.metadata_location
    lake.commit(other, Manifest([FileEntry("s3://b/f")]))
    snapshot = other.current_snapshot()
    paths = [first, other.metadata_location, snapshot.manifest_list]
    paths += [manifest.manifest_path for manifest in snapshot.manifests(other.io)]

    assert surveyor.needed(TABLE, [*paths, "s3a://b/f", "s3://b/g"]).keys() == {
        *paths,
        "s3a://b/f",
    }


def test_what_was_added_since_is_seen_before_files_are_deleted(lake, table, surveyor):
    path = put(table, "f.parquet")
    other = lake.create("db2.other", SCHEMA)
    lake.commit(other, Manifest([FileEntry("s3://b/f")]))
    assert surveyor.needed(TABLE, [path]) == {}

    lake.commit(other, Manifest([FileEntry(path)]))
    third = lake.create("db3.third", SCHEMA)
    lake.commit(third, Manifest([FileEntry("s3://b/late")]))

    assert surveyor.needed(TABLE, [path, "s3://b/late"], recheck=True).keys() == {
        path,
        "s3://b/late",
    }
    lake.commit(other, keeps=False)
    other.maintenance.expire_snapshots().by_ids([1, 2]).commit()
    lake.catalog.drop_table("db3.third")
    assert surveyor.needed(TABLE, [path, "s3://b/late"], recheck=True) == {}


def test_a_table_made_anew_in_the_same_place_is_read_anew(lake, table, surveyor):
    """Its manifests may have the names that those of the dropped one had."""
    for number in range(2):
        other = lake.create("db2.other", SCHEMA)
        lake._numbers = iter(range(100, 200))
        lake.commit(other, Manifest([FileEntry(f"s3://b/{number}")]))
        found = surveyor.needed(TABLE, ["s3://b/0", "s3://b/1"], recheck=True)
        assert found.keys() == {f"s3://b/{number}"}
        lake.catalog.drop_table("db2.other")


def test_manifests_are_read_once_however_often_is_asked(lake, table, surveyor, monkeypatch):
    reads = []
    read = references.files_of_manifest
    monkeypatch.setattr(
        references, "files_of_manifest", lambda io, path: reads.append(path) or read(io, path)
    )
    others = [lake.create(f"db2.t{number}", SCHEMA) for number in range(3)]
    for other in others:
        lake.commit(other, Manifest([FileEntry(f"s3://b/{other.name()[-1]}")]))
    surveyor.needed(TABLE, ["s3://b/x"], recheck=True)
    surveyor.needed(TABLE, ["s3://b/y"], recheck=True)
    assert len(reads) == 3
    lake.commit(others[0], Manifest([FileEntry("s3://b/new")]))
    assert surveyor.needed(TABLE, ["s3://b/new"], recheck=True)
    assert len(reads) == 4


def age(*folders):
    """As if nothing had happened in them for a day."""
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            os.utime(path, (1, 1))


def link_the_file(mine, landing):
    (landing / "f.parquet").unlink()
    (landing / "f.parquet").symlink_to(mine)


def link_the_folder(mine, landing):
    shutil.rmtree(landing)
    landing.symlink_to(mine.parent)


def move_what_is_above(mine, landing):
    shutil.rmtree(landing.parent)
    (landing.parents[1] / "moved").mkdir()
    (landing.parents[1] / "moved" / landing.name).symlink_to(mine.parent)
    landing.parent.symlink_to(landing.parents[1] / "moved")


@pytest.mark.parametrize("is_old", [True, False])
@pytest.mark.parametrize("change", [link_the_file, link_the_folder, move_what_is_above])
def test_links_that_were_made_since_are_seen_before_files_are_deleted(
    lake, table, surveyor, tmp_path, change, is_old
):
    """Whoever runs for months has resolved the names of others long ago."""
    mine, landing = put(table, "f.parquet"), tmp_path / "shared" / "landing"
    landing.mkdir(parents=True)
    shutil.copy(local(mine), landing)
    other, third = (lake.create(f"db2.{name}", SCHEMA) for name in ("other", "third"))
    lake.commit(other, Manifest([FileEntry(f"file://{landing}/f.parquet")]))
    lake.commit(third, Manifest([FileEntry("s3://b/f")]))
    if is_old:
        age(landing.parent, local(lake.properties["warehouse"]))
    ref = TableRef("lake", ("db2",), "other")
    assert surveyor.needed(TABLE, [mine], recheck=True) == {}

    change(local(mine), landing)

    # A question about that table itself does not read it, and must not forget that it has moved.
    assert surveyor.needed(ref, ["s3://b/f"], recheck=True).keys() == {"s3://b/f"}
    lake.commit(third, Manifest([FileEntry("s3://b/g")]))
    assert surveyor.needed(TABLE, [mine, "s3://b/g"], recheck=True).keys() == {mine, "s3://b/g"}


def test_folders_in_which_nothing_happens_are_not_read_again(lake, table, surveyor, monkeypatch):
    reads, read = [], references.files_of_manifest
    monkeypatch.setattr(
        references, "files_of_manifest", lambda io, path: reads.append(path) or read(io, path)
    )
    others = [lake.create(f"db2.t{number}", SCHEMA) for number in range(3)]
    for other in others:
        lake.commit(other, Manifest([FileEntry(put(other, "f.parquet"))]))
    age(local(lake.properties["warehouse"]))
    for _ in range(3):
        surveyor.needed(TABLE, ["s3://b/x"], recheck=True)
    assert len(reads) == 3
    put(others[0], "g.parquet")
    surveyor.needed(TABLE, ["s3://b/x"], recheck=True)
    assert len(reads) == 4


@pytest.mark.parametrize("apart", [0, 1, 32])
def test_answers_are_the_same_however_many_tables_are_sorted_together(
    lake, table, surveyor, monkeypatch, apart
):
    monkeypatch.setattr(references, "MAX_APART", apart)
    for number in range(4):
        other = lake.create(f"db2.t{number}", SCHEMA)
        lake.commit(other, Manifest([FileEntry("s3://b/all"), FileEntry(f"s3://b/{number}")]))
        found = surveyor.needed(TABLE, ["s3://b/all", f"s3://b/{number}", "s3://b/x"], recheck=True)
        assert found.keys() == {"s3://b/all", f"s3://b/{number}"}
        own = surveyor.needed(TABLE.sibling("none"), ["s3://b/x", other.metadata_location])
        assert own.keys() == {other.metadata_location}


def test_a_table_does_not_need_its_own_files_for_another(lake, table, surveyor):
    lake.commit(table, Manifest([FileEntry("s3://b/own")]))
    other = lake.create("db2.other", SCHEMA)
    lake.commit(other, Manifest([FileEntry("s3://b/theirs")]))
    ref = TableRef("lake", ("db2",), "other")
    assert surveyor.needed(ref, ["s3://b/theirs", "s3://b/own"]) == {"s3://b/own": TABLE}
    assert surveyor.needed(TABLE, ["s3://b/theirs", "s3://b/own"]) == {"s3://b/theirs": ref}


@pytest.mark.parametrize("content", [b"", None])
def test_a_file_that_is_no_catalog_is_not_one_without_tables(
    lake, second, table, surveyor, tmp_path, content
):
    """As where a volume is not mounted, or a path has a slip: its tables are not known."""
    file = tmp_path / "second" / "catalog.db"
    file.unlink()
    if content is None:
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("CREATE TABLE something (else_ TEXT)")
    else:
        file.write_bytes(content)
    for recheck in (False, True):
        with pytest.raises(CatalogError, match=rf"{WHY} Catalog second has no list of tables"):
            surveyor.needed(TABLE, ["s3://b/f"], recheck=recheck)
        with pytest.raises(CatalogError, match="has no list of tables"):
            surveyor.other_registration(TABLE, "u", recheck=recheck)


@pytest.mark.parametrize("part", ["metadata", "list", "manifest"])
def test_a_table_that_cannot_be_read_stops_it_and_is_named(lake, table, surveyor, part):
    other = lake.create("db2.broken", SCHEMA)
    lake.commit(other, Manifest([FileEntry("s3://b/f")]))
    snapshot = other.current_snapshot()
    [listed] = snapshot.manifests(other.io)
    paths = {
        "metadata": other.metadata_location,
        "list": snapshot.manifest_list,
        "manifest": listed.manifest_path,
    }
    local(paths[part]).unlink()

    with pytest.raises(TableUnreadable, match=rf"{WHY} .*lake\.db2\.broken"):
        surveyor.needed(TABLE, ["s3://b/x"])
    # Where nothing would be deleted, nobody is asked.
    assert surveyor.needed(TABLE, []) == {}


def test_files_that_others_name_where_nobody_here_may_look_stop_it():
    """Behind such a name there may be a link to any file, which their own readers follow."""
    with open_folder() as folder:
        lake = LocalLake(folder / "lake")
        table, other = lake.create("db.events", SCHEMA), lake.create("db2.other", SCHEMA)
        path = put(table, "f.parquet")
        theirs = folder / "theirs"
        theirs.mkdir()
        (theirs / "link").symlink_to(local(path).parent)
        lake.commit(other, Manifest([FileEntry(f"file:{theirs}/link/f.parquet")]))
        surveyor = CatalogSurveyor(Catalogs({lake.name: lake.properties}), lambda: NOW)
        assert surveyor.needed(TABLE, [path]).keys() == {path}

        with closed(theirs), pytest.raises(TableUnreadable, match=rf"{WHY} .*theirs.*denied"):
            surveyor.needed(TABLE, [path], recheck=True)

        assert surveyor.needed(TABLE, [path], recheck=True).keys() == {path}


def test_a_catalog_that_does_not_answer_stops_it_and_is_named(second, table, surveyor):
    (second.folder / "catalog.db").unlink()

    with pytest.raises(CatalogError, match=rf"{WHY} Catalog second"):
        surveyor.needed(TABLE, ["s3://b/x"])
    with pytest.raises(CatalogError, match=rf"{WHY} Catalog second"):
        surveyor.other_registration(TABLE, "u")


def test_a_table_that_is_dropped_while_tables_are_read_is_no_trouble(lake, table, catalogs):
    lake.create("db2.short", SCHEMA)
    surveyor, load = CatalogSurveyor(catalogs, lambda: NOW), catalogs.load

    def drop_first(ref):
        if ref.name == "short":
            lake.catalog.drop_table("db2.short")
        return load(ref)

    catalogs.load = drop_first
    assert surveyor.needed(TABLE, ["s3://b/x"]) == {}


def test_what_is_listed_and_is_no_iceberg_table_stops_it_and_is_named(lake, table, catalogs):
    surveyor = CatalogSurveyor(catalogs, lambda: NOW)
    listed, locations = catalogs.with_locations()
    listed.append(TABLE.sibling("hive"))
    catalogs.with_locations = lambda: (listed, locations)
    catalogs.tables = lambda pattern: listed

    with pytest.raises(TableNotFound, match=rf"{WHY} Table lake\.db\.hive") as caught:
        surveyor.needed(TABLE, ["s3://b/x"])
    assert "no Iceberg table" in caught.value.next_step


def test_many_may_ask_at_once(lake, table, surveyor):
    for number in range(6):
        other = lake.create(f"db2.t{number}", SCHEMA)
        lake.commit(other, Manifest([FileEntry(f"s3://b/{number}")]))
    start = threading.Barrier(4)

    def ask(number):
        start.wait()
        return surveyor.needed(TABLE, [f"s3://b/{number}", "s3://b/x"], recheck=True)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert [set(item) for item in found] == [{f"s3://b/{number}"} for number in range(4)]


def test_homes_behind_links_are_known_by_their_real_folders_too(lake, table, surveyor, tmp_path):
    (tmp_path / "far").symlink_to(local(table.location()))
    local(table.location()).mkdir(parents=True, exist_ok=True)
    place = f"file:{tmp_path}/far/sub"
    lake.create("db2.other", SCHEMA, properties={"write.data.path": place})
    [home] = [home for home in surveyor.locations() if home.table.name == "other"]
    assert home.aliases == (f"file:{local(table.location())}/sub",)


@pytest.fixture(params=["sqlite:///", "sqlite+pysqlite:///"])
def counted(lake, request):
    """Catalogs read from the file, and through pyiceberg, that remember what they load."""
    uri = lake.properties["uri"].replace("sqlite:///", request.param)
    catalogs = Catalogs({lake.name: {**lake.properties, "type": "sql", "uri": uri}})
    catalogs.loads, load = [], catalogs.load
    catalogs.load = lambda ref: catalogs.loads.append(ref.name) or load(ref)
    return catalogs


def test_only_tables_that_changed_are_loaded_again(lake, table, counted):
    others = [lake.create(f"db2.t{number}", SCHEMA) for number in range(4)]
    surveyor = CatalogSurveyor(counted, lambda: NOW)
    for ref in [*counted.tables("*"), *counted.tables("*")]:
        surveyor.locations()
        surveyor.needed(ref, ["s3://b/x"])
        surveyor.needed(ref, ["s3://b/x"], recheck=True)
        surveyor.other_registration(ref, "u", recheck=True)
    assert sorted(counted.loads) == ["events", "t0", "t1", "t2", "t3"]

    counted.loads.clear()
    lake.commit(others[2], Manifest([FileEntry("s3://b/x")]))
    for ref in counted.tables("db.*"):
        assert {str(t) for t in surveyor.needed(ref, ["s3://b/x"], recheck=True).values()} == {
            "lake.db2.t2"
        }
    lake.catalog.drop_table("db2.t2")
    assert surveyor.needed(TABLE, ["s3://b/x"], recheck=True) == {}
    assert counted.loads == ["t2"]


def test_what_is_old_is_loaded_again_even_for_looking(lake, table, counted):
    now = [NOW]
    surveyor = CatalogSurveyor(counted, lambda: now[0])
    for minutes in (0, 9, 11, 20, 22):
        now[0] = NOW + timedelta(minutes=minutes)
        surveyor.locations()
    assert len(counted.loads) == 3


def test_nothing_of_a_catalog_that_lost_all_its_tables_is_remembered(lake, table, catalogs):
    lake.create("db2.short", SCHEMA)
    surveyor, load = CatalogSurveyor(catalogs, lambda: NOW), catalogs.load

    def lose_all(ref):
        loaded = load(TABLE)
        if ref.name == "short":
            for name in ("db.events", "db2.short"):
                lake.catalog.drop_table(name)
            return load(ref)
        return loaded

    catalogs.load = lose_all
    assert surveyor.locations() == []


def test_tables_that_come_and_go_by_the_dozen_leave_nothing_behind(
    lake, table, surveyor, monkeypatch
):
    monkeypatch.setattr(references, "MAX_APART", 1)
    for number in range(3):
        other = lake.create(f"db2.t{number}", SCHEMA)
        lake.commit(other, Manifest([FileEntry("s3://b/all")]))
    assert surveyor.needed(TABLE, ["s3://b/all"], recheck=True)
    for number in range(3):
        assert surveyor.needed(TABLE, ["s3://b/all"], recheck=True)
        lake.catalog.drop_table(f"db2.t{number}")
    assert surveyor.needed(TABLE, ["s3://b/all"], recheck=True) == {}
    index = surveyor._references
    assert len(index._sorted) <= 1
    assert [list(index._keys), index._lists, index._manifests] == [[TABLE], {}, {}]


def test_a_table_is_not_stopped_by_its_own_broken_manifest_where_others_are_asked(
    lake, table, surveyor
):
    lake.commit(table, Manifest([FileEntry("s3://b/f")]))
    [listed] = table.current_snapshot().manifests(table.io)
    local(listed.manifest_path).unlink()
    other = lake.create("db2.other", SCHEMA)
    lake.commit(other, Manifest([FileEntry("s3://b/x")]))
    assert surveyor.needed(TABLE, ["s3://b/x"]).keys() == {"s3://b/x"}
    for ref, recheck in ((TableRef("lake", ("db2",), "other"), False), (TABLE, True)):
        with pytest.raises(TableUnreadable, match=r"lake\.db\.events"):
            surveyor.needed(ref, ["s3://b/x"], recheck=recheck)


def put_another_there(lake, table, path):
    lake.catalog.rename_table("db.events", "db.away")
    other = lake.create("db.events", SCHEMA)
    lake.commit(other, Manifest([FileEntry(path)]))


def bring_another_state_back(lake, table, path):
    lake.catalog.register_table("db.kept", table.metadata_location)
    kept = lake.catalog.load_table("db.kept")
    lake.commit(kept, Manifest([FileEntry(path)]))
    for name in ("db.kept", "db.events"):
        lake.catalog.drop_table(name)
    lake.catalog.register_table("db.events", kept.metadata_location)


def add_the_file_again(lake, table, path):
    lake.commit(table, Manifest([FileEntry(path)]))


@pytest.mark.parametrize(
    "change", [put_another_there, bring_another_state_back, add_the_file_again]
)
def test_whatever_has_the_tables_name_when_files_are_deleted_is_asked_too(
    lake, table, surveyor, change
):
    """A table may be renamed, replaced or taken back after its own files were looked at."""
    path = put(table, "freed.parquet")
    lake.commit(table, Manifest([FileEntry("s3://b/f")]))
    assert surveyor.needed(TABLE, [path], recheck=True) == {}

    change(lake, table, path)

    assert surveyor.needed(TABLE, [path], recheck=True) == {path: TABLE}


@pytest.mark.parametrize("recheck", [False, True])
def test_a_question_reads_each_database_once(table, surveyor, catalogs, monkeypatch, recheck):
    surveyor.needed(TABLE, ["s3://b/f"])
    read, threads = [], []
    entries = EmbeddedCatalog.entries
    monkeypatch.setattr(EmbeddedCatalog, "entries", lambda self: read.append(self) or entries(self))
    monkeypatch.setattr(threading.Thread, "start", lambda self: threads.append(self))

    surveyor.needed(TABLE, ["s3://b/f"], recheck=recheck)

    assert (len(read), threads) == (len(catalogs.names), [])
