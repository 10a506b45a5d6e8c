from __future__ import annotations

import pytest

from neve.model.plan import NothingToDo
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Strategy
from neve.planning.cost import CostModel, Rates
from neve.planning.health import assess
from neve.planning.planner import make_plan
from neve.testing.facts import MB, NOW, data_file, partition, snapshot, table_facts

pytestmark = pytest.mark.promise(29)

#: Monday's files were committed an hour ago, Tuesday's three hours ago.
FACTS = table_facts(
    [
        data_file(f"{day}-{index}", MB, partition=partition(day), added_snapshot_id=snapshot_id)
        for day, snapshot_id in (("mon", 11), ("tue", 9))
        for index in range(3)
    ],
    snapshots=[snapshot(9), snapshot(11, 9)],
)


def planned(hot_partition_seconds, strategy):
    policy = CompactionPolicy(hot_partition_seconds=hot_partition_seconds)
    columns = ("id",) if strategy is Strategy.SORT else ()
    return make_plan(
        FACTS,
        assess(FACTS, policy, NOW),
        policy,
        RewriteDataFilesArguments(strategy, columns),
        cost_model=CostModel(),
        rates=Rates(),
        now=NOW,
    )


@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.SMALL_FILES, Strategy.SORT])
def test_a_partition_that_is_hot_is_left_to_its_writers(strategy):
    plan = planned(7200, strategy)

    assert [group.partition for group in plan.groups] == ["day=tue"]
    assert [reason.code for reason in plan.reasons] == [NothingToDo.TOO_YOUNG]
    assert "7200 seconds ago" in plan.reasons[0].sentence


def test_a_partition_is_hot_no_longer_than_it_is_said():
    assert len(planned(3600, Strategy.AUTO).groups) == len(planned(0, Strategy.AUTO).groups) == 2
