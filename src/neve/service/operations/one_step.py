"""What operations share that run one of Iceberg's actions for each of their steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from neve.model.facts import OPERATION_PROPERTY, DeleteKind, StatisticsKind, TableFacts
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.policy import CompactionPolicy
from neve.planning.deletes import dangling_deletes
from neve.planning.operations.compute_table_stats import known_fields
from neve.planning.operations.intent import is_kept_by_nessie
from neve.service.lease import HeldLease
from neve.service.services import Services
from neve.service.unchanged import check_commits
from neve.service.verify import snapshots_of

UNDO_WINDOW_SECONDS = CompactionPolicy().undo_window_seconds


@dataclass(frozen=True)
class OneAction:
    """Every step is run as it is, under the lease."""

    operation: ClassVar[Operation]

    def execute(
        self,
        services: Services,
        plan: Plan[Any],
        held: HeldLease,
        properties: Mapping[str, str],
    ) -> None:
        services.reporter(f"Running {self.operation} on {plan.table} …")
        for step in plan.steps:
            # Each step is a commit, and none may be made without the lease.
            held.check()
            services.engine.execute(plan.table, step, properties, services.reporter)


@dataclass(frozen=True)
class CommitsSnapshots(OneAction):
    """Commits snapshots in which no row and no data file is another one than before."""

    undo_window_seconds: int | None = UNDO_WINDOW_SECONDS

    def has_landed(self, plan: Plan[Any], job_id: str, after: TableFacts) -> bool:
        # What an earlier attempt at the job committed is behind the plan already.
        behind = {s.snapshot_id for s in replace(after, snapshot_id=plan.snapshot_id).ancestry()}
        return any(s.snapshot_id not in behind for s in snapshots_of(job_id, after))

    def check(
        self, services: Services, plan: Plan[Any], before: TableFacts, after: TableFacts
    ) -> str | None:
        since = []
        for snapshot in after.ancestry():
            if snapshot.snapshot_id == before.snapshot_id:
                break
            since.append(snapshot)
        else:
            return f"Snapshot {before.snapshot_id} is no longer part of the table's history."
        # The table is ours alone, so that commits of this operation are commits of this job.
        ours = [s for s in reversed(since) if s.summary.get(OPERATION_PROPERTY) == self.operation]
        known = [before] if is_kept_by_nessie(before.properties) else []
        return check_commits(services, plan.table, self.operation, ours, known)


@dataclass(frozen=True)
class ChangesDeletes(CommitsSnapshots):
    def figures(self, facts: TableFacts) -> dict[str, int]:
        kinds = Counter(delete.kind for delete in facts.delete_files)
        sizes = {delete.path: delete.size_bytes for delete in facts.delete_files}
        dangling = dangling_deletes(facts.delete_files, facts.data_files, facts.specs)
        return {
            "position_delete_files": kinds[DeleteKind.POSITION],
            "equality_delete_files": kinds[DeleteKind.EQUALITY],
            "deletion_vectors": kinds[DeleteKind.DELETION_VECTOR],
            "dangling_delete_files": len(dangling),
            "delete_bytes": sum(sizes.values()),
        }


@dataclass(frozen=True)
class AddsStatistics(OneAction):
    """Adds a statistics file to the table's metadata. There is no snapshot to go back from."""

    @property
    def undo_window_seconds(self) -> int | None:
        return None

    def check(
        self, services: Services, plan: Plan[Any], before: TableFacts, after: TableFacts
    ) -> str | None:
        return None

    def figures(self, facts: TableFacts) -> dict[str, int]:
        kinds = Counter(file.kind for file in facts.statistics)
        return {
            "columns_with_statistics": len(known_fields(facts)),
            "table_statistics_files": kinds[StatisticsKind.TABLE],
            "partition_statistics_files": kinds[StatisticsKind.PARTITION],
        }
