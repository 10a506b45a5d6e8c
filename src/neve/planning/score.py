"""The score of a table: what a cure would gain, in tenfolds, so that it never saturates."""

from __future__ import annotations

import math

from neve.model.facts import TableFacts
from neve.model.health import ScanGain, ScorePart

#: Warning and critical thresholds of the findings about metadata.
SNAPSHOT_COUNT = (100, 500)
MANIFEST_COUNT = (100, 500)
WEIGHTS = {"small_files": 45.0, "deletes": 35.0, "snapshots": 10.0, "manifests": 10.0}
#: Where a part has no points left; each tenfold up to it takes the same number of them.
WORST = 1_000_000


def score_parts(facts: TableFacts, gain: ScanGain) -> tuple[ScorePart, ...]:
    """Points out of 100, and for each part what takes them away."""
    snapshots, manifests = len(facts.snapshots), facts.manifest_count
    return (
        _part("small_files", gain.file_opens, "file opens that a scan could save"),
        _part("deletes", gain.deletes_applied, "deletes that a scan applies"),
        _part(
            "snapshots",
            max(0, snapshots - SNAPSHOT_COUNT[0]),
            f"snapshots beyond {SNAPSHOT_COUNT[0]}",
        ),
        _part(
            "manifests",
            max(0, manifests - MANIFEST_COUNT[0]),
            f"manifests beyond {MANIFEST_COUNT[0]}",
        ),
    )


def _part(name: str, value: int, what: str) -> ScorePart:
    weight = WEIGHTS[name]
    lost = min(1.0, math.log10(1 + value) / math.log10(1 + WORST))
    sentence = f"{value:,} {what}; 0 points at {WORST:,}."
    return ScorePart(name, weight * (1.0 - lost), weight, sentence)
