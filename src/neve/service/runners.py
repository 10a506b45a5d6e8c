"""Operations as a policy wants them, each with a preview and a way to run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from neve.model.facts import TableFacts
from neve.model.operation import Operation, OperationPlan
from neve.model.orphans import OrphanRules
from neve.model.outcome import Outcome
from neve.model.plan import Plan
from neve.model.policies import EffectivePolicy
from neve.model.table import TableRef
from neve.policy.effective import plan_request
from neve.service.expire import ExpireSnapshotsOperation
from neve.service.maintain import Maintenance
from neve.service.operate import TableOperation, run_operation
from neve.service.orphans import sweep_orphans
from neve.service.upkeep import upkeep_of


class Runner(Protocol):
    """One operation on one table, by its policy."""

    def preview(self, services: Maintenance, facts: TableFacts) -> Any:
        """The plan: whether it is empty, its reason, and what `run` is given back."""
        ...

    def run(self, services: Maintenance, table: TableRef, planned: Any) -> Outcome:
        """Run what was shown; plan again only where the table has moved on since."""
        ...


@dataclass(frozen=True, slots=True)
class Compaction:
    """Rewrites data files; its plans have their own kind."""

    policy: EffectivePolicy

    def preview(self, services: Maintenance, facts: TableFacts) -> Plan:
        where = self.policy.rewrite_data_files.where
        if where is not None:
            facts = services.surveyor.survey(facts.table, where=where)
        return services.plan_from(facts, plan_request(self.policy), self.policy.compaction)

    def run(self, services: Maintenance, table: TableRef, planned: Plan) -> Outcome:
        return services.compact(
            table,
            plan_request(self.policy),
            where=self.policy.rewrite_data_files.where,
            policy=self.policy.compaction,
            planned=planned,
            log=False,
        )


@dataclass(frozen=True, slots=True)
class OnTable:
    """An operation that commits to its table, or computes something about it."""

    of: TableOperation

    def preview(self, services: Maintenance, facts: TableFacts) -> OperationPlan[Any]:
        return self.of.plan(services, facts)

    def run(self, services: Maintenance, table: TableRef, planned: OperationPlan[Any]) -> Outcome:
        return run_operation(services, table, self.of, planned=planned, log=False)


@dataclass(frozen=True, slots=True)
class Sweep:
    """Orphans: whether there are any is only known after listing the files."""

    rules: OrphanRules

    def preview(self, services: Maintenance, facts: TableFacts) -> _WillLook:
        return _WillLook("Files are listed, and orphans go into quarantine.")

    def run(self, services: Maintenance, table: TableRef, planned: _WillLook) -> Outcome:
        return sweep_orphans(services, table, self.rules, log=False)


@dataclass(frozen=True, slots=True)
class _WillLook:
    reason: str
    is_empty: bool = False


def runners_of(policy: EffectivePolicy) -> dict[Operation, Runner]:
    """Every operation, in the order in which they are run."""
    return {
        Operation.REWRITE_DATA_FILES: Compaction(policy),
        **{name: OnTable(operation) for name, operation in upkeep_of(policy).items()},
        Operation.EXPIRE_SNAPSHOTS: OnTable(ExpireSnapshotsOperation(policy.expire_snapshots)),
        Operation.REMOVE_ORPHAN_FILES: Sweep(policy.remove_orphan_files),
    }
