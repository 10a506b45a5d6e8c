"""Delete files without a data file are dropped: what must hold afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from neve.model.counts import many, verb
from neve.model.facts import TableFacts
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.policies import (
    EffectivePolicy,
)
from neve.model.steps import (
    RemoveDanglingDeletes,
)
from neve.planning.operations.remove_dangling_deletes import plan_remove_dangling_deletes
from neve.service.operations.one_step import ChangesDeletes
from neve.service.services import Services


@dataclass(frozen=True)
class RemoveDanglingDeletesOperation(ChangesDeletes):
    """No delete files without a data file that they apply to."""

    operation = Operation.REMOVE_DANGLING_DELETES

    @classmethod
    def of(cls, policy: EffectivePolicy) -> Self:
        return cls(undo_window_seconds=policy.compaction.undo_window_seconds)

    def plan(self, services: Services, facts: TableFacts) -> Plan[RemoveDanglingDeletes]:
        return plan_remove_dangling_deletes(facts, services.clock())

    def sentence(
        self,
        plan: Plan[RemoveDanglingDeletes],
        before: Mapping[str, int],
        after: Mapping[str, int],
    ) -> str:
        gone = before["dangling_delete_files"] - after["dangling_delete_files"]
        files, were = many(gone, "delete file"), verb(gone, "was", "were")
        return f"{files} that applied to no data file {were} dropped."
