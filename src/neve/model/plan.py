"""What Neve intends to do to a table: immutable, explained, made from one snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

from neve.model.facts import TableFacts
from neve.model.groups import Cost, FileGroup
from neve.model.health import PartitionHealth
from neve.model.operation import Operation
from neve.model.policy import Strategy, Verify
from neve.model.steps import RewriteDataFiles
from neve.model.table import TableRef

Step = TypeVar("Step")


class NothingToDo(StrEnum):
    """Why a plan, or a part of the table, stays untouched."""

    NO_SNAPSHOT = "no_snapshot"
    NO_DATA_FILES = "no_data_files"
    FILE_LISTED_TWICE = "file_listed_twice"
    FILTER_MATCHES_NOTHING = "filter_matches_nothing"
    ALREADY_GOOD = "already_good"
    TOO_FEW_FILES = "too_few_files"
    WOULD_NOT_CONVERGE = "would_not_converge"
    TOO_YOUNG = "too_young"
    NO_DELETES = "no_deletes"
    ALREADY_SORTED = "already_sorted"
    OVER_BUDGET = "over_budget"
    LEFT_ALONE = "left_alone"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for doing nothing, for the table or for one partition."""

    code: NothingToDo
    sentence: str
    partition: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[Step]):
    """One operation on one table: its steps, or why there are none."""

    operation: Operation
    table: TableRef
    table_uuid: str
    snapshot_id: int | None
    created_at: datetime
    steps: tuple[Step, ...]
    #: One sentence: what the plan does and why, or why it does nothing.
    reason: str

    @property
    def is_empty(self) -> bool:
        return not self.steps

    def is_of(self, facts: TableFacts) -> bool:
        """Whether the table is still where the plan was made; refs may have come and gone."""
        return (self.table_uuid, self.snapshot_id) == (facts.table_uuid, facts.snapshot_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan(Plan[RewriteDataFiles]):
    """A compaction. Applying it runs this, or refuses as stale."""

    operation: Operation = Operation.REWRITE_DATA_FILES
    plan_id: str
    #: The newest one at that snapshot: deletes above it came later.
    sequence_number: int
    schema_id: int
    spec_id: int
    where: str | None
    strategy: Strategy
    target_file_size_bytes: int
    #: Files below this count as small.
    small_file_bytes: int
    #: Copied files whose row groups turn out smaller are re-encoded instead.
    min_row_group_bytes: int
    undo_window_seconds: int
    #: None: as is usual for each engine.
    verify: Verify | None = None
    steps: tuple[RewriteDataFiles, ...]
    #: What is known from the steps is not for a file to say.
    reason: str = field(init=False)
    #: Why there is nothing to do, and what was left out of the steps.
    reasons: tuple[Reason, ...]
    partitions: tuple[PartitionHealth, ...]
    cost: Cost
    gain: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", self._reason())

    @property
    def groups(self) -> tuple[FileGroup, ...]:
        return tuple(group for step in self.steps for group in step.groups)

    def _reason(self) -> str:
        if self.is_empty:
            return self.reasons[0].sentence if self.reasons else "Nothing to do."
        files = sum(len(group.files) for group in self.groups)
        outputs = sum(group.expected_output_files for group in self.groups)
        partitions = len({(g.spec_id, g.partition_values) for g in self.groups})
        return (
            f"{files} files in {partitions} partition{'s' if partitions != 1 else ''} "
            f"become about {outputs}."
        )
