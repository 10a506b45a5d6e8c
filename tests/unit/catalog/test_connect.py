from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from neve.catalog.connect import Catalogs, pyiceberg_properties
from neve.model.errors import CatalogError, ConfigError, InputError
from neve.model.table import TableRef
from neve.spark.conf import catalog_conf
from neve.testing.local_lake import LocalLake

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))


def ref(text):
    catalog, *namespace, name = text.split(".")
    return TableRef(catalog, tuple(namespace), name)


@pytest.fixture(scope="module")
def configured(tmp_path_factory):
    """Tables at several depths in two catalogs."""
    folder = tmp_path_factory.mktemp("lakes")
    lake, other = LocalLake(folder / "one"), LocalLake(folder / "two", "other")
    for name in ("db.events", "db.users", "db.raw.events", "db.raw.deep.events", "x.events"):
        lake.create(name, SCHEMA)
    lake.catalog.create_namespace("empty")
    other.create("db.events", SCHEMA)
    return {"lake": lake.properties, "other": other.properties}


@pytest.fixture
def two_lakes(configured):
    return Catalogs(configured, "lake")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (
            "*",
            "lake.db.events lake.db.users lake.db.raw.events lake.db.raw.deep.events "
            "lake.x.events other.db.events",
        ),
        ("db.users*", "lake.db.users"),
        ("?.events", "lake.x.events"),
        ("[dx]*.events", "lake.db.events lake.db.raw.events lake.db.raw.deep.events lake.x.events"),
        ("lake.db.raw.*", "lake.db.raw.events lake.db.raw.deep.events"),
        ("other.*", "other.db.events"),
        ("*.users", "lake.db.users"),
        ("nothing.*", ""),
        ("db.[", ""),
    ],
)
def test_a_glob_matches_full_names_and_names_in_the_default_catalog(two_lakes, pattern, expected):
    assert two_lakes.tables(pattern) == [ref(name) for name in expected.split()]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("db.events", "lake.db.events"),
        ("other.db.events", "other.db.events"),
        ("lake.db.raw.events", "lake.db.raw.events"),
    ],
)
def test_a_name_without_a_glob_is_taken_as_it_is(two_lakes, name, expected):
    assert two_lakes.tables(name) == [ref(expected)]


def test_a_pattern_that_names_a_catalog_asks_no_other(tmp_path):
    lake = LocalLake(tmp_path / "lake")
    lake.create("db.events", SCHEMA)
    down = {"type": "sql", "uri": "sqlite:////nowhere/catalog.db"}

    catalogs = Catalogs({"lake": lake.properties, "down": down})

    assert catalogs.tables("lake.*") == [ref("lake.db.events")]
    with pytest.raises(CatalogError, match="Catalog down has no database yet"):
        catalogs.tables("*")


def test_namespaces_are_listed(two_lakes):
    assert ("empty",) in two_lakes.namespaces("lake")
    assert two_lakes.namespaces("other") == [("db",)]


@pytest.mark.parametrize("name", ["events", "nocatalog.db.events", "db.events; DROP TABLE x", ""])
def test_a_name_that_is_no_table_is_refused(two_lakes, name):
    with pytest.raises(InputError):
        two_lakes.tables(name)


def test_the_first_catalog_is_the_default():
    catalogs = Catalogs({"b": {"uri": "http://b"}, "a": {"uri": "http://a"}})

    assert (catalogs.default, catalogs.names) == ("b", ["b", "a"])
    assert catalogs.properties("a") == {"uri": "http://a"}


def test_a_default_that_is_not_configured_is_refused():
    with pytest.raises(ConfigError, match="default_catalog names 'c', which is not configured"):
        Catalogs({"a": {"uri": "http://a"}}, "c")


def test_no_catalog_at_all_is_refused():
    with pytest.raises(ConfigError, match="No catalog is configured"):
        Catalogs({})


def home_file(text):
    path = Path("home") / ".pyiceberg.yaml"
    path.parent.mkdir()
    path.write_text(text)


def test_catalogs_of_the_home_file_stand_behind_the_configured_ones(tmp_path):
    lake = LocalLake(tmp_path / "lake", "home_lake")
    lake.create("db.events", SCHEMA)
    home_file(
        f"catalog:\n  home_lake:\n    uri: {lake.properties['uri']}\n"
        "  both:\n    uri: http://home\n"
    )

    catalogs = Catalogs({"both": {"uri": "http://configured"}})

    assert (catalogs.names, catalogs.default) == (["both", "home_lake"], "both")
    assert catalogs.properties("both") == {"uri": "http://configured"}
    assert catalogs.tables("home_lake.*") == [ref("home_lake.db.events")]


def test_the_home_file_alone_is_enough():
    home_file("catalog:\n  only:\n    uri: http://home\n")

    assert Catalogs({}).default == "only"


@pytest.mark.parametrize("text", ["catalog: [", "catalog:\n  - a\n", "catalog: text\n"])
def test_a_home_file_that_makes_no_sense_is_explained(text):
    home_file(text)

    with pytest.raises(ConfigError, match=r"\.pyiceberg\.yaml"):
        Catalogs({"a": {"uri": "http://a"}})


def test_a_relative_database_of_the_home_file_is_found(tmp_path):
    LocalLake(tmp_path / "lake").create("db.events", SCHEMA)
    home_file("catalog:\n  lake:\n    uri: sqlite:///lake/catalog.db\n")

    assert Catalogs({}).tables("*") == [ref("lake.db.events")]


def test_a_path_means_what_is_written_for_whoever_opens_the_database(tmp_path):
    """SQLAlchemy alone would take `%41` for `A`."""
    folder = tmp_path / "50%41 %25"
    folder.mkdir()
    properties = {"type": "sql", "uri": f"sqlite:///{folder}/c.db", "warehouse": str(folder)}
    catalogs = Catalogs({"lake": properties})

    catalogs.writable("lake").create_namespace("db")

    assert (folder / "c.db").is_file()
    assert catalogs.namespaces("lake") == [("db",)]
    assert catalog_conf("lake", properties)["spark.sql.catalog.lake.uri"].endswith(
        f"jdbc:sqlite:{folder}/c.db"
    )


def test_a_path_that_was_written_for_pyiceberg_is_read_as_pyiceberg_does(tmp_path):
    LocalLake(tmp_path / "50% a").create("db.events", SCHEMA)
    home_file(f"catalog:\n  lake:\n    uri: sqlite:///{tmp_path}/50%25%20a/catalog.db\n")
    catalogs = Catalogs({})

    assert catalogs.tables("*") == [ref("lake.db.events")]
    assert catalogs.writable("lake").list_tables("db") == [("db", "events")]


def test_looking_makes_no_database():
    with pytest.raises(CatalogError, match="does not exist") as error:
        Catalogs({"lake": {"type": "sql", "uri": "sqlite:///new.db"}}).tables("*")

    assert "neve demo" in error.value.next_step
    assert not Path("new.db").exists()


def test_a_database_without_tables_is_an_empty_catalog():
    Path("new.db").touch()

    assert (
        Catalogs({"lake": {"type": "sql", "uri": f"sqlite:///{Path.cwd()}/new.db"}}).tables() == []
    )


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"type": "rest", "uri": "http://c"}, {"type": "rest", "uri": "http://c"}),
        ({"type": "nessie", "uri": "http://c/"}, {"type": "rest", "uri": "http://c/iceberg"}),
        (
            {"type": "nessie", "uri": "http://c/iceberg/main"},
            {"type": "rest", "uri": "http://c/iceberg/main"},
        ),
    ],
)
def test_nessie_is_a_rest_catalog(properties, expected):
    assert pyiceberg_properties(properties) == expected


def test_no_setting_hides_snapshots_that_no_ref_points_to():
    catalogs = Catalogs({"memory": {"type": "in-memory", "snapshot-loading-mode": "refs"}})

    assert catalogs.catalog("memory").properties["snapshot-loading-mode"] == "all"


def test_only_embedded_catalogs_are_opened_ahead(configured, monkeypatch):
    opened = []
    away = {"type": "rest", "uri": "http://127.0.0.1:1"}
    catalogs = Catalogs({**configured, "away": away}, "lake")
    open_one = catalogs._load_catalog
    monkeypatch.setattr(
        catalogs, "_load_catalog", lambda name: opened.append(name) or open_one(name)
    )

    catalogs.open_ahead()
    for thread in threading.enumerate():
        if thread.name == "neve-catalogs":
            thread.join()

    assert opened == ["lake", "other"]
    catalogs.writable("lake")
    assert opened == ["lake", "other"]


def test_what_cannot_be_opened_ahead_is_told_to_whoever_commits(configured, monkeypatch):
    catalogs = Catalogs(configured, "lake")

    def fail(name):
        raise CatalogError(f"Catalog {name} is broken.")

    monkeypatch.setattr(catalogs, "_load_catalog", fail)

    catalogs._open_embedded()

    with pytest.raises(CatalogError, match="lake is broken"):
        catalogs.writable("lake")
