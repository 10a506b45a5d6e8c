"""Few position delete files instead of many: what runs, and what must hold afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from neve.model.counts import many
from neve.model.facts import TableFacts
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.policies import (
    EffectivePolicy,
    RewritePositionDeleteFilesArguments,
)
from neve.model.steps import (
    RewritePositionDeleteFiles,
)
from neve.planning.operations.rewrite_position_delete_files import (
    plan_rewrite_position_delete_files,
)
from neve.service.operations.one_step import ChangesDeletes
from neve.service.services import Services


@dataclass(frozen=True)
class RewritePositionDeleteFilesOperation(ChangesDeletes):
    """Few position delete files instead of many; on format version 3, deletion vectors."""

    operation = Operation.REWRITE_POSITION_DELETE_FILES
    arguments: RewritePositionDeleteFilesArguments = field(
        default_factory=RewritePositionDeleteFilesArguments
    )

    @classmethod
    def of(cls, policy: EffectivePolicy) -> Self:
        return cls(
            arguments=policy.rewrite_position_delete_files,
            undo_window_seconds=policy.compaction.undo_window_seconds,
        )

    def plan(self, services: Services, facts: TableFacts) -> Plan[RewritePositionDeleteFiles]:
        if self.arguments.where is not None:
            facts = services.surveyor.survey(
                facts.table, where=self.arguments.where, snapshot_id=facts.snapshot_id
            )
        return plan_rewrite_position_delete_files(facts, self.arguments, services.clock())

    def sentence(
        self,
        plan: Plan[RewritePositionDeleteFiles],
        before: Mapping[str, int],
        after: Mapping[str, int],
    ) -> str:
        vectors = after["deletion_vectors"]
        beside = f" and {many(vectors, 'deletion vector')}" if vectors else ""
        was, became = (figures["position_delete_files"] for figures in (before, after))
        return f"{many(was, 'position delete file')} became {became}{beside}."
