"""Properties of planning: it covers what it should, it converges, and it is deterministic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.facts import (
    JOB_ID_PROPERTY,
    LAYOUT_PROPERTY,
    TARGET_SIZE_PROPERTY,
    DeleteKind,
)
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Strategy
from neve.planning.cost import CostModel, Rates
from neve.planning.health import assess
from neve.planning.planner import make_plan
from neve.testing.facts import NOW, data_file, delete_file, partition, table_facts
from neve.testing.lake import MemoryLake, SilentReporter

pytestmark = pytest.mark.promise(4)

POLICY = CompactionPolicy(target_file_size_bytes=1000)
SORTED = {Strategy.SORT: ("id",), Strategy.ZORDER: ("id",)}


@st.composite
def tables(draw):
    specs = draw(
        st.lists(
            st.tuples(st.integers(0, 1500), st.sampled_from("abc"), st.integers(1, 3)), max_size=40
        )
    )
    files = [
        data_file(f"f{i}", size, partition=partition(day), data_sequence_number=sequence)
        for i, (size, day, sequence) in enumerate(specs)
    ]
    kinds = [DeleteKind.EQUALITY, DeleteKind.POSITION, DeleteKind.DELETION_VECTOR]
    deletes = []
    for index, (kind, day, sequence) in enumerate(
        draw(
            st.lists(
                st.tuples(st.sampled_from(kinds), st.sampled_from("abc"), st.integers(1, 3)),
                max_size=5,
            )
        )
    ):
        is_vector = kind is DeleteKind.DELETION_VECTOR
        deletes.append(
            delete_file(
                f"d{index}",
                kind,
                partition=partition(day),
                data_sequence_number=sequence,
                referenced_path=f"file:///lake/f{index}" if is_vector else None,
            )
        )
    return table_facts(files, deletes)


def plan_of(facts, strategy):
    return make_plan(
        facts,
        assess(facts, POLICY, NOW),
        POLICY,
        RewriteDataFilesArguments(strategy, SORTED.get(strategy, ())),
        cost_model=CostModel(),
        rates=Rates(),
        now=NOW,
    )


def run(lake, plan):
    for step in plan.steps:
        properties = {
            JOB_ID_PROPERTY: "job",
            TARGET_SIZE_PROPERTY: str(plan.target_file_size_bytes),
            LAYOUT_PROPERTY: step.layout,
        }
        lake.rewrite(plan.table, step, properties, SilentReporter())


@given(tables(), st.sampled_from(list(Strategy)), st.floats(0.05, 1.5))
def test_planning_again_after_a_run_gives_an_empty_plan(facts, strategy, compression):
    lake = MemoryLake(facts, compression=compression)

    run(lake, plan_of(facts, strategy))

    again = plan_of(lake.facts, strategy)
    assert again.is_empty
    assert again.reasons


@pytest.mark.conformance("one file in two groups")
@given(tables(), st.sampled_from(list(Strategy)))
def test_plans_are_the_same_again_with_no_file_twice_and_groups_of_one_partition(facts, strategy):
    plan = plan_of(facts, strategy)
    partitions = {file.path: file.partition for file in facts.data_files}
    planned = [file.path for group in plan.groups for file in group.files]

    assert len(planned) == len(set(planned))
    assert set(planned) <= partitions.keys()
    for group in plan.groups:
        assert len({partitions[file.path] for file in group.files}) == 1
    assert plan_of(facts, strategy) == plan


@given(tables(), st.sampled_from([Strategy.SMALL_FILES, Strategy.AUTO, Strategy.TIME_SERIES]))
def test_every_group_gains_something(facts, strategy):
    assert all(group.gain > 0 for group in plan_of(facts, strategy).groups)


@given(tables(), st.floats(0, 0.001))
def test_a_budget_is_never_exceeded(facts, budget):
    plan = make_plan(
        facts,
        assess(facts, POLICY, NOW),
        POLICY,
        RewriteDataFilesArguments(),
        max_cost_usd=budget,
        cost_model=CostModel(),
        rates=Rates(),
        now=NOW,
    )

    assert sum(group.cost.usd.expected for group in plan.groups) <= budget
