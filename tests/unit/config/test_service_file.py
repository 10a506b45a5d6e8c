"""The file of a compaction service is taken as it is, or refused with the place and the reason."""

from __future__ import annotations

import pytest

from neve.model.errors import ConfigError
from neve.model.table import TableRef
from neve.policy.effective import show_value
from neve.policy.resolve import resolve
from neve.settings import Settings

SOURCES = (
    "schedule",
    "rewrite_data_files.strategy",
    "rewrite_data_files.where",
    "rewrite_data_files.options.target-file-size-bytes",
    "rewrite_data_files.options.min-file-size-bytes",
    "rewrite_data_files.min_file_size_ratio",
    "rewrite_data_files.delete_file_ratio",
    "budget.max_cost_usd",
)


def explained(settings, name="analytics.events"):
    """What a table gets of all that the file sets, and from where."""
    catalog, namespace, table = ("default", *name.split("."))
    policy = resolve(settings.policy_book(), TableRef(catalog, (namespace,), table), {})
    return {
        setting.key: (show_value(setting), setting.source.removesuffix(" (neve.yaml)"))
        for setting in policy.settings
        if setting.key in SOURCES and setting.source != "default"
    }


def test_every_section_becomes_a_setting(load):
    settings = load()

    assert settings.catalogs == {
        "default": {
            "type": "rest",
            "uri": "http://catalog:8181",
            "s3.region": "us-east-1",
            "warehouse": "s3://lakehouse",
        }
    }
    assert (settings.server.host, settings.server.port) == ("0.0.0.0", 8080)
    assert settings.scheduler.enabled
    assert settings.maintain.parallel_tables == 4


@pytest.mark.promise(26)
def test_a_table_with_a_strategy_of_its_own_says_where_each_value_comes_from(load):
    assert explained(load(), "analytics.events") == {
        "schedule": ("*/30 * * * *", "tables[0].schedule"),
        "rewrite_data_files.strategy": ("time_series", "tables[0].strategy"),
        "rewrite_data_files.where": (
            "date >= current_date - 7",
            "tables[0].options.partition_filter",
        ),
        "rewrite_data_files.options.target-file-size-bytes": (
            "512.0 MB",
            "tables[0].options.target_file_size",
        ),
    }


@pytest.mark.promise(26)
def test_a_table_gets_what_its_strategy_is_told(load):
    small = "compaction.strategies.small_files"
    assert explained(load(), "analytics.dimensions") == {
        "schedule": ("0 2 * * *", "tables[1].schedule"),
        "rewrite_data_files.strategy": ("small_files", "tables[1].strategy"),
        "rewrite_data_files.options.target-file-size-bytes": (
            "1.0 GB",
            "tables[1].options.target_file_size",
        ),
        "rewrite_data_files.options.min-file-size-bytes": ("32.0 MB", f"{small}.threshold"),
    }


@pytest.mark.promise(26)
def test_other_tables_get_all_strategies_that_are_enabled(load):
    small, deletes = "compaction.strategies.small_files", "compaction.strategies.delete_files"
    assert explained(load(), "analytics.orders") == {
        "schedule": ("0 */6 * * *", "scheduler.default_schedule"),
        "rewrite_data_files.strategy": ("auto", "compaction.strategies"),
        "rewrite_data_files.options.target-file-size-bytes": ("1.0 GB", f"{small}.target_size"),
        "rewrite_data_files.options.min-file-size-bytes": ("32.0 MB", f"{small}.threshold"),
        "rewrite_data_files.delete_file_ratio": ("0.1", f"{deletes}.fragment_ratio_threshold"),
    }


@pytest.mark.parametrize(
    ("strategies", "expected"),
    [
        ({"small_files": {}}, "small_files"),
        ({"delete_files": {"enabled": "true"}}, "delete_files"),
        ({"small_files": {"enabled": False}, "delete_files": {}}, "delete_files"),
        ({"time_series": {"quiet_seconds": 60}}, "time_series"),
    ],
)
def test_one_enabled_strategy_is_the_strategy(load, strategies, expected):
    settings = load(compaction={"strategies": strategies}, tables=[])

    assert explained(settings)["rewrite_data_files.strategy"][0] == expected


def test_tables_are_not_compacted_where_all_strategies_are_off(load):
    off = {"small_files": {"enabled": False}, "delete_files": {"enabled": False}}
    settings = load(compaction={"strategies": off}, tables=[{"name": "a.b", "strategy": "sort"}])
    book = settings.policy_book()

    def compacts(name):
        policy = resolve(book, TableRef("default", ("a",), name), {})
        return "rewrite_data_files" in {str(item) for item in policy.operations}

    assert not compacts("other")
    assert compacts("b")


@pytest.mark.parametrize(
    ("entry", "matching", "others"),
    [
        ({"name": "events"}, ["default.a.events", "default.a.b.events"], ["x.a.events"]),
        ({"name": "a.events"}, ["default.a.events"], ["default.b.events", "x.a.events"]),
        ({"name": "x.a.events"}, ["x.a.events"], ["default.a.events"]),
        ({"name": "events", "namespace": "a"}, ["default.a.events"], ["default.b.events"]),
        ({"name": "events", "catalog": "x"}, ["x.a.events"], ["default.a.events"]),
    ],
)
def test_a_name_means_the_tables_that_a_person_would_expect(load, entry, matching, others):
    document = {"catalog": {"uri": "http://c"}, "catalogs": {"x": {"uri": "http://x"}}}
    book = load(document, tables=[{**entry, "schedule": "0 1 * * *"}]).policy_book()

    def schedule(name):
        catalog, *namespace, table = name.split(".")
        return resolve(book, TableRef(catalog, tuple(namespace), table), {}).schedule

    assert [schedule(name) for name in matching] == ["0 1 * * *"] * len(matching)
    assert [schedule(name) for name in others] == [None] * len(others)


@pytest.mark.parametrize(
    ("strategy", "options", "strategy_key", "order"),
    [
        ("sort", {"sort_columns": "a,b"}, "sort", "a, b"),
        ("zorder", {"sort_columns": ["a", "b"]}, "sort", "zorder(a, b)"),
        ("sort", {}, "sort", None),
    ],
)
def test_orders_of_rows_are_written_as_policies_know_them(
    load, strategy, options, strategy_key, order
):
    rule = load(tables=[{"name": "a.b", "strategy": strategy, "options": options}]).policies[-1]

    assert rule.values["rewrite_data_files.strategy"] == strategy_key
    assert rule.values.get("rewrite_data_files.sort_order") == order


def test_a_named_table_is_stronger_than_policies_for_many(load):
    policies = [{"name": "all", "priority": 999, "schedule": "1 1 * * *"}]

    settings = load(policies=policies)

    assert explained(settings)["schedule"][1] == "tables[0].schedule"
    assert explained(settings, "a.other")["schedule"][1] == "policy 'all'"


S3 = {"type": "s3", "bucket": "b"}
REST = {"type": "rest", "uri": "http://c"}


@pytest.mark.promise(27)
@pytest.mark.parametrize(
    ("sections", "path", "why"),
    [
        ({"catalog": None}, "catalog", "it says nothing"),
        ({"catalog": "prod"}, "catalog", "keys and values"),
        ({"catalogs": {"default": {"uri": "x"}}}, "catalog", "one called default, too"),
        ({"storage": {"type": "gcs", "bucket": "b"}}, "storage.type", "S3 stores"),
        ({"storage": {"bucket": "b"}}, "storage.type", "not a text"),
        ({"storage": {**S3, "regoin": "x"}}, "storage.regoin", "no key"),
        ({"storage": S3, "catalog": {**REST, "warehouse": "prod"}}, "storage.bucket", "another"),
        (
            {"storage": {**S3, "region": "x"}, "catalog": {**REST, "s3.region": "y"}},
            "storage",
            "s3.region, too",
        ),
        (
            {"compaction": {"strategies": {"smal_files": {}}}},
            "compaction.strategies.smal_files",
            "",
        ),
        (
            {"compaction": {"strategies": {"small_files": {"treshold": "1MB"}}}},
            "compaction.strategies.small_files.treshold",
            "no key",
        ),
        (
            {"compaction": {"strategies": {"small_files": {"threshold": "many"}}}},
            "compaction.strategies.small_files.threshold",
            "",
        ),
        (
            {"compaction": {"strategies": {"delete_files": {"fragment_ratio_threshold": 2}}}},
            "compaction.strategies.delete_files.fragment_ratio_threshold",
            "between 0 and 1",
        ),
        (
            {"compaction": {"strategies": {"small_files": {}, "time_series": {}}}, "tables": []},
            "compaction.strategies",
            "one strategy",
        ),
        (
            {
                "compaction": {
                    "strategies": {
                        "small_files": {"target_size": "1GB"},
                        "delete_files": {"target_size": "2GB"},
                    }
                }
            },
            "compaction.strategies.delete_files.target_size",
            "different targets",
        ),
        (
            {"compaction": {"max_parallelism": 2}, "maintain": {"parallel_tables": 3}},
            "compaction.max_parallelism",
            "another number",
        ),
        ({"tables": {"name": "a"}}, "tables", "a list"),
        ({"tables": ["a"]}, "tables[0]", "keys and values"),
        ({"tables": [{"schedule": "0 1 * * *"}]}, "tables[0]", "no name"),
        ({"tables": [{"name": "a", "shedule": "x"}]}, "tables[0].shedule", "no key"),
        ({"tables": [{"name": "a", "schedule": "often"}]}, "tables[0].schedule", "five fields"),
        ({"tables": [{"name": "a", "strategy": "magic"}]}, "tables[0].strategy", "not one of"),
        ({"tables": [{"name": "a"}, {"name": "a"}]}, "tables[1].name", "the same table"),
        (
            {"tables": [{"name": "a.b", "namespace": "a"}]},
            "tables[0].name",
            "the namespace already",
        ),
        (
            {"tables": [{"name": "a", "options": {"max_cots": 1}}]},
            "tables[0].options.max_cots",
            "no key",
        ),
        (
            {"tables": [{"name": "a", "options": {"target_file_size": True}}]},
            "tables[0].options.target_file_size",
            "not a size",
        ),
        (
            {"tables": [{"name": "a", "strategy": "zorder"}]},
            "tables[0].options.sort_columns",
            "needs columns",
        ),
        (
            {"tables": [{"name": "a", "strategy": "auto", "options": {"sort_columns": "x"}}]},
            "tables[0].options.sort_columns",
            "does not order rows",
        ),
        (
            {"tables": [{"name": "a", "options": {"sort_columns": "x"}}]},
            "tables[0].options.sort_columns",
            "no strategy",
        ),
        (
            {
                "compaction": {"strategies": {"delete_files": {"enabled": False}}},
                "tables": [{"name": "a", "strategy": "delete_files"}],
            },
            "tables[0].strategy",
            "turns delete_files off",
        ),
    ],
)
def test_what_cannot_be_honoured_is_an_error_with_its_place(load, sections, path, why):
    with pytest.raises(ConfigError) as error:
        load(**sections)

    assert f"is wrong at {path}: " in error.value.message
    assert why in error.value.message


@pytest.mark.promise(27)
@pytest.mark.parametrize(
    ("document", "suggestion"),
    [
        ({"tabels": []}, "tables"),
        ({"catlog": {}}, "catalog"),
        ({"schedular": {}}, "scheduler"),
        ({"server": {"prot": 1}}, "port"),
        ({"compaction": {"max_paralelism": 1}}, "max_parallelism"),
        ({"scheduler": {"default_shedule": "0 1 * * *"}}, "default_schedule"),
    ],
)
def test_unknown_keys_come_with_a_suggestion(load, document, suggestion):
    with pytest.raises(ConfigError, match="unknown key") as error:
        load({"catalog": REST, **document})

    assert error.value.next_step == f"Did you mean {suggestion}?"


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"scheduler": {"default_schedule": "often"}}, "scheduler.default_schedule"),
        ({"scheduler": {"timezone": "Berlin"}}, "scheduler.timezone"),
        ({"server": {"port": 0}}, "server.port"),
    ],
)
def test_sections_are_checked(load, document, path):
    with pytest.raises(ConfigError, match=f"wrong at {path}"):
        load({"catalog": REST, **document})


def test_catalogs_with_names_under_the_key_for_one_are_told_where_to_go(load):
    with pytest.raises(ConfigError, match=r"wrong at catalog\.lake: catalog holds") as error:
        load({"catalog": {"lake": REST}})

    assert error.value.next_step == "Write catalogs: where catalogs have names."


def test_a_store_without_its_catalog_is_refused(load):
    with pytest.raises(ConfigError, match="wrong at storage: it goes with catalog"):
        load({"storage": S3})


def test_credentials_of_the_store_are_secrets_and_in_no_error(load):
    secret = "wJalrXUtnFEMI"
    storage = {**S3, "access_key_id": "AKIAEXAMPLE", "secret_access_key": secret}

    settings = load(storage=storage)

    assert settings.catalogs["default"]["s3.secret-access-key"] == secret
    assert secret in settings.secrets()
    assert secret not in repr(settings)
    for wrong in ({**storage, "secret_access_key": [secret]}, secret, [secret]):
        with pytest.raises(ConfigError) as error:
            load(storage=wrong)
        assert secret not in f"{error.value.message}{error.value.next_step}"


def test_paths_in_a_store_are_asked_for_as_pyiceberg_knows_it(load):
    settings = load(storage={**S3, "endpoint": "http://s3", "path_style_access": False})

    assert settings.catalogs["default"]["s3.force-virtual-addressing"] == "true"


def test_without_such_sections_nothing_is_made_of_them():
    assert Settings().policies == ()
