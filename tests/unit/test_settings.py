from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema

from neve.model.errors import ConfigError, InputError
from neve.settings import absolute_sqlite_url, expand_variables, load_settings


def write(text, name="neve.yaml"):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_without_a_file_the_embedded_lakehouse_is_used():
    settings = load_settings(environ={})

    here = Path.cwd()
    assert settings.catalogs == {
        "lake": {
            "type": "sql",
            "uri": f"sqlite:///{here}/.neve/catalog.db",
            "warehouse": f"file://{here}/.neve/warehouse",
        }
    }
    assert settings.state.url == f"sqlite:///{here}/.neve/state.db"
    assert settings.spark.master == "local[*]"


def test_a_file_is_found_by_option_then_variable_then_folder():
    write("spark: {master: folder}")
    named = write("spark: {master: named}", "named.yaml")
    explicit = write("spark: {master: explicit}", "explicit.yaml")

    assert load_settings(environ={}).spark.master == "folder"
    assert load_settings(environ={"NEVE_CONFIG": named}).spark.master == "named"
    assert load_settings(explicit, environ={"NEVE_CONFIG": named}).spark.master == "explicit"


def test_paths_are_relative_to_the_file():
    path = write("catalogs: {c: {type: sql, uri: 'sqlite:///c.db', warehouse: wh}}", "etc/n.yaml")

    settings = load_settings(path, environ={})

    here = Path.cwd()
    assert settings.catalogs["c"]["uri"] == f"sqlite:///{here}/etc/c.db"
    assert settings.catalogs["c"]["warehouse"] == f"file://{here}/etc/wh"


@pytest.mark.parametrize("folder", ["a b", "ünï", "50% off", "a%20b", "a;b"])
def test_a_warehouse_lies_in_the_folder_that_is_named_however_that_is_spelled(folder):
    """Iceberg takes no location for an escaped one: it would make a folder called so."""
    path = write(
        "catalogs: {c: {type: sql, uri: 'sqlite:///c.db', warehouse: wh}}", f"{folder}/n.yaml"
    )
    here, location = Path.cwd(), load_settings(path, environ={}).catalogs["c"]["warehouse"]
    catalog = load_catalog("c", type="sql", uri="sqlite:///:memory:", warehouse=location)
    catalog.create_namespace("db")
    catalog.create_table("db.t", Schema())

    assert location == f"file://{here}/{folder}/wh"
    assert (here / folder / "wh" / "db" / "t" / "metadata").is_dir()


def test_a_warehouse_that_is_a_name_stays_a_name():
    write("catalogs: {c: {type: rest, uri: 'http://localhost:1', warehouse: prod}}")

    assert load_settings(environ={}).catalogs["c"]["warehouse"] == "prod"


def test_the_environment_overrides_single_values(monkeypatch):
    monkeypatch.setenv("NEVE_SPARK__MASTER", "local[1]")
    write("spark: {master: 'local[8]', conf: {a: 1, b: true}}")

    settings = load_settings(environ={})

    assert settings.spark.master == "local[1]"
    assert settings.spark.conf == {"a": "1", "b": "true"}


@pytest.mark.parametrize(
    ("text", "environ", "expected"),
    [
        ("${A}", {"A": "x"}, "x"),
        ("<${A}>", {"A": ""}, "<>"),
        ("${A:-d}", {}, "d"),
        ("${A:-d}", {"A": ""}, "d"),
        ("${A:-}", {}, ""),
        ("${A:?say}", {"A": "x"}, "x"),
        ("$A ${1} {A}", {}, "$A ${1} {A}"),
    ],
)
def test_variables_are_expanded(text, environ, expected):
    assert expand_variables({"k": [text]}, environ) == {"k": [expected]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${A}", "needs the environment variable A."),
        ("${A:?the catalog's address}", "variable A: the catalog's address."),
    ],
)
def test_missing_variables_are_named(text, message):
    with pytest.raises(ConfigError, match="needs the environment variable") as error:
        expand_variables(text, {})

    assert error.value.message.endswith(message)


def test_a_variable_cannot_change_the_structure():
    write("spark: {master: '${M}'}")

    settings = load_settings(environ={"M": "x}\nstate: {url: y"})

    assert settings.spark.master == "x}\nstate: {url: y"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sparc: {}", "unknown key: sparc"),
        ("spark: {mister: x}", "unknown key: spark.mister"),
        ("state: {lease_seconds: soon}", "wrong at state.lease_seconds"),
        ("catalogs: [a]", "wrong at catalogs"),
        ("- a", "must hold a mapping"),
        ("a: b: c", "is not YAML, line 1"),
    ],
)
def test_mistakes_are_explained(text, message):
    write(text)

    with pytest.raises(ConfigError) as error:
        load_settings(environ={})

    assert message in error.value.message


def test_unknown_keys_come_with_the_known_ones():
    write("spark: {mister: x}")

    with pytest.raises(ConfigError) as error:
        load_settings(environ={})

    assert error.value.next_step == "Did you mean master?"


def test_a_file_that_does_not_exist_is_named():
    with pytest.raises(ConfigError, match=r"nowhere\.yaml does not exist"):
        load_settings("nowhere.yaml", environ={})


def test_a_policy_follows_from_the_settings():
    write("compaction: {target_file_size: 1GB, undo_window_days: 1}")

    policy = load_settings(environ={}).compaction.policy()

    assert (policy.target_file_size_bytes, policy.undo_window_seconds) == (1024**3, 86400)
    with pytest.raises(InputError):
        load_settings(environ={}).compaction.model_copy(update={"target_file_size": "0MB"}).policy()


def test_other_databases_are_left_as_they_are():
    assert absolute_sqlite_url("postgresql://h/db", Path("/x")) == "postgresql://h/db"
    assert absolute_sqlite_url("sqlite:///a.db?mode=ro", Path("/x")) == "sqlite:////x/a.db?mode=ro"
