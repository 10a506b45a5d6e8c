from __future__ import annotations

import json
from dataclasses import replace

import pytest

from neve.model.errors import InputError
from neve.model.facts import DeleteKind
from neve.model.groups import Interval
from neve.model.plan import NothingToDo
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Engine, Strategy
from neve.planning.cost import CostModel, Rates, Speed
from neve.planning.engines import SPARK_SPEED
from neve.planning.health import assess
from neve.planning.planner import make_plan
from neve.testing.facts import (
    MB,
    NOW,
    data_file,
    delete_file,
    partition,
    snapshot,
    table_facts,
)

pytestmark = pytest.mark.promise(7)

POLICY = CompactionPolicy(target_file_size_bytes=100 * MB)
#: One speed for all engines, so that the figures are easy to follow.
RATES = Rates({engine: Speed(SPARK_SPEED) for engine in Engine})


def plan_of(
    facts, strategy=Strategy.AUTO, *, policy=POLICY, rates=RATES, max_cost_usd=None, **arguments
):
    return make_plan(
        facts,
        assess(facts, policy, NOW),
        policy,
        RewriteDataFilesArguments(strategy, **arguments),
        max_cost_usd=max_cost_usd,
        cost_model=CostModel(),
        rates=rates,
        now=NOW,
    )


def small(count, day="mon", size_bytes=10 * MB, **changes):
    return [
        data_file(f"{day}-{index}", size_bytes, partition=partition(day), **changes)
        for index in range(count)
    ]


def group_sizes(plan):
    return [(group.partition, len(group.files)) for group in plan.groups]


@pytest.mark.conformance("files are chosen by size")
def test_small_files_are_packed_to_the_target_within_partitions():
    plan = plan_of(table_facts(small(15) + small(3, "tue")))

    assert group_sizes(plan) == [("day=mon", 10), ("day=mon", 5), ("day=tue", 3)]
    assert plan.reason == "18 files in 2 partitions become about 3."
    assert plan.gain == 15


def test_the_plan_is_bound_to_its_snapshot_and_table():
    facts = table_facts(small(3))
    plan = plan_of(facts)

    assert (plan.snapshot_id, plan.table_uuid) == (1, facts.table_uuid)


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (table_facts(snapshots=[]), NothingToDo.NO_SNAPSHOT),
        (table_facts(), NothingToDo.NO_DATA_FILES),
        (table_facts([*small(3), small(3)[1]]), NothingToDo.FILE_LISTED_TWICE),
        (table_facts([*small(3, selected=False), *small(3)]), NothingToDo.FILE_LISTED_TWICE),
        (table_facts(small(3, selected=False)), NothingToDo.FILTER_MATCHES_NOTHING),
        (table_facts(small(3, size_bytes=99 * MB)), NothingToDo.ALREADY_GOOD),
        (table_facts(small(1)), NothingToDo.TOO_FEW_FILES),
        (table_facts(small(2, size_bytes=70 * MB)), NothingToDo.WOULD_NOT_CONVERGE),
    ],
)
def test_nothing_to_do_has_a_reason(facts, code):
    plan = plan_of(facts)

    assert plan.is_empty
    assert plan.reasons[0].code is code
    assert plan.reason == plan.reasons[0].sentence


def test_files_that_a_filter_excludes_are_left_alone():
    facts = table_facts(small(3) + small(3, "tue", selected=False), where="day = 'mon'")

    assert group_sizes(plan_of(facts)) == [("day=mon", 3)]


@pytest.mark.conformance("enough input files")
def test_files_of_an_earlier_run_need_fresh_company():
    done = snapshot(2, 1, neve__job_id="j", neve__target_file_size_bytes=str(100 * MB))
    snapshots = [snapshot(1), done]
    own = small(3, added_snapshot_id=2)
    one, two = data_file("one", MB), data_file("two", MB)

    assert plan_of(table_facts(own, snapshots=snapshots)).is_empty
    assert plan_of(table_facts([*own, one], snapshots=snapshots)).is_empty
    both = plan_of(table_facts([*own, one, two], snapshots=snapshots))
    assert group_sizes(both) == [("day=mon", 5)]


def test_a_larger_target_makes_old_work_worth_doing_again():
    done = snapshot(2, 1, neve__job_id="j", neve__target_file_size_bytes=str(100 * MB))
    facts = table_facts(small(3, added_snapshot_id=2), snapshots=[snapshot(1), done])

    plan = plan_of(facts, policy=CompactionPolicy(target_file_size_bytes=200 * MB))

    assert group_sizes(plan) == [("day=mon", 3)]


@pytest.mark.conformance("expected outputs")
def test_compression_widens_the_groups():
    plan = plan_of(table_facts(small(20)), rates=replace(RATES, compression_ratio=0.5))

    assert group_sizes(plan) == [("day=mon", 20)]
    assert plan.steps[0].target_file_size_bytes == 200 * MB


def test_time_series_waits_until_a_partition_is_quiet():
    young = small(3, "mon", added_snapshot_id=12)
    old = small(3, "tue", added_snapshot_id=1)
    facts = table_facts(young + old, snapshots=[snapshot(1), snapshot(12, 1)])

    plan = plan_of(facts, Strategy.TIME_SERIES)

    assert group_sizes(plan) == [("day=tue", 3)]
    assert [(r.code, r.partition) for r in plan.reasons] == [(NothingToDo.TOO_YOUNG, "day=mon")]


@pytest.mark.conformance("delete thresholds")
def test_delete_files_rewrites_what_deletes_apply_to():
    hit = data_file("hit", 100 * MB)
    vector = delete_file("v", DeleteKind.DELETION_VECTOR, referenced_path=hit.path)
    facts = table_facts([hit, data_file("clean", 100 * MB)], [vector])

    plan = plan_of(facts, Strategy.DELETE_FILES)

    assert [[file.path for file in group.files] for group in plan.groups] == [[hit.path]]
    assert plan.groups[0].delete_files == 1
    assert plan.steps[0].min_file_size_bytes == 0


def test_delete_files_has_nothing_to_do_without_deletes():
    plan = plan_of(table_facts(small(5)), Strategy.DELETE_FILES)

    assert plan.reasons[0].code is NothingToDo.NO_DELETES


def test_auto_cures_deletes_and_small_files_of_a_partition_together():
    hit = data_file("hit", 60 * MB)
    vector = delete_file("v", DeleteKind.DELETION_VECTOR, referenced_path=hit.path)
    facts = table_facts([hit, *small(3), *small(2, "tue")], [vector])

    plan = plan_of(facts)

    assert {s.strategy: [len(g.files) for g in s.groups] for s in plan.steps} == {
        Strategy.AUTO: [4],
        Strategy.SMALL_FILES: [2],
    }


def test_sort_takes_whole_partitions_once():
    done = snapshot(2, 1, neve__job_id="j", neve__layout="sort(id)")
    facts = table_facts(
        small(1) + small(2, "tue", added_snapshot_id=2), snapshots=[snapshot(1), done]
    )

    plan = plan_of(facts, Strategy.SORT, sort_columns=("id",))

    assert group_sizes(plan) == [("day=mon", 1)]
    assert plan.steps[0].layout == "sort(id)"
    assert [r.code for r in plan.reasons] == [NothingToDo.ALREADY_SORTED]


def test_sort_without_columns_takes_the_order_of_the_table():
    files = [data_file("a", MB, sort_order_id=3), data_file("b", MB)]
    facts = table_facts(files, sort_columns=("id",), sort_order_id=3)

    plan = plan_of(facts, Strategy.SORT)

    assert (plan.steps[0].sort_columns, group_sizes(plan)) == (("id",), [("day=mon", 2)])
    assert plan_of(
        table_facts(files[:1], sort_columns=("id",), sort_order_id=3), Strategy.SORT
    ).is_empty


@pytest.mark.conformance("options that make no sense")
@pytest.mark.parametrize(
    ("strategy", "columns"),
    [
        (Strategy.SORT, ()),
        (Strategy.ZORDER, ()),
        (Strategy.ZORDER, ("nope",)),
        (Strategy.SMALL_FILES, ("id",)),
    ],
)
def test_columns_that_make_no_sense_are_refused(strategy, columns):
    with pytest.raises(InputError):
        plan_of(table_facts(small(3)), strategy, sort_columns=columns)


def test_a_budget_keeps_the_best_gain_per_dollar():
    many_tiny, few_large = small(50, "mon", MB), small(2, "tue", 40 * MB)
    facts = table_facts(many_tiny + few_large)
    tiny = next(group for group in plan_of(facts).groups if group.partition == "day=mon")

    plan = plan_of(facts, max_cost_usd=tiny.cost.usd.expected * 1.01)

    assert group_sizes(plan) == [("day=mon", 50)]
    assert [(r.code, r.partition) for r in plan.reasons] == [(NothingToDo.OVER_BUDGET, "day=tue")]


def test_a_budget_of_nothing_does_nothing():
    plan = plan_of(table_facts(small(5)), max_cost_usd=0)

    assert plan.is_empty
    assert plan.reasons[0].code is NothingToDo.OVER_BUDGET


def test_a_part_of_the_partitions_becomes_a_filter():
    facts = table_facts(small(3) + small(1, "tue") + small(3, "wed"))

    (step,) = plan_of(facts).steps

    assert json.loads(step.filter) == {"type": "in", "term": "day", "values": ["mon", "wed"]}


def test_all_partitions_need_no_filter():
    (step,) = plan_of(table_facts(small(3) + small(3, "tue"))).steps

    assert json.loads(step.filter) is True


def test_costs_have_an_interval():
    plan = plan_of(table_facts(small(10)))

    assert plan.cost.bytes_read == 100 * MB
    assert plan.cost.get_requests == 30
    assert plan.cost.put_requests == 6
    # Of a first run: a JVM is to be started, or runs already.
    assert plan.cost.seconds == Interval(low=2.0 + 0.5, expected=4.0 + 15.0, high=100 / 6 + 45.0)
    assert plan.cost.usd.low < plan.cost.usd.expected < plan.cost.usd.high


def test_a_null_and_the_text_null_are_two_partitions():
    facts = table_facts(
        [
            data_file(f"{value}-{index}", 10 * MB, partition=(0, (value,)))
            for value in (None, "null", "other")
            for index in range(5 if value != "other" else 1)
        ]
    )

    plan = plan_of(facts)

    (step,) = plan.steps
    assert (len(plan.groups), plan.reason[:25]) == (2, "10 files in 2 partitions ")
    assert json.loads(step.filter) == {
        "type": "or",
        "left": {"type": "is-null", "term": "day"},
        "right": {"type": "in", "term": "day", "values": ["null"]},
    }
