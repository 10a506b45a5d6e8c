"""Few large manifests instead of many: what runs, and what must hold afterwards."""

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
    RewriteManifestsArguments,
)
from neve.model.steps import (
    RewriteManifests,
)
from neve.planning.operations.rewrite_manifests import ManifestThresholds, plan_rewrite_manifests
from neve.service.operations.one_step import CommitsSnapshots
from neve.service.services import Services


@dataclass(frozen=True)
class RewriteManifestsOperation(CommitsSnapshots):
    """Few large manifests instead of many small ones."""

    operation = Operation.REWRITE_MANIFESTS
    arguments: RewriteManifestsArguments = field(default_factory=RewriteManifestsArguments)
    thresholds: ManifestThresholds = field(default_factory=ManifestThresholds)

    @classmethod
    def of(cls, policy: EffectivePolicy) -> Self:
        return cls(
            arguments=policy.rewrite_manifests,
            undo_window_seconds=policy.compaction.undo_window_seconds,
        )

    def plan(self, services: Services, facts: TableFacts) -> Plan[RewriteManifests]:
        return plan_rewrite_manifests(facts, self.arguments, self.thresholds, services.clock())

    def figures(self, facts: TableFacts) -> dict[str, int]:
        return {
            "manifests": len(facts.manifests),
            "manifest_bytes": sum(manifest.size_bytes for manifest in facts.manifests),
        }

    def sentence(
        self,
        plan: Plan[RewriteManifests],
        before: Mapping[str, int],
        after: Mapping[str, int],
    ) -> str:
        return f"{many(before['manifests'], 'manifest')} became {after['manifests']}."
