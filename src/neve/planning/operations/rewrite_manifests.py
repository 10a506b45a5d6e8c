"""When manifests are rewritten: many of them hold what few could."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from neve.model.counts import many, verb
from neve.model.facts import ManifestContent, ManifestFacts, TableFacts
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.policies import RewriteManifestsArguments
from neve.model.sizes import format_size
from neve.model.steps import RewriteManifests
from neve.planning.operations.intent import operation_plan, size_property, snapshots_made_by

TARGET_SIZE = "commit.manifest.target-size-bytes"
DEFAULT_TARGET_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ManifestThresholds:
    """From when on rewriting manifests pays: Iceberg's action writes all of a spec again."""

    #: So many manifests of a spec must have come since its last rewrite.
    min_manifests: int = 10
    #: The share of a spec's manifests that must go away.
    min_saving_ratio: float = 0.5


def plan_rewrite_manifests(
    facts: TableFacts,
    arguments: RewriteManifestsArguments,
    thresholds: ManifestThresholds,
    now: datetime,
) -> Plan[RewriteManifests]:
    """Choose the partition specs whose manifests are to be written again."""
    target_bytes = size_property(facts, TARGET_SIZE, DEFAULT_TARGET_BYTES)
    settled = snapshots_made_by(Operation.REWRITE_MANIFESTS, facts)
    by_spec: dict[int, list[ManifestFacts]] = defaultdict(list)
    for manifest in facts.manifests:
        if arguments.spec_id in (None, manifest.spec_id):
            by_spec[manifest.spec_id].append(manifest)
    reasons = {
        spec_id: _why_not(manifests, settled, target_bytes, thresholds)
        for spec_id, manifests in sorted(by_spec.items())
    }
    chosen = tuple(spec_id for spec_id, reason in reasons.items() if reason is None)
    if not chosen:
        told = [
            f"{reason} (partition spec {spec_id})" if len(reasons) > 1 else reason
            for spec_id, reason in reasons.items()
            if reason is not None
        ]
        reason = " ".join(f"{item}." for item in told) or "There are no manifests."
        return operation_plan(Operation.REWRITE_MANIFESTS, facts, now, (), reason)
    inputs = [manifest for spec_id in chosen for manifest in by_spec[spec_id]]
    outputs = sum(expected_manifests(by_spec[spec_id], target_bytes) for spec_id in chosen)
    return operation_plan(
        Operation.REWRITE_MANIFESTS,
        facts,
        now,
        [RewriteManifests(spec_id, use_caching=bool(arguments.use_caching)) for spec_id in chosen],
        f"{len(inputs)} manifests of {format_size(sum(m.size_bytes for m in inputs))} "
        f"become about {outputs}.",
    )


def expected_manifests(manifests: Sequence[ManifestFacts], target_bytes: int) -> int:
    """Data and deletes are kept apart, each in manifests of the target size."""
    sizes: dict[ManifestContent, int] = defaultdict(int)
    for manifest in manifests:
        sizes[manifest.content] += manifest.size_bytes
    return sum(max(1, math.ceil(size / target_bytes)) for size in sizes.values())


def _why_not(
    manifests: Sequence[ManifestFacts],
    settled: frozenset[int],
    target_bytes: int,
    thresholds: ManifestThresholds,
) -> str | None:
    """Why the manifests of one spec are left alone, or None."""
    count = len(manifests)
    if any(manifest.file_count is None for manifest in manifests):
        left = f"{many(count, 'manifest')} {verb(count, 'is', 'are')} left alone"
        return f"{left}, because a writer did not count their files"
    # What an earlier run wrote is as large as it gets: sizes after compression are not foreseen.
    fresh = sum(1 for manifest in manifests if manifest.added_snapshot_id not in settled)
    if fresh < thresholds.min_manifests:
        return (
            f"{fresh} of {many(count, 'manifest')} {verb(fresh, 'has', 'have')} not been "
            "rewritten yet; "
            f"it takes {thresholds.min_manifests}"
        )
    outputs = expected_manifests(manifests, target_bytes)
    if count - outputs < thresholds.min_saving_ratio * count:
        return f"{count} manifests would become about {outputs}, which saves too little"
    return None
