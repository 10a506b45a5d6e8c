from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from neve.model.operation import Operation
from neve.settings import load_settings

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
pytestmark = [pytest.mark.promise(26), pytest.mark.usefixtures("no_engine")]
EXAMPLE = Path(__file__).parents[3] / "neve.example.yaml"
CATALOG = """
catalogs:
  lake: {type: sql, uri: "sqlite:///.neve/catalog.db", warehouse: ".neve/warehouse"}
"""
POLICIES = """
compaction: {target_file_size: 64MB}
policies:
  - name: base
    match: {tables: "*"}
    schedule: "0 3 * * *"
    operations: {expire_snapshots: {older_than: 7d}}
  - name: gold
    match: {tag: gold}
    priority: 5
    operations: {expire_snapshots: {older_than: 30d}}
"""


def configure(text):
    Path("neve.yaml").write_text(CATALOG + text)


@pytest.fixture
def table(lake):
    configure(POLICIES)
    properties = {"neve.tags": "gold", "neve.expire_snapshots.retain_last": "9"}
    return lake.create("db.gold", SCHEMA, properties=properties)


def test_a_policy_is_explained_with_the_place_of_every_value(run_json, table):
    document, code = run_json("policy", "explain", "db.gold", "--set", "budget.max_seconds=60")

    sources = {item["key"]: (item["value"], item["source"]) for item in document["settings"]}
    assert code == 0
    assert sources["expire_snapshots.older_than"] == (30 * 86400, "policy 'gold' (neve.yaml)")
    assert sources["expire_snapshots.retain_last"] == (
        9,
        "table property neve.expire_snapshots.retain_last",
    )
    assert sources["rewrite_data_files.options.target-file-size-bytes"] == (
        64 * 1024**2,
        "compaction.target_file_size (neve.yaml)",
    )
    assert sources["budget.max_seconds"] == (60, "command line")
    assert sources["rewrite_manifests.enabled"] == (True, "default")
    assert document["policies"] == [
        {"name": "base", "priority": 0, "matches": True, "reason": "matches"},
        {"name": "gold", "priority": 5, "matches": True, "reason": "matches"},
    ]
    assert (document["is_due"], document["in_window"], document["last_run"]) == (True, True, None)
    assert str(Operation.EXPIRE_SNAPSHOTS) in document["operations"]


def test_people_get_a_policy_as_a_table(run, table):
    text = run("policy", "explain", "lake.db.gold").stdout

    assert re.search(r"expire_snapshots.older_than +30d +policy 'gold' \(neve.yaml\)", text)
    assert "due now, last run never, next run " in text


def test_a_table_that_is_left_alone_has_no_next_run(run, lake):
    lake.create("db.t", SCHEMA, properties={"neve.enabled": "false"})

    text = run("policy", "explain", "db.t").stdout

    assert "left alone" in text
    assert "No policies are configured." in text
    assert "there is no next run" in text


def test_without_a_schedule_no_next_run_is_promised(run, lake):
    lake.create("db.t", SCHEMA)

    text = run("policy", "explain", "db.t").stdout

    assert "no schedule, so maintain --due leaves it out; last run never" in text


def test_a_typing_error_in_a_property_hurts_only_its_own_table(run, run_json, lake, table):
    lake.create("db.bad", SCHEMA, properties={"neve.expire_snapshot.older_than": "1d"})

    document, code = run_json("policy", "explain", "db.bad")

    assert code == 1
    assert "neve.expire_snapshots.older_than" in document["error"]["next_step"]
    assert run("policy", "explain", "db.gold").exit_code == 0
    assert run("policy", "list").exit_code == 0
    assert run("tables").exit_code == 0


def test_a_filter_of_a_policy_is_checked(run_json, lake):
    lake.create("db.t", SCHEMA, properties={"neve.rewrite_data_files.where": "id = = 1"})

    document, code = run_json("policy", "explain", "db.t")

    assert (code, document["error"]["type"]) == (1, "FilterError")


def test_policies_are_listed_with_their_tables(run, run_json, lake, table):
    lake.create("db.other", SCHEMA)

    document, code = run_json("policy", "list")

    assert code == 0
    assert [(item["name"], item["tables"]) for item in document] == [
        ("base", ["lake.db.gold", "lake.db.other"]),
        ("gold", ["lake.db.gold"]),
    ]
    assert re.search(r"gold +5 +1 +expire_snapshots", run("policy", "list").stdout)


def test_without_policies_none_are_listed(run, lake):
    assert run("policy", "list").stdout == "No policies are configured.\n"


def test_a_typing_error_in_the_file_is_an_error_of_every_command(run_json, lake):
    configure("policies: [{name: a, operations: {expire_snapshots: {older_then: 7d}}}]")

    document, code = run_json("tables")

    assert code == 1
    assert document["error"] == {
        "type": "ConfigError",
        "message": "Policy 'a' is wrong at operations.expire_snapshots.older_then: "
        "There is no argument 'expire_snapshots.older_then'.",
        "next_step": "Did you mean expire_snapshots.older_than?",
    }


@pytest.mark.parametrize("pair", ["a", "expire_snapshots.older_than=soon", "x=1"])
def test_a_bad_value_on_the_command_line_is_an_error(run_json, table, pair):
    assert run_json("policy", "explain", "db.gold", "--set", pair)[1] == 1


POLARIS = json.dumps(
    {"enable": True, "config": {"max_snapshot_age_days": 2, "max_ref_age_days": 3}}
)
AMORO = "# Amoro\n'self-optimizing.target-size' = '1048576',\nself-optimizing.quota=0.1\n"
AMORO_YAML = "self-optimizing.target-size: 1048576\nself-optimizing.quota: 0.1\n"


@pytest.mark.parametrize(
    ("text", "key", "value", "left"),
    [
        (POLARIS, "expire_snapshots.older_than", 2 * 86400, "max_ref_age_days=3"),
        (AMORO, "rewrite_data_files.options.target-file-size-bytes", 1048576, "quota"),
        (AMORO_YAML, "rewrite_data_files.options.target-file-size-bytes", 1048576, "quota"),
    ],
)
def test_what_is_imported_can_be_used_as_configuration(run, text, key, value, left):
    Path("theirs").write_text(text)

    printed = run("policy", "import", "theirs", "--tables", "lake.*").stdout
    configure(printed)

    rule = load_settings(environ={}).policies[0]
    assert rule.values[key] == value
    assert rule.match.tables == ("lake.*",)
    assert re.search(rf"# Not carried over: .*{left}", printed)


def test_an_import_is_a_document_for_programs(run_json):
    Path("theirs").write_text(AMORO)

    document, code = run_json("policy", "import", "theirs")

    assert code == 0
    assert document["source"] == "Apache Amoro"
    assert len(document["not_carried_over"]) == 1
    assert document["policies"][0]["name"] == "amoro"


@pytest.mark.parametrize("text", [None, "{", "a: b: c", "", "a=1"])
def test_a_file_that_holds_no_policy_is_refused(run_json, text):
    if text is not None:
        Path("theirs").write_text(text)

    document, code = run_json("policy", "import", "theirs")

    assert (code, document["error"]["type"]) == (1, "InputError")


def test_the_example_of_the_documentation_is_a_configuration_that_works():
    lines = EXAMPLE.read_text().splitlines()
    first = lines.index("# policies:")
    example = "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines[first:])
    assert yaml.safe_load(example).keys() == {"policies", "import_amoro"}
    configure(example)

    settings = load_settings(environ={})

    assert [rule.name for rule in settings.policies] == ["everything", "gold"]
    assert settings.import_amoro
    assert settings.policy_book().default_catalog == "lake"


def test_general_sections_are_below_policies_and_turn_nothing_on(run_json, lake):
    configure("orphans: {older_than: 4d, purge_delay_hours: 48, max_orphan_ratio: 0.1}")
    lake.create("db.t", SCHEMA)

    document, _ = run_json("policy", "explain", "db.t")

    assert document["remove_orphan_files"] == {
        "older_than_seconds": 4 * 86400,
        "purge_delay_seconds": 2 * 86400,
        "max_orphan_ratio": 0.1,
    }
    assert str(Operation.REMOVE_ORPHAN_FILES) not in document["operations"]
    sources = {item["key"]: item["source"] for item in document["settings"]}
    assert sources["remove_orphan_files.older_than"] == "orphans.older_than (neve.yaml)"
