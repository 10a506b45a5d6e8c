"""One door for policy: whoever asks for a plan gets the same one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neve.model.job import JobRequest
from neve.model.maintenance import MaintainRequest
from neve.model.operation import Operation
from neve.model.policies import PolicyBook, PolicyRule
from neve.policy.keys import read_value
from neve.policy.resolve import COMMAND_LINE
from neve.service.maintain import maintain_tables
from neve.service.operations.registry import planned_handler
from neve.service.operations.rewrite_data_files import CompactionHandler
from neve.service.policies import DELETING, Policies
from neve.service.run_job import run
from neve.testing.facts import TABLE

VALUES = {
    "rewrite_data_files.options.target-file-size-bytes": st.sampled_from(["5MB", "50MB", "2GB"]),
    "rewrite_data_files.min_file_size_ratio": st.floats(0.1, 1.0),
    "rewrite_data_files.options.min-input-files": st.integers(2, 6),
    "rewrite_data_files.strategy": st.sampled_from(
        ["auto", "small_files", "delete_files", "time_series", "binpack"]
    ),
    "rewrite_data_files.engine": st.sampled_from(["auto", "spark"]),
    "rewrite_data_files.verify": st.sampled_from(["full", "metadata", "off"]),
    "rewrite_data_files.quiet_seconds": st.integers(0, 10**6),
    "rewrite_data_files.min_row_group_size": st.sampled_from(["1KB", "4MB", "1GB"]),
    "guards.hot_partition_seconds": st.integers(0, 10**6),
    "budget.max_cost_usd": st.floats(0, 10),
    "undo_window": st.sampled_from(["1h", "9d"]),
}
RULES = st.lists(
    st.builds(
        lambda values, priority: PolicyRule(
            "drawn",
            priority=priority,
            values={key: read_value(key, value) for key, value in values.items()},
        ),
        st.fixed_dictionaries({}, optional=VALUES),
        st.integers(0, 3),
    ),
    max_size=3,
)


@settings(suppress_health_check=list(HealthCheck))
@given(rules=RULES)
def test_plan_compact_and_maintain_plan_the_same(make_services, monkeypatch, rules):
    services = replace(make_services(), policies=Policies(PolicyBook(tuple(rules))))
    asked = []
    handler = CompactionHandler.plan

    def plan(self, *arguments):
        asked.append(handler(self, *arguments))
        return asked[-1]

    monkeypatch.setattr(CompactionHandler, "plan", plan)
    by_plan = planned_handler(Operation.REWRITE_DATA_FILES).plan(
        services, services.surveyor.survey(TABLE), services.effective(TABLE)
    )
    maintain_tables(services, [TABLE], MaintainRequest(dry_run=True))
    run(services, JobRequest(TABLE, Operation.REWRITE_DATA_FILES))

    assert len(asked) >= 3
    assert all(made == by_plan for made in asked[:3])
    target = services.effective(TABLE).compaction.target_file_size_bytes
    assert by_plan.target_file_size_bytes == target


def test_a_flag_is_the_strongest_layer_and_is_shown_as_such(services):
    key = "rewrite_data_files.options.target-file-size-bytes"
    rule = PolicyRule("256", values={key: read_value(key, "256MB")})
    services = replace(services, policies=Policies(PolicyBook((rule,))))

    told = services.effective(TABLE, {key: "1MB"}).setting(key)

    assert (told.value, told.source) == (1024**2, COMMAND_LINE)
    assert services.effective(TABLE).setting(key).value == 256 * 1024**2


@pytest.mark.parametrize("operation", sorted(DELETING))
def test_apply_speaks_only_where_nobody_spoke(services, operation):
    facts, key = services.surveyor.survey(TABLE), f"{operation}.enabled"
    off = Policies(PolicyBook((PolicyRule("off", values={key: False}),)))

    assert not Policies().effective(facts).enables(operation)
    assert Policies().effective(facts, apply=True).enables(operation)
    assert not off.effective(facts, apply=True).enables(operation)
