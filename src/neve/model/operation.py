"""The operations that maintain a table, and what one of them intends to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

from neve.model.facts import TableFacts
from neve.model.table import TableRef


class Operation(StrEnum):
    """Operations by the names of Iceberg's procedures, in the order in which they are run."""

    REWRITE_DATA_FILES = "rewrite_data_files"
    REWRITE_POSITION_DELETE_FILES = "rewrite_position_delete_files"
    REMOVE_DANGLING_DELETES = "remove_dangling_deletes"
    REWRITE_MANIFESTS = "rewrite_manifests"
    COMPUTE_TABLE_STATS = "compute_table_stats"
    COMPUTE_PARTITION_STATS = "compute_partition_stats"
    EXPIRE_SNAPSHOTS = "expire_snapshots"
    REMOVE_ORPHAN_FILES = "remove_orphan_files"


Step = TypeVar("Step")


@dataclass(frozen=True, slots=True)
class OperationPlan(Generic[Step]):
    """One operation on one table: what it would do, or why there is nothing to do."""

    operation: Operation
    table: TableRef
    table_uuid: str
    snapshot_id: int | None
    created_at: datetime
    #: What to do; None where there is nothing.
    step: Step | None
    #: What it does and why, or why it does nothing.
    reason: str

    @property
    def is_empty(self) -> bool:
        return self.step is None

    def is_of(self, facts: TableFacts) -> bool:
        """Whether the table is still where the plan was made; refs may have come and gone."""
        return (self.table_uuid, self.snapshot_id) == (facts.table_uuid, facts.snapshot_id)
