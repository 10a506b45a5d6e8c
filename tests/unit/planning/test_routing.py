from __future__ import annotations

from dataclasses import replace

import pytest

from neve.model.facts import ColumnFacts
from neve.model.policy import CompactionPolicy, Engine, RewriteMode, Strategy
from neve.planning.engines import ENGINES, allowed, rank_of
from neve.planning.refusals import GroupFacts
from neve.planning.routing import KEEPS_ORDER, ON_DISK, route, task_ladder
from neve.testing.facts import MB, data_file, table_facts

FILES = [data_file("a", 8 * MB), data_file("b", 8 * MB)]


OBJECTS = [data_file("a", 8 * MB, path="s3://b/a"), data_file("b", 8 * MB, path="s3://b/b")]
#: Files that only an engine takes that decodes, of tables that it may leave to Iceberg.
DECODED = {"deletes": 1}
BLOOM = {"write.parquet.bloom-filter-enabled.column.id": "true"}


def column(name, of):
    return ColumnFacts(1, name, of, required=False)


def group_of(files=FILES, *, strategy=Strategy.SMALL_FILES, deletes=0, **facts):
    limit = CompactionPolicy().min_row_group_bytes
    return GroupFacts(table_facts(files, **facts), files, deletes, strategy, limit)


def routed(files=FILES, *, asked=RewriteMode.AUTO, **options):
    return route(group_of(files, **options), asked)


def test_good_row_groups_are_copied():
    assert routed().engine is Engine.COPY


def test_objects_are_copied_by_their_store():
    assert routed(OBJECTS).engine is Engine.REMOTE_COPY


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"asked": RewriteMode.SPARK}, "asked for"),
        ({"strategy": Strategy.ZORDER}, "changes the order of rows"),
        ({"current_spec_id": 7}, "old partition spec"),
        ({"properties": {"write.location-provider.impl": "x"}}, "location provider"),
        ({"files": [data_file("a", 8 * MB, format="ORC")]}, "only Parquet"),
        ({"files": [data_file("a", 8 * MB, encrypted=True)]}, "encrypted"),
        ({"files": [data_file("a", 8 * MB, path="oss://b/a")]}, "files of oss: are reached by"),
        ({"files": [data_file("a", 8 * MB, path="s3a://b/a")]}, "files of s3a: are reached by"),
        ({"files": [data_file(n, 8 * MB, path=f"/b/{n}") for n in "ab"]}, "without a scheme"),
        ({"files": [data_file("a", 8 * MB, path="/b/ts=10:00/a")]}, "without a scheme"),
        (
            {"files": [data_file("a", 8 * MB), data_file("b", 8 * MB, path="s3://b/b")]},
            "several kinds of stores",
        ),
        (
            {"files": [data_file(n, 8 * MB, path=f"{n}://b/{n}") for n in ("gs", "abfs")]},
            "several kinds of stores",
        ),
        ({**DECODED, "properties": BLOOM}, "bloom filters"),
        ({**DECODED, "sort_order_id": 1}, "a sort order, in which Iceberg writes rows"),
        ({**DECODED, "columns": (column("v", "variant"),)}, "column v has the type variant"),
        ({**DECODED, "columns": (column("g", "list<geometry(OGC:CRS84)>"),)}, "type geometry"),
        ({**DECODED, "columns": (column("u", "struct<1: a: unknown>"),)}, "type unknown"),
        ({**DECODED, "columns": (column("id", "long"),)}, "made from a nested column"),
    ],
)
def test_everything_else_goes_to_spark_with_its_reason(options, reason):
    chosen = routed(**options)

    assert chosen.engine is Engine.SPARK
    assert reason in chosen.reason


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"deletes": 1}, "deletes must be applied"),
        ({"format_version": 3}, "row ids"),
        ({"files": [data_file("a", 8 * MB, row_groups=3)]}, "too small to keep"),
        ({"files": [data_file("a", MB, row_groups=None)]}, "too small to keep"),
        ({"asked": RewriteMode.REWRITE}, "asked for"),
        ({"deletes": 1, "properties": {**BLOOM, next(iter(BLOOM)): "false"}}, "deletes must be"),
        ({**DECODED, "files": OBJECTS}, ON_DISK),
        ({**DECODED, "files": [data_file("a", 8 * MB, path="gs://b/a")]}, ON_DISK),
    ],
)
def test_what_cannot_be_copied_is_rewritten_in_tasks_with_the_reason(options, reason):
    chosen = routed(**options)

    assert chosen.engine is Engine.REWRITE
    assert reason in chosen.reason


@pytest.mark.parametrize("files", [FILES, OBJECTS])
def test_a_sort_order_alone_is_no_reason_to_decode_and_the_plan_says_what_comes_of_it(files):
    chosen = routed(files, sort_order_id=1)

    assert chosen.engine is routed(files).engine is not Engine.SPARK
    assert chosen.reason.endswith(KEEPS_ORDER)
    assert KEEPS_ORDER not in routed(files).reason


@pytest.mark.parametrize("scheme", ["gs", "abfs", "abfss", "wasb", "wasbs", "hdfs", "viewfs"])
@pytest.mark.parametrize("order", [0, 1])
def test_what_arrow_reaches_is_copied_and_the_plan_says_through_what(scheme, order):
    files = [data_file(name, 8 * MB, path=f"{scheme}://b/{name}") for name in ("a", "b")]

    chosen = routed(files, sort_order_id=order)

    assert chosen.engine is Engine.COPY
    assert f"copied as they are through Arrow's client for {scheme}:" in chosen.reason
    assert task_ladder(group_of(files), Engine.COPY) == (Engine.COPY, Engine.REWRITE)


@pytest.mark.parametrize("strategy", [Strategy.SORT, Strategy.ZORDER])
@pytest.mark.parametrize("order", [0, 1])
def test_strategies_that_order_rows_are_icebergs(strategy, order):
    assert routed(strategy=strategy, sort_order_id=order).engine is Engine.SPARK


def test_a_sorted_table_with_deletes_is_still_rewritten_by_iceberg():
    chosen = routed(deletes=1, sort_order_id=1)

    assert chosen.engine is Engine.SPARK
    assert chosen.reason == "the table has a sort order, in which Iceberg writes rows"


@pytest.mark.parametrize(
    ("asked", "local", "objects"),
    [
        (RewriteMode.AUTO, Engine.COPY, Engine.REMOTE_COPY),
        (RewriteMode.REMOTE_COPY, Engine.COPY, Engine.REMOTE_COPY),
        (RewriteMode.COPY, Engine.COPY, Engine.COPY),
        (RewriteMode.REWRITE, Engine.REWRITE, Engine.REWRITE),
        (RewriteMode.SPARK, Engine.SPARK, Engine.SPARK),
    ],
)
def test_a_wish_leaves_the_engine_named_and_those_after_it(asked, local, objects):
    assert (routed(asked=asked).engine, routed(OBJECTS, asked=asked).engine) == (local, objects)


def test_the_last_engine_refuses_nothing_and_every_engine_has_a_row():
    last = ENGINES[-1]

    assert sorted(row.engine for row in ENGINES) == sorted(Engine)
    assert last.refuses(group_of(deletes=9, format_version=3, strategy=Strategy.ZORDER)) is None
    assert [rank_of(row.engine) for row in ENGINES] == list(range(len(ENGINES)))
    assert {mode.value for mode in RewriteMode} == {"auto", *(row.engine for row in ENGINES)}
    assert allowed(RewriteMode.AUTO) == ENGINES


def test_what_runs_in_a_task_is_proven_there():
    for row in ENGINES:
        assert bool(row.proofs) == row.runs_in_task


def test_inside_a_task_a_group_falls_only_to_engines_that_run_there_and_take_it():
    rows, store = Engine.REWRITE, Engine.REMOTE_COPY
    assert task_ladder(group_of(OBJECTS), store) == (store, Engine.COPY, rows)
    assert task_ladder(group_of(FILES), Engine.COPY) == (Engine.COPY, rows)
    assert task_ladder(group_of(OBJECTS, deletes=1), store) == (store, rows)
    assert task_ladder(group_of(FILES, properties=BLOOM), Engine.COPY) == (Engine.COPY,)


@pytest.mark.parametrize(
    ("deletes", "asked", "told"),
    [
        (0, RewriteMode.AUTO, True),
        (1, RewriteMode.AUTO, True),
        (1, RewriteMode.SPARK, False),
    ],
)
def test_a_plan_says_that_a_large_file_stays_in_one_piece(deletes, asked, told):
    files = [data_file("a", 300 * MB), data_file("b", 8 * MB)]
    group = replace(group_of(files, deletes=deletes), target_file_size_bytes=128 * MB)

    whole = "; 1 file above the target size stays in one piece"
    assert route(group, asked).reason.endswith(whole) == told
    several = replace(group, target_file_size_bytes=MB)
    assert ("; 2 files above the target size stay" in route(several, asked).reason) == told
    assert whole not in route(replace(group, target_file_size_bytes=300 * MB), asked).reason
