from __future__ import annotations

import pytest

from neve.model.policy import CompactionPolicy, Engine, Strategy
from neve.planning.routing import route
from neve.testing.facts import MB, data_file, table_facts

FILES = [data_file("a", 8 * MB), data_file("b", 8 * MB)]


def routed(files=FILES, *, strategy=Strategy.SMALL_FILES, deletes=0, asked=Engine.AUTO, **facts):
    return route(
        table_facts(files, **facts),
        files,
        delete_files=deletes,
        strategy=strategy,
        policy=CompactionPolicy(),
        asked=asked,
    )


def test_good_row_groups_are_copied():
    assert routed().engine is Engine.COPY


def test_objects_are_copied_by_their_store():
    files = [data_file("a", 8 * MB, path="s3://bucket/a"), data_file("b", 8 * MB, path="s3://b/b")]

    assert routed(files).engine is Engine.REMOTE_COPY


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"asked": Engine.SPARK}, "asked for"),
        ({"strategy": Strategy.ZORDER}, "changes the order of rows"),
        ({"deletes": 1}, "deletes must be applied"),
        ({"format_version": 3}, "row ids"),
        ({"sort_order_id": 1}, "sorted"),
        ({"current_spec_id": 7}, "old partition spec"),
        ({"properties": {"write.location-provider.impl": "x"}}, "location provider"),
        ({"files": [data_file("a", 8 * MB, format="ORC")]}, "only Parquet"),
        ({"files": [data_file("a", 8 * MB, encrypted=True)]}, "encrypted"),
        ({"files": [data_file("a", 8 * MB, path="hdfs://n/a")]}, "only local files"),
        (
            {"files": [data_file("a", 8 * MB), data_file("b", 8 * MB, path="s3://b/b")]},
            "only local files",
        ),
        ({"files": [data_file("a", 8 * MB, row_groups=3)]}, "too small to keep"),
        ({"files": [data_file("a", MB, row_groups=None)]}, "too small to keep"),
    ],
)
def test_everything_else_goes_to_spark_with_its_reason(options, reason):
    chosen = routed(**options)

    assert chosen.engine is Engine.SPARK
    assert reason in chosen.reason
