from __future__ import annotations

import json

import pytest

from neve.model.errors import ConfigError, InputError
from neve.model.operation import Operation
from neve.model.policies import PolicyBook
from neve.model.table import TableRef
from neve.policy.amoro import CARRIED, interval_schedule
from neve.policy.documents import read_policies
from neve.policy.importing import import_policies
from neve.policy.keys import KEYS
from neve.policy.resolve import resolve

pytestmark = pytest.mark.promise(27)

TABLE = TableRef("lake", ("db",), "events")
DAY = 86400


def content(**parts):
    return {"version": "2025-02-03", "enable": True, **parts}


def policy(kind, body, name="p"):
    return {"name": name, "policy-type": kind, "content": json.dumps(body), "inheritable": True}


def effective(imported):
    return resolve(PolicyBook(read_policies(imported.policies)), TABLE, {})


def test_the_four_policies_of_polaris_come_over():
    document = [
        policy(
            "system.data-compaction",
            content(config={"target_file_size_bytes": 1048576, "compaction_strategy": "bin-pack"}),
            "a",
        ),
        policy("system.metadata-compaction", content(config={"spec_id": 1}), "b"),
        policy(
            "system.snapshot-expiry",
            content(config={"min_snapshot_to_keep": 3, "max_snapshot_age_days": 2}),
            "c",
        ),
        policy("system.orphan-file-removal", content(max_orphan_file_age_in_days=30), "d"),
    ]

    imported = import_policies(document, tables=("lake.*",))
    merged = effective(imported)

    assert imported.left == ()
    assert [item["match"] for item in imported.policies] == [{"tables": ["lake.*"]}] * 4
    assert merged.compaction.target_file_size_bytes == 1048576
    assert merged.rewrite_manifests.spec_id == 1
    assert merged.expire_snapshots.older_than_seconds == 2 * DAY
    assert merged.expire_snapshots.retain_last == 3
    assert merged.remove_orphan_files.older_than_seconds == 30 * DAY
    assert merged.enables(Operation.REMOVE_ORPHAN_FILES)


def test_what_polaris_has_and_neve_has_not_is_said():
    config = {"max-concurrent-file-group-rewrites": 5, "key1": "v", "min-input-files": 4}
    orphans = content(locations=["s3://b"], config={"prefix_mismatch_mode": "ignore"})

    imported = import_policies(
        {
            "applicable-policies": [
                policy("system.data-compaction", content(config=config), "a"),
                policy("system.orphan-file-removal", orphans, "b"),
            ]
        }
    )

    assert [line.split(":", 2)[:2] for line in imported.left[:4]] == [
        ["a", " max-concurrent-file-group-rewrites=5"],
        ["a", " key1=v"],
        ["b", " locations=['s3"],
        ["b", " prefix_mismatch_mode=ignore"],
    ]
    assert "write it into match" in imported.left[4]
    assert effective(imported).compaction.min_input_files == 4


def test_a_disabled_policy_stays_disabled():
    body = {"enable": False, "config": {"max_snapshot_age_days": 1.5}}

    merged = effective(import_policies(policy("system.snapshot-expiry", body)))

    assert not merged.enables(Operation.EXPIRE_SNAPSHOTS)
    assert merged.expire_snapshots.older_than_seconds == 1.5 * DAY


def test_a_bare_content_tells_its_type_or_is_told():
    told = import_policies(content(max_orphan_file_age_in_days=4))
    asked = import_policies(content(), kind="system.metadata-compaction")

    assert list(told.policies[0]["operations"]) == ["remove_orphan_files"]
    assert list(asked.policies[0]["operations"]) == ["rewrite_manifests"]
    with pytest.raises(InputError, match="does not say which type"):
        import_policies(content())


@pytest.mark.parametrize(
    ("document", "kind", "words"),
    [
        (policy("system.access", content()), None, "not about maintenance"),
        (content(), "system.data-compact", "no predefined Polaris policy type"),
        ({"name": "x", "content": "{"}, None, "not JSON"),
        ({"content": [1]}, None, "keys and values"),
        (policy("system.snapshot-expiry", {"enable": None}), None, "neither true nor false"),
        (policy("system.snapshot-expiry", content(version="1")), None, "version '1'"),
        (policy("system.snapshot-expiry", content(config=3)), None, "keys and values"),
        (
            policy("system.orphan-file-removal", content(max_orphan_file_age_in_days="x")),
            None,
            "number of days",
        ),
        (
            policy("system.orphan-file-removal", content(max_orphan_file_age_in_days=-3)),
            None,
            "duration",
        ),
        ({"a": "b"}, None, "neither a policy of Apache Polaris nor properties"),
        ("text", None, "neither a policy of Apache Polaris nor properties"),
    ],
)
def test_what_cannot_be_understood_is_refused(document, kind, words):
    with pytest.raises(InputError, match=words):
        import_policies(document, kind=kind)


def test_two_policies_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="Two policies"):
        import_policies([policy("system.metadata-compaction", content())] * 2)


def test_properties_of_amoro_come_over():
    imported = import_policies(
        {
            "self-optimizing.enabled": True,
            "self-optimizing.target-size": 1048576,
            "self-optimizing.min-target-size-ratio": "0.5",
            "self-optimizing.minor.trigger.file-count": "1",
            "self-optimizing.minor.trigger.interval": "3600000",
            "self-optimizing.major.trigger.duplicate-ratio": "0.3",
            "self-optimizing.filter": "day > '2026-01-01'",
            "self-optimizing.rewrite.use-parquet-row-group-merge.enabled": "false",
            "clean-dangling-delete-files.enabled": "false",
            "snapshot.keep.duration": "720min",
            "snapshot.keep.min-count": "4",
            "clean-orphan-file.enabled": "true",
            "clean-orphan-file.min-existing-time-minutes": "2880",
        },
        tables=("lake.*",),
    )
    merged = effective(imported)

    assert imported.left == ()
    assert merged.compaction.target_file_size_bytes == 1048576
    assert merged.compaction.min_file_size_ratio == 0.5
    assert merged.compaction.min_input_files == 2
    assert merged.compaction.delete_record_ratio == 0.3
    assert merged.rewrite_data_files.where == "day > '2026-01-01'"
    assert merged.rewrite_data_files.engine == "spark"
    assert merged.schedule == "0 * * * *"
    assert not merged.enables(Operation.REMOVE_DANGLING_DELETES)
    assert merged.expire_snapshots.older_than_seconds == DAY / 2
    assert merged.expire_snapshots.retain_last == 4
    assert merged.remove_orphan_files.older_than_seconds == 2 * DAY
    assert merged.enables(Operation.REMOVE_ORPHAN_FILES)


def test_amoro_removes_orphans_only_when_told_to():
    ages = {"clean-orphan-file.min-existing-time-minutes": "2880", "snapshot.keep.duration": "1d"}

    merged = effective(import_policies(ages))

    assert not merged.enables(Operation.REMOVE_ORPHAN_FILES)
    assert merged.enables(Operation.EXPIRE_SNAPSHOTS)


def test_what_amoro_has_and_neve_has_not_is_said():
    imported = import_policies(
        {
            "self-optimizing.enabled": "true",
            "self-optimizing.quota": "0.5",
            "self-optimizing.minor.trigger.interval": "7000",
            "data-expire.enabled": "true",
            "write.format.default": "parquet",
        }
    )

    assert list(imported.left) == [
        "data-expire.enabled=true: Neve never deletes rows.",
        "self-optimizing.minor.trigger.interval=7000: cron has no such rhythm: write a schedule.",
        "self-optimizing.quota=0.5: budget.max_cost_usd and budget.max_seconds limit a run.",
        "write.format.default: it is not a property of Amoro's optimizer.",
    ]


def test_a_value_of_amoro_that_cannot_be_is_refused():
    with pytest.raises(InputError, match="target-file-size-bytes cannot be 'big'"):
        import_policies({"self-optimizing.target-size": "big"})


@pytest.mark.parametrize(
    ("milliseconds", "cron"),
    [
        (60_000, "* * * * *"),
        (15 * 60_000, "*/15 * * * *"),
        (3_600_000, "0 * * * *"),
        (6 * 3_600_000, "0 */6 * * *"),
        (24 * 3_600_000, "0 0 * * *"),
        (7 * 60_000, None),
        (5 * 3_600_000, None),
        (1000, None),
        (0, None),
        (-1, None),
    ],
)
def test_an_interval_becomes_a_schedule_where_cron_has_one(milliseconds, cron):
    assert interval_schedule(str(milliseconds)) == cron


def test_every_property_of_amoro_that_is_carried_has_a_key():
    assert {key for key, _ in CARRIED.values()} <= KEYS.keys()
