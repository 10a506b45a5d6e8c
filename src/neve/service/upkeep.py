"""Operations that keep a table's metadata and deletes in shape, for the runner of operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from neve.model.facts import OPERATION_PROPERTY, DeleteKind, StatisticsKind, TableFacts
from neve.model.operation import Operation, OperationPlan
from neve.model.policies import (
    ComputeTableStatsArguments,
    EffectivePolicy,
    RewriteManifestsArguments,
    RewritePositionDeleteFilesArguments,
)
from neve.model.policy import CompactionPolicy
from neve.model.steps import (
    ComputePartitionStats,
    ComputeTableStats,
    RemoveDanglingDeletes,
    RewriteManifests,
    RewritePositionDeleteFiles,
)
from neve.planning.deletes import dangling_deletes
from neve.planning.operations.compute_partition_stats import (
    has_partition_stats,
    plan_compute_partition_stats,
)
from neve.planning.operations.compute_table_stats import known_fields, plan_compute_table_stats
from neve.planning.operations.remove_dangling_deletes import plan_remove_dangling_deletes
from neve.planning.operations.rewrite_manifests import (
    ManifestThresholds,
    plan_rewrite_manifests,
)
from neve.planning.operations.rewrite_position_delete_files import (
    plan_rewrite_position_delete_files,
)
from neve.service.lease import HeldLease
from neve.service.operate import TableOperation
from neve.service.services import Services
from neve.service.unchanged import check_commits
from neve.service.verify import snapshots_of

UNDO_WINDOW_SECONDS = CompactionPolicy().undo_window_seconds


@dataclass(frozen=True)
class _Upkeep:
    """What all of them share: one step, run as it is."""

    operation: ClassVar[Operation]

    def execute(
        self,
        services: Services,
        plan: OperationPlan[Any],
        held: HeldLease,
        properties: Mapping[str, str],
    ) -> None:
        services.reporter(f"Running {self.operation} on {plan.table} …")
        held.check()
        services.engine.execute(plan.table, plan.step, properties, services.reporter)


@dataclass(frozen=True)
class _Commits(_Upkeep):
    """Commits snapshots in which no row and no data file is another one than before."""

    undo_window_seconds: int | None = UNDO_WINDOW_SECONDS

    def has_landed(self, plan: OperationPlan[Any], job_id: str, after: TableFacts) -> bool:
        return bool(snapshots_of(job_id, after))

    def check(
        self, services: Services, plan: OperationPlan[Any], before: TableFacts, after: TableFacts
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
        return check_commits(services, plan.table, self.operation, ours)


@dataclass(frozen=True)
class RewriteManifestsOperation(_Commits):
    """Few large manifests instead of many small ones."""

    operation = Operation.REWRITE_MANIFESTS
    arguments: RewriteManifestsArguments = field(default_factory=RewriteManifestsArguments)
    thresholds: ManifestThresholds = field(default_factory=ManifestThresholds)

    def plan(self, services: Services, facts: TableFacts) -> OperationPlan[RewriteManifests]:
        return plan_rewrite_manifests(facts, self.arguments, self.thresholds, services.clock())

    def execute(
        self,
        services: Services,
        plan: OperationPlan[RewriteManifests],
        held: HeldLease,
        properties: Mapping[str, str],
    ) -> None:
        assert plan.step is not None
        for spec_id in plan.step.spec_ids:
            # Each spec is a commit, and none may be made without the lease.
            step = replace(plan.step, spec_ids=(spec_id,))
            super().execute(services, replace(plan, step=step), held, properties)

    def figures(self, facts: TableFacts) -> dict[str, int]:
        return {
            "manifests": len(facts.manifests),
            "manifest_bytes": sum(manifest.size_bytes for manifest in facts.manifests),
        }

    def sentence(
        self,
        plan: OperationPlan[RewriteManifests],
        before: Mapping[str, int],
        after: Mapping[str, int],
    ) -> str:
        return f"{before['manifests']} manifests became {after['manifests']}."


@dataclass(frozen=True)
class _OfDeletes(_Commits):
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
class RewritePositionDeleteFilesOperation(_OfDeletes):
    """Few position delete files instead of many; on format version 3, deletion vectors."""

    operation = Operation.REWRITE_POSITION_DELETE_FILES
    arguments: RewritePositionDeleteFilesArguments = field(
        default_factory=RewritePositionDeleteFilesArguments
    )

    def plan(
        self, services: Services, facts: TableFacts
    ) -> OperationPlan[RewritePositionDeleteFiles]:
        if self.arguments.where is not None:
            facts = services.surveyor.survey(facts.table, where=self.arguments.where)
        return plan_rewrite_position_delete_files(facts, self.arguments, services.clock())

    def sentence(
        self,
        plan: OperationPlan[RewritePositionDeleteFiles],
        before: Mapping[str, int],
        after: Mapping[str, int],
    ) -> str:
        vectors = after["deletion_vectors"]
        beside = f" and {vectors} deletion vectors" if vectors else ""
        count = "position_delete_files"
        return f"{before[count]} position delete files became {after[count]}{beside}."


@dataclass(frozen=True)
class RemoveDanglingDeletesOperation(_OfDeletes):
    """No delete files without a data file that they apply to."""

    operation = Operation.REMOVE_DANGLING_DELETES

    def plan(self, services: Services, facts: TableFacts) -> OperationPlan[RemoveDanglingDeletes]:
        return plan_remove_dangling_deletes(facts, services.clock())

    def sentence(
        self,
        plan: OperationPlan[RemoveDanglingDeletes],
        before: Mapping[str, int],
        after: Mapping[str, int],
    ) -> str:
        gone = before["dangling_delete_files"] - after["dangling_delete_files"]
        return f"{gone} delete files that applied to no data file were dropped."


@dataclass(frozen=True)
class _Computes(_Upkeep):
    """Adds a statistics file to the table's metadata. There is no snapshot to go back from."""

    @property
    def undo_window_seconds(self) -> int | None:
        return None

    def check(
        self, services: Services, plan: OperationPlan[Any], before: TableFacts, after: TableFacts
    ) -> str | None:
        return None

    def figures(self, facts: TableFacts) -> dict[str, int]:
        kinds = Counter(file.kind for file in facts.statistics)
        return {
            "columns_with_statistics": len(known_fields(facts)),
            "table_statistics_files": kinds[StatisticsKind.TABLE],
            "partition_statistics_files": kinds[StatisticsKind.PARTITION],
        }


@dataclass(frozen=True)
class ComputeTableStatsOperation(_Computes):
    """Distinct values of columns, for the rows as they are now."""

    operation = Operation.COMPUTE_TABLE_STATS
    arguments: ComputeTableStatsArguments = field(default_factory=ComputeTableStatsArguments)

    def plan(self, services: Services, facts: TableFacts) -> OperationPlan[ComputeTableStats]:
        return plan_compute_table_stats(facts, self.arguments, services.clock())

    def has_landed(
        self, plan: OperationPlan[ComputeTableStats], job_id: str, after: TableFacts
    ) -> bool:
        assert plan.step is not None
        columns = after.snapshot_columns or after.columns
        wanted = {c.field_id for c in columns if c.name in plan.step.columns}
        return any(
            file.kind is StatisticsKind.TABLE
            and file.snapshot_id == plan.step.snapshot_id
            and wanted <= file.field_ids
            for file in after.statistics
        )

    def sentence(
        self,
        plan: OperationPlan[ComputeTableStats],
        before: Mapping[str, int],
        after: Mapping[str, int],
    ) -> str:
        assert plan.step is not None
        return f"Distinct values were counted in {', '.join(plan.step.columns)}."


@dataclass(frozen=True)
class ComputePartitionStatsOperation(_Computes):
    """Files and records of every partition, for the current snapshot."""

    operation = Operation.COMPUTE_PARTITION_STATS

    def plan(self, services: Services, facts: TableFacts) -> OperationPlan[ComputePartitionStats]:
        return plan_compute_partition_stats(facts, services.clock())

    def has_landed(
        self, plan: OperationPlan[ComputePartitionStats], job_id: str, after: TableFacts
    ) -> bool:
        assert plan.step is not None
        return has_partition_stats(after, plan.step.snapshot_id)

    def sentence(
        self,
        plan: OperationPlan[ComputePartitionStats],
        before: Mapping[str, int],
        after: Mapping[str, int],
    ) -> str:
        assert plan.step is not None
        return f"The partitions of snapshot {plan.step.snapshot_id} were counted."


def upkeep_of(policy: EffectivePolicy) -> dict[Operation, TableOperation]:
    """Every one of them as a policy wants it, in the order in which they are run."""
    window = policy.compaction.undo_window_seconds
    return {
        item.operation: item
        for item in (
            RewritePositionDeleteFilesOperation(
                arguments=policy.rewrite_position_delete_files, undo_window_seconds=window
            ),
            RemoveDanglingDeletesOperation(undo_window_seconds=window),
            RewriteManifestsOperation(
                arguments=policy.rewrite_manifests, undo_window_seconds=window
            ),
            ComputeTableStatsOperation(arguments=policy.compute_table_stats),
            ComputePartitionStatsOperation(),
        )
    }
