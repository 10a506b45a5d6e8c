from __future__ import annotations

from datetime import time

import pytest

from neve.model.errors import ConfigError
from neve.model.operation import Operation
from neve.model.policies import TableMatch
from neve.policy.documents import policy_document, read_policies
from neve.policy.keys import KEYS, REFUSED

pytestmark = pytest.mark.promise(27)


def one(**document):
    return read_policies([{"name": "gold", **document}])[0]


def refused(**document):
    with pytest.raises(ConfigError) as caught:
        one(**document)
    return caught.value.message, caught.value.next_step or ""


def test_a_policy_is_read_value_by_value():
    rule = one(
        match={
            "tables": ["lake.gold.*", "lake.silver.*"],
            "exclude": "lake.gold.tmp*",
            "properties": {"a": True},
            "owner": "ann",
            "tag": ["x", "y"],
        },
        priority=7,
        schedule="0  3 * * *",
        window={
            "start": "22:00",
            "end": "6:00",
            "timezone": "Europe/Berlin",
            "days": "sun, Monday",
        },
        budget={"max_cost_usd": 2, "max_seconds": 60},
        guards={"max_orphan_ratio": 0.1, "hot_partition_seconds": 5, "min_age": "2d"},
        undo_window="1d",
        operations={
            "rewrite_data_files": {"options": {"target-file-size-bytes": "1GB"}},
            "expire_snapshots": {"older_than": "7d", "keep": {"daily": 3}},
            "compute_partition_stats": None,
        },
    )

    assert rule.match == TableMatch(
        ("lake.gold.*", "lake.silver.*"),
        ("lake.gold.tmp*",),
        {"a": "true"},
        ("ann",),
        ("x", "y"),
    )
    assert rule.priority == 7
    assert rule.values == {
        "schedule": "0 3 * * *",
        "window.start": time(22),
        "window.end": time(6),
        "window.timezone": "Europe/Berlin",
        "window.days": ("mon", "sun"),
        "budget.max_cost_usd": 2.0,
        "budget.max_seconds": 60,
        "guards.max_orphan_ratio": 0.1,
        "guards.hot_partition_seconds": 5,
        "guards.min_age": 172800,
        "undo_window": 86400,
        "rewrite_data_files.options.target-file-size-bytes": 1024**3,
        "expire_snapshots.older_than": 604800,
        "expire_snapshots.keep.daily": 3,
    }
    assert rule.operations == {
        Operation.REWRITE_DATA_FILES,
        Operation.EXPIRE_SNAPSHOTS,
        Operation.COMPUTE_PARTITION_STATS,
    }


@pytest.mark.parametrize(
    ("document", "place", "suggestion"),
    [
        ({"opertions": {}}, "opertions", "operations"),
        ({"match": {"table": "*"}}, "match.table", "tables"),
        ({"operations": {"expire_snapshot": {}}}, "operations.expire_snapshot", "expire_snapshots"),
        (
            {"operations": {"expire_snapshots": {"older_then": "7d"}}},
            "operations.expire_snapshots.older_then",
            "expire_snapshots.older_than",
        ),
        (
            {"operations": {"rewrite_data_files": {"options": {"min-input-file": 3}}}},
            "operations.rewrite_data_files.options.min-input-file",
            "rewrite_data_files.options.min-input-files",
        ),
        (
            {"operations": {"expire_snapshots": {"keep": {"dayly": 3}}}},
            "operations.expire_snapshots.keep.dayly",
            "expire_snapshots.keep.daily",
        ),
        ({"guards": {"max_orphan_ration": 1}}, "guards.max_orphan_ration", "max_orphan_ratio"),
        ({"budget": {"max_cost": 1}}, "budget.max_cost", "budget.max_cost_usd"),
        ({"window": {"days": ["mon", "tusday"]}}, "window.days", "tuesday"),
        ({"window": {"days": "fry"}}, "window.days", "fri"),
        ({"window": {"timezone": "Europe/Berln"}}, "window.timezone", "Europe/Berlin"),
        ({"operations": {"rewrite_data_files": {"strategy": "binpak"}}}, "strategy", "binpack"),
        (
            {"operations": {"rewrite_data_files": {"strategy": "zorder"}}},
            "strategy",
            "zorder(a, b)",
        ),
    ],
)
def test_a_typing_error_is_named_with_its_place_and_a_suggestion(document, place, suggestion):
    message, next_step = refused(**document)

    assert message.startswith("Policy 'gold' is wrong at ")
    assert place in message
    assert suggestion in next_step


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"operations": {"expire_snapshots": {"older_than": 7}}}, "has no unit"),
        ({"operations": {"expire_snapshots": {"older_than": "7 dogs"}}}, "duration"),
        ({"operations": {"expire_snapshots": {"retain_last": 0}}}, "too small"),
        ({"operations": {"expire_snapshots": {"enabled": "yes"}}}, "neither true nor false"),
        ({"operations": {"expire_snapshots": True}}, "must hold keys and values"),
        ({"operations": ["expire_snapshots"]}, "must hold keys and values"),
        (
            {"operations": {"rewrite_data_files": {"options": {"target-file-size-bytes": "1XB"}}}},
            "as a size",
        ),
        ({"operations": {"rewrite_data_files": {"sort_order": "a desc"}}}, "ascending"),
        ({"schedule": "0 25 * * *"}, "not a schedule"),
        ({"schedule": "daily"}, "five fields"),
        ({"window": {"start": 1320}}, "not a time of day"),
        ({"window": {"start": "25:00"}}, "not a time of day"),
        ({"guards": {"max_orphan_ratio": 1.5}}, "between 0 and 1"),
        ({"guards": {"min_age": "1h"}}, "too short"),
        ({"operations": {"remove_orphan_files": {"purge_delay": "59m"}}}, "too short"),
        ({"budget": {"max_cost_usd": float("nan")}}, "not possible"),
        ({"priority": "high"}, "whole number"),
        ({"match": {"tables": []}, "schedule": "0 3 * * *"}, "empty"),
        ({"match": {"tables": "*"}}, "sets nothing"),
    ],
)
def test_a_value_that_cannot_be_is_refused(document, words):
    assert words in refused(**document)[0]


@pytest.mark.parametrize(
    ("operation", "option", "why"),
    [
        ("rewrite_data_files", "use-starting-sequence-number", "equality delete"),
        ("rewrite_data_files", "partial-progress.max-commits", "all or nothing"),
        ("rewrite_data_files", "delete-file-threshold", "delete_file_ratio"),
        ("rewrite_position_delete_files", "partial-progress.enabled", "all or nothing"),
    ],
)
def test_an_option_that_neve_sets_itself_is_refused_with_the_reason(operation, option, why):
    message, _ = refused(operations={operation: {"options": {option: "true"}}})

    assert "is not for policies" in message
    assert why in message


def test_nothing_is_both_taken_and_refused():
    assert not KEYS.keys() & REFUSED.keys()


def test_a_name_is_needed_and_used_once():
    named = {"name": "a", "enabled": False}
    with pytest.raises(ConfigError, match="Policy 2 has no name"):
        read_policies([named, {"enabled": False}])
    with pytest.raises(ConfigError, match="Two policies have the name 'a'"):
        read_policies([named, named])
    with pytest.raises(ConfigError, match="must hold a list"):
        read_policies({"a": 1})
    with pytest.raises(ConfigError, match="Policy 1 must hold"):
        read_policies(["a"])


def test_a_policy_can_be_written_and_read_back():
    values = {
        "schedule": "0 3 * * *",
        "window.start": time(22),
        "window.days": ("mon",),
        "expire_snapshots.keep.daily": 3,
        "rewrite_data_files.options.min-input-files": 5,
    }
    document = policy_document("gold", {"tables": ("a.*",)}, values)

    rule = read_policies([document])[0]

    assert (rule.match.tables, rule.values) == (("a.*",), values)
