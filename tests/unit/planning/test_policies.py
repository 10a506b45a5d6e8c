from __future__ import annotations

import pytest

from neve.model.errors import ConfigError, InputError
from neve.model.operation import Operation
from neve.model.policies import PolicyBook, RewriteDataFilesArguments, Setting
from neve.model.policy import CompactionPolicy, RewriteMode, Strategy, Verify
from neve.model.table import TableRef
from neve.policy.documents import read_policies
from neve.policy.effective import show_value
from neve.policy.keys import KEYS
from neve.policy.resolve import general_settings, resolve

pytestmark = pytest.mark.promise(25)

TABLE = TableRef("lake", ("db",), "events")
OLDER_THAN = "expire_snapshots.older_than"
DAY = 86400


def book(*documents, **parts):
    named = [{"name": f"p{index}", **item} for index, item in enumerate(documents)]
    return PolicyBook(read_policies(named), **parts)


def effective(*documents, properties=None, overrides=None, **parts):
    return resolve(book(*documents, **parts), TABLE, properties or {}, overrides)


def expire(older_than, **more):
    return {"operations": {"expire_snapshots": {"older_than": older_than}}, **more}


def test_without_policies_there_are_defaults_and_nothing_deletes():
    policy = effective()

    assert policy.operations == {
        Operation.REWRITE_DATA_FILES,
        Operation.REWRITE_POSITION_DELETE_FILES,
        Operation.REMOVE_DANGLING_DELETES,
        Operation.REWRITE_MANIFESTS,
    }
    assert policy.compaction == CompactionPolicy()
    assert policy.rewrite_data_files == RewriteDataFilesArguments()
    assert (policy.schedule, policy.window) == (None, None)
    assert {setting.source for setting in policy.settings} == {"default"}


def test_every_layer_is_stronger_than_the_one_before():
    layers = {
        "general": {OLDER_THAN: Setting(OLDER_THAN, DAY, "section (neve.yaml)")},
        "documents": [expire("2d"), expire("3d", priority=-1)],
        "properties": {"neve.expire_snapshots.older_than": "5d", "snapshot.keep.duration": "4d"},
        "overrides": {OLDER_THAN: "6d"},
    }

    def resolved(general=None, documents=(), amoro=False, properties=None, overrides=None):
        policy = effective(
            *documents,
            general=general or {},
            import_amoro=amoro,
            properties=properties,
            overrides=overrides,
        )
        return policy.expire_snapshots.older_than_seconds // DAY, policy.setting(OLDER_THAN).source

    general, documents, properties = layers["general"], layers["documents"], layers["properties"]
    amoro_only = {"snapshot.keep.duration": "4d"}
    found = [
        resolved(),
        resolved(general),
        resolved(general, documents),
        resolved(general, documents, False, amoro_only),
        resolved(general, documents, True, amoro_only),
        resolved(general, documents, True, properties),
        resolved(general, documents, True, properties, layers["overrides"]),
    ]

    assert found == [
        (7, "default"),
        (1, "section (neve.yaml)"),
        (2, "policy 'p0' (neve.yaml)"),
        (2, "policy 'p0' (neve.yaml)"),
        (4, "table property snapshot.keep.duration (Amoro)"),
        (5, "table property neve.expire_snapshots.older_than"),
        (6, "command line"),
    ]


def test_among_equal_priorities_the_later_policy_wins_value_by_value():
    first = {"operations": {"expire_snapshots": {"older_than": "2d", "retain_last": 5}}}

    policy = effective(first, expire("3d"))

    assert policy.expire_snapshots.older_than_seconds == 3 * DAY
    assert policy.expire_snapshots.retain_last == 5


def test_naming_an_operation_turns_it_on_but_never_against_who_turned_it_off():
    off = {"operations": {"expire_snapshots": {"enabled": False}}}

    assert effective(expire("2d")).enables(Operation.EXPIRE_SNAPSHOTS)
    assert not effective(off, expire("2d", priority=9)).enables(Operation.EXPIRE_SNAPSHOTS)
    named = {"neve.expire_snapshots.retain_last": "3"}
    assert effective(properties=named).enables(Operation.EXPIRE_SNAPSHOTS)
    assert not effective(off, properties=named).enables(Operation.EXPIRE_SNAPSHOTS)
    on = {"neve.expire_snapshots.enabled": "true"}
    assert effective(off, properties=on).enables(Operation.EXPIRE_SNAPSHOTS)


def test_a_table_can_be_left_alone():
    policy = effective(expire("2d"), properties={"neve.enabled": "false"})

    assert policy.operations_in_order() == []
    assert policy.setting("enabled").source == "table property neve.enabled"


@pytest.mark.parametrize(
    ("match", "properties", "reason"),
    [
        ({}, {}, None),
        ({"tables": "lake.db.*"}, {}, None),
        ({"tables": "db.*"}, {}, None),
        ({"tables": "*.ev?nts"}, {}, None),
        ({"tables": "Lake.db.*"}, {}, "the name does not match Lake.db.*"),
        ({"tables": ["x.*", "y.*"]}, {}, "the name does not match x.* or y.*"),
        ({"tables": "*", "exclude": "db.e*"}, {}, "the name is excluded by db.e*"),
        ({"properties": {"a": "b*"}}, {"a": "bc"}, None),
        ({"properties": {"a": "b*"}}, {"a": "c"}, "property a is 'c', not 'b*'"),
        ({"properties": {"a": "b*"}}, {}, "the table has no property a"),
        ({"owner": ["ann", "bob"]}, {"owner": "bob"}, None),
        ({"owner": "ann"}, {"owner": "bob"}, "the owner is 'bob', not ann"),
        ({"owner": "ann"}, {}, "the owner is None, not ann"),
        ({"tag": "gold"}, {"neve.tags": "hot, gold"}, None),
        ({"tag": ["gold", "hot"]}, {"neve.tag": "hot"}, None),
        ({"tag": "gold"}, {"neve.tags": "golden"}, "the table has no tag gold"),
    ],
)
def test_a_policy_says_why_it_is_not_for_a_table(match, properties, reason):
    policy = effective(
        {"match": match, "enabled": False}, properties=properties, default_catalog="lake"
    )

    assert policy.matches[0].reason == (reason or "matches")
    assert policy.is_enabled is (reason is not None)


def test_short_names_are_those_of_the_default_catalog_alone():
    policy = effective({"match": {"tables": "db.*"}, "enabled": False}, default_catalog="prod")

    assert policy.is_enabled


def test_a_typing_error_in_a_property_is_an_error_with_a_suggestion():
    with pytest.raises(ConfigError) as caught:
        effective(properties={"neve.expire_snapshots.older_then": "3d"})

    assert caught.value.message == (
        "Table lake.db.events has the unknown property neve.expire_snapshots.older_then."
    )
    assert "Did you mean neve.expire_snapshots.older_than?" in caught.value.next_step


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("neve.expire_snapshots.older_than", "soon", "property neve.expire_snapshots.older_than"),
        ("neve.rewrite_data_files.options.partial-progress.enabled", "true", "all or nothing"),
        ("neve.schedule", "often", "five fields"),
        ("neve.rewrite_data_files.min_file_size_ratio", "0", "between 0 and 1"),
    ],
)
def test_a_bad_property_is_that_tables_own_trouble(name, value, words):
    with pytest.raises(ConfigError) as caught:
        effective(properties={name: value})

    assert caught.value.message.startswith("Table lake.db.events")
    assert words in caught.value.message


def test_properties_that_are_no_policies_are_left_alone():
    effective(properties={"neve.demo": "1", "neve.tag": "a", "owner": "x", "snapshot.keep.x": "?"})


def test_an_unknown_key_on_the_command_line_is_an_error():
    with pytest.raises(InputError, match="There is no argument"):
        effective(overrides={"expire_snapshots.older_then": "3d"})


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ({"strategy": "binpack"}, RewriteDataFilesArguments(Strategy.AUTO)),
        ({"strategy": "time_series"}, RewriteDataFilesArguments(Strategy.TIME_SERIES)),
        ({"strategy": "sort"}, RewriteDataFilesArguments(Strategy.SORT)),
        (
            {"sort_order": "a, b ASC NULLS FIRST"},
            RewriteDataFilesArguments(Strategy.SORT, ("a", "b")),
        ),
        (
            {"sort_order": "zorder(a, `b c`)"},
            RewriteDataFilesArguments(Strategy.ZORDER, ("a", "b c")),
        ),
        ({"engine": "spark"}, RewriteDataFilesArguments(engine=RewriteMode.SPARK)),
        ({"verify": "full"}, RewriteDataFilesArguments(verify=Verify.FULL)),
        ({"verify": "Metadata"}, RewriteDataFilesArguments(verify=Verify.METADATA)),
        ({"verify": "off"}, RewriteDataFilesArguments(verify=Verify.OFF)),
        # As YAML reads off without quotes.
        ({"verify": False}, RewriteDataFilesArguments(verify=Verify.OFF)),
    ],
)
def test_a_compaction_is_asked_for_as_the_policy_says(said, arguments):
    policy = effective({"operations": {"rewrite_data_files": said}})

    assert policy.rewrite_data_files == arguments


@pytest.mark.parametrize("value", [True, "none", "rows", 1])
def test_there_are_three_ways_to_verify(value):
    with pytest.raises((ConfigError, InputError)) as error:
        effective({"operations": {"rewrite_data_files": {"verify": value}}})

    assert "verify" in error.value.message


def test_options_become_thresholds():
    options = {
        "target-file-size-bytes": "100MB",
        "min-file-size-bytes": "50MB",
        "min-input-files": 5,
        "delete-ratio-threshold": 0.3,
    }
    policy = effective(
        {
            "operations": {"rewrite_data_files": {"options": options, "delete_file_ratio": 0.2}},
            "guards": {"hot_partition_seconds": 60},
            "undo_window": "2d",
        }
    )

    assert policy.compaction == CompactionPolicy(
        target_file_size_bytes=100 * 1024**2,
        min_file_size_ratio=0.5,
        min_input_files=5,
        delete_record_ratio=0.3,
        delete_file_ratio=0.2,
        hot_partition_seconds=60,
        undo_window_seconds=2 * DAY,
    )
    assert policy.expire_snapshots.undo_window_seconds == 2 * DAY


def test_a_stronger_strategy_drops_a_weaker_sort_order():
    ordered = {"operations": {"rewrite_data_files": {"sort_order": "a"}}}
    packed = {"operations": {"rewrite_data_files": {"strategy": "binpack"}}}

    assert effective(ordered, packed).rewrite_data_files == RewriteDataFilesArguments()
    with pytest.raises(ConfigError, match="does not go with strategy binpack"):
        effective(
            {"operations": {"rewrite_data_files": {"strategy": "binpack", "sort_order": "a"}}}
        )


def test_a_stronger_ratio_drops_a_weaker_size():
    size = {"operations": {"rewrite_data_files": {"options": {"min-file-size-bytes": "1MB"}}}}

    policy = effective(size, properties={"neve.rewrite_data_files.min_file_size_ratio": "0.5"})

    assert policy.compaction.min_file_size_ratio == 0.5


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"neve.window.start": "10:00"}, "no window.end"),
        ({"neve.window.start": "10:00", "neve.window.end": "10:00"}, "ends when it begins"),
        ({"neve.rewrite_data_files.options.min-file-size-bytes": "1GB"}, "more than"),
        ({"neve.remove_orphan_files.older_than": "2h"}, "less than guards.min_age with 1d"),
        (
            {"neve.remove_orphan_files.older_than": "2d", "neve.guards.min_age": "3d"},
            "less than guards.min_age with 3d",
        ),
    ],
)
def test_values_that_do_not_fit_together_are_refused_with_their_places(properties, words):
    with pytest.raises(ConfigError, match=words) as caught:
        effective(properties=properties)

    assert "table property neve." in caught.value.message


def test_general_settings_are_a_layer_of_their_own():
    chosen = {"target_file_size_bytes": "compaction.target_file_size"}
    general = general_settings("compaction", CompactionPolicy(target_file_size_bytes=1024), chosen)

    setting = effective(general=general).setting(
        "rewrite_data_files.options.target-file-size-bytes"
    )

    assert (setting.value, setting.source) == (1024, "compaction.target_file_size (neve.yaml)")


def test_values_are_shown_as_they_are_written():
    properties = {
        "neve.window.start": "9:00",
        "neve.window.end": "17:30",
        "neve.window.days": "sun,mon",
        "neve.rewrite_data_files.options.target-file-size-bytes": "64MB",
        "neve.remove_orphan_files.older_than": "36h",
        "neve.guards.hot_partition_seconds": "90",
    }
    policy = effective(properties=properties)

    shown = {key: show_value(policy.setting(key.removeprefix("neve."))) for key in properties}

    assert list(shown.values()) == ["09:00", "17:30", "mon, sun", "64.0 MB", "1d 12h", "90"]


def test_every_key_reaches_the_effective_policy():
    """A key whose field does not exist would be accepted and then lost."""
    policy = effective()
    parts = {key: key.part for key in KEYS.values() if key.part not in ("", "operations", "window")}
    named = {"sort_order": "sort_columns", "min_file_size_bytes": "min_file_size_ratio"}

    missing = [
        key.name
        for key, part in parts.items()
        if not hasattr(getattr(policy, part), named.get(key.field, key.field))
    ]

    assert missing == []


def test_a_guard_that_asks_for_more_than_the_default_is_obeyed():
    old = effective(properties={"neve.guards.min_age": "9d"})
    young = effective(properties={"neve.guards.min_age": "2d"})

    assert old.remove_orphan_files.older_than_seconds == 9 * DAY
    assert (
        old.setting("remove_orphan_files.older_than").source == "table property neve.guards.min_age"
    )
    assert young.remove_orphan_files.older_than_seconds == 3 * DAY
