"""How findings are made and put in order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from neve.model.diagnosis import (
    MAX_EVIDENCE,
    MAX_EVIDENCE_CHARACTERS,
    IntegrityFinding,
    Severity,
)
from neve.model.integrity import SnapshotRecord, TableIntegrity

ORDER = list(Severity)


def found(
    code: str,
    severity: Severity,
    sentence: str,
    evidence: Collection[str],
    next_step: str | None = None,
    *,
    count: int | None = None,
) -> Iterator[IntegrityFinding]:
    """One finding, if there is evidence for it."""
    if not evidence:
        return
    shown = tuple(_clipped(text) for text in list(evidence)[:MAX_EVIDENCE])
    count = len(evidence) if count is None else count
    yield IntegrityFinding(code, severity, sentence, count, shown, next_step)


def _clipped(text: str) -> str:
    short = text if len(text) <= MAX_EVIDENCE_CHARACTERS else text[:MAX_EVIDENCE_CHARACTERS] + "…"
    return "".join(character if character.isprintable() else "�" for character in short)


def worst_first(findings: Iterable[IntegrityFinding]) -> tuple[IntegrityFinding, ...]:
    return tuple(sorted(findings, key=lambda finding: ORDER.index(finding.severity)))


def heads(facts: TableIntegrity) -> list[SnapshotRecord]:
    """The snapshots that readers see by name: the current one first, then branches and tags."""
    wanted = [facts.current_snapshot_id, *(ref.snapshot_id for ref in facts.refs)]
    by_id = {snapshot.snapshot_id: snapshot for snapshot in facts.snapshots}
    return [by_id[i] for i in dict.fromkeys(wanted) if i is not None and i in by_id]


def newest_whole(facts: TableIntegrity, missing: Collection[str]) -> SnapshotRecord | None:
    """The newest ancestor of the current snapshot in which nothing is damaged or missing."""
    by_id = {snapshot.snapshot_id: snapshot for snapshot in facts.snapshots}
    at = by_id.pop(facts.current_snapshot_id or -1, None)
    while at is not None:
        at = by_id.pop(at.parent_id if at.parent_id is not None else -1, None)
        if at is not None and _is_whole(facts, at, missing):
            return at
    return None


def _is_whole(facts: TableIntegrity, snapshot: SnapshotRecord, missing: Collection[str]) -> bool:
    if snapshot.problem:
        return False
    read = (facts.manifests.get(line) for line in snapshot.manifests)
    if any(contents is None or contents.problem for contents in read):
        return False
    return not any(file.path in missing for file in facts.files_of(snapshot))
