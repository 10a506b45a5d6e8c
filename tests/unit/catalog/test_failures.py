"""Whatever is wrong below, the user gets one sentence and a next step."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from neve.catalog.connect import Catalogs
from neve.catalog.errors import table_errors
from neve.model.errors import (
    CatalogError,
    ConfigError,
    NeveError,
    TableNotFound,
    TableUnreadable,
)
from neve.model.table import TableRef
from neve.testing.local_lake import FileEntry, Manifest

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "day", StringType(), required=False),
)
DAILY = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"))


@pytest.fixture
def table(lake):
    made = lake.create("db.events", SCHEMA, DAILY)
    lake.commit(made, Manifest([FileEntry("a", ("mon",)), FileEntry("b", ("tue",))]))
    return made


def local(url):
    return Path(urlsplit(url).path)


def metadata_file(table):
    return local(table.metadata_location)


def manifest_list(table):
    return local(table.current_snapshot().manifest_list)


def manifest(table):
    return local(table.current_snapshot().manifests(table.io)[0].manifest_path)


def assert_explained(error, kind, subject):
    assert type(error) is kind
    assert error.message.startswith(subject)
    assert "\n" not in error.message
    assert error.next_step


@pytest.mark.parametrize("name", ["db.nothing", "nowhere.events", "db.`it's; --`"])
def test_a_table_that_does_not_exist(table, survey, name):
    with pytest.raises(NeveError) as refusal:
        survey(name)

    assert_explained(refusal.value, TableNotFound, "There is no table lake.")
    assert refusal.value.next_step == "List tables: neve tables 'lake.*'"


@pytest.mark.parametrize("victim", [metadata_file, manifest_list, manifest])
@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("{not json"),
        lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3]),
        lambda path: path.write_bytes(bytes(100)),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["missing", "empty", "text", "cut", "zeros", "folder"],
)
def test_metadata_that_is_missing_or_damaged(table, survey, victim, damage):
    damage(victim(table))

    with pytest.raises(NeveError) as refusal:
        survey()

    assert_explained(
        refusal.value, TableUnreadable, "The metadata of table lake.db.events cannot be read: "
    )


@pytest.mark.parametrize("text", ["{}", "[]", "null", '{"format-version": 9}', "\ud7ff"])
def test_metadata_of_another_shape(table, survey, text):
    metadata_file(table).write_text(text)

    with pytest.raises(TableUnreadable):
        survey()


def test_a_warehouse_that_is_gone(lake, table, survey):
    shutil.rmtree(lake.folder / "warehouse")

    with pytest.raises(NeveError) as refusal:
        survey()

    assert_explained(refusal.value, TableUnreadable, "The metadata of table lake.db.events")


@pytest.mark.parametrize("victim", [manifest_list, manifest])
def test_a_manifest_that_is_cut_anywhere_is_never_a_smaller_table(table, survey, victim):
    path, whole = victim(table), victim(table).read_bytes()

    for length in range(0, len(whole), 41):
        path.write_bytes(whole[:length])
        with pytest.raises(TableUnreadable):
            survey()


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_catalog_that_does_not_answer():
    port = closed_port()
    catalogs = Catalogs({"rest": {"type": "rest", "uri": f"http://127.0.0.1:{port}"}})
    said = f"Catalog rest cannot be reached: 127.0.0.1:{port}: Failed to establish a new connection"

    for ask in (lambda: catalogs.tables("*"), lambda: catalogs.load(catalogs.parse("db.events"))):
        with pytest.raises(NeveError) as refusal:
            ask()
        assert_explained(refusal.value, CatalogError, said)


@pytest.mark.parametrize(
    "said",
    [
        "AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7, Could not connect",
        "google::cloud::Status(UNAVAILABLE: Retry policy exhausted)",
        "[Errno 110] Operation timed out",
    ],
)
def test_a_storage_that_is_down_is_no_damage_of_the_table(said):
    with pytest.raises(CatalogError) as refusal, table_errors(TableRef("lake", ("db",), "t")):
        raise OSError(f"When reading information for key 'm.avro': {said}")

    assert_explained(
        refusal.value, CatalogError, "The storage of table lake.db.t cannot be reached: "
    )
    assert type(refusal.value) is CatalogError


@pytest.mark.parametrize("said", ["ACCESS_DENIED", "SIGNATURE_DOES_NOT_MATCH"])
def test_a_storage_that_takes_no_keys_is_no_damage_of_the_table(said):
    with pytest.raises(CatalogError) as refusal, table_errors(TableRef("lake", ("db",), "t")):
        raise OSError(f"When reading information for key 'm.avro': AWS Error {said}: No body.")

    assert_explained(refusal.value, CatalogError, "The storage of table lake.db.t refuses access: ")
    assert type(refusal.value) is CatalogError
    assert "neve doctor" in refusal.value.next_step


def test_a_slip_in_the_type_of_a_catalog_gets_a_guess():
    catalogs = Catalogs({"lake": {"type": "rst", "uri": "http://127.0.0.1:1"}})

    with pytest.raises(ConfigError, match="is said to be of type 'rst', which there is not") as no:
        catalogs.tables("*")

    assert no.value.next_step == "Did you mean rest? Change catalogs.lake.type in neve.yaml."


@pytest.mark.parametrize(
    "make", [lambda path: path.write_text("no database" * 100), lambda path: path.mkdir()]
)
def test_a_path_that_is_no_database(make):
    make(Path("catalog.db"))
    catalogs = Catalogs({"lake": {"type": "sql", "uri": f"sqlite:///{Path.cwd()}/catalog.db"}})

    with pytest.raises(NeveError) as refusal:
        catalogs.tables("*")

    assert_explained(refusal.value, CatalogError, "Catalog lake cannot be reached: ")


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"type": "sql"},
        {"type": "rest"},
        {"type": "nessie"},
        {"type": "nonsense", "uri": "http://127.0.0.1"},
        {"uri": "gopher://host"},
        {"type": "sql", "uri": "mysql://nobody@127.0.0.1/db"},
        {"type": "sql", "uri": "sqlite:///" + "x" * 300},
        {"type": "sql", "uri": "not a url"},
        {"py-catalog-impl": "nowhere.Nothing"},
    ],
    ids=str,
)
def test_a_catalog_that_is_configured_wrongly(properties):
    catalogs = Catalogs({"lake": properties})

    with pytest.raises(NeveError) as refusal:
        catalogs.tables("*")

    assert refusal.value.message.startswith("Catalog lake ")
    assert "\n" not in refusal.value.message
    assert refusal.value.next_step


def test_a_metadata_file_that_cannot_be_opened(table, survey):
    # A folder of its name: permissions would not stop root.
    metadata_file(table).unlink()
    metadata_file(table).mkdir()

    with pytest.raises(TableUnreadable):
        survey()
