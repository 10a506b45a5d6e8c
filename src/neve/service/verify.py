"""Hold what a job committed against what was there before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from neve.model.facts import PROOF_PROPERTY, SnapshotFacts, TableFacts
from neve.model.outcome import Proof
from neve.model.rewrite import FooterRead, RowFingerprints, RowsCounted, StoreDigests
from neve.model.table import TableRef
from neve.planning.operations.intent import is_kept_by_nessie
from neve.planning.proof import Change, find_change, merge_proofs, prove
from neve.planning.written import LEVELS
from neve.service.services import Services
from neve.service.unchanged import (
    files_with_other_deletes,
    same_positions,
    without_parent,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the commits changed, the proof, and what is wrong, if anything is."""

    changes: tuple[Change, ...]
    proof: Proof
    problem: str | None


def snapshots_of(job_id: str, facts: TableFacts) -> list[SnapshotFacts]:
    """The job's snapshots in the table's history, oldest first."""
    return [s for s in reversed(facts.ancestry()) if s.job_id == job_id]


def is_listed(job_id: str, facts: TableFacts) -> bool:
    """Whether any snapshot of the table is the job's, on whatever branch."""
    return any(snapshot.job_id == job_id for snapshot in facts.snapshots)


def verify_commits(
    services: Services,
    table: TableRef,
    snapshots: Sequence[SnapshotFacts],
    known: Sequence[TableFacts] = (),
    *,
    reads_values: bool = False,
) -> Verdict:
    """Compare each snapshot with the one that it was made on.

    What was surveyed at one of them already, all of its files, is not read again. Where values are
    to be compared, that is done here for what was committed without it.
    """
    if orphan := without_parent(snapshots):
        return Verdict((), merge_proofs([]), orphan)
    seen = {
        facts.snapshot_id: facts
        for facts in known
        # Nessie does not show a second time what it has shown before.
        if facts.where is None or is_kept_by_nessie(facts.properties)
    }

    @cache
    def survey(snapshot_id: int | None) -> TableFacts:
        return seen.get(snapshot_id) or services.surveyor.survey(table, snapshot_id=snapshot_id)

    changes = tuple(find_change(survey(s.parent_id), survey(s.snapshot_id)) for s in snapshots)
    levels = [_level(snapshot) for snapshot in snapshots]
    proof = merge_proofs(
        [
            _prove(services, table, change, recounts=level != RowsCounted.level)
            for change, level in zip(changes, levels, strict=True)
        ]
    )
    unread = [
        number
        for number, level in enumerate(levels)
        if reads_values and LEVELS.index(level) < LEVELS.index(StoreDigests.level)
    ]
    problem = _problem(services, changes, proof) or next(
        (found for n in unread if (found := _other_values(services, table, changes[n]))), None
    )
    for number in unread if problem is None else ():
        levels[number] = RowFingerprints.level
    if levels:
        proof = replace(proof, level=min(levels, key=LEVELS.index))
    return Verdict(changes, proof, problem)


def _other_values(services: Services, table: TableRef, change: Change) -> str | None:
    """Whether readers see other rows in what came than in what went."""
    before, after = change.before.snapshot_id, change.after.snapshot_id
    assert before is not None
    assert after is not None
    read = services.engine.fingerprint
    expected = read(table, before, [file.path for file in change.removed])
    found = read(table, after, [file.path for file in change.added])
    if expected == found:
        return None
    return f"The new files of snapshot {after} hold rows {found} where {expected} were."


def _level(snapshot: SnapshotFacts) -> str:
    """What was proven before the commit; nothing beyond `metadata` where it does not say."""
    text = snapshot.summary.get(PROOF_PROPERTY)
    level = str(json.loads(text)["level"]) if text else FooterRead.level
    return level if level in LEVELS else FooterRead.level


def _prove(services: Services, table: TableRef, change: Change, *, recounts: bool) -> Proof:
    def live(snapshot_id: int | None, paths: list[str]) -> dict[str, int]:
        assert snapshot_id is not None
        return services.engine.live_rows(table, snapshot_id, paths) if paths else {}

    if not recounts and not change.added_paths_to_scan:
        return prove(change, None)
    return prove(
        change,
        live(change.before.snapshot_id, change.paths_to_scan),
        live(change.after.snapshot_id, change.added_paths_to_scan),
    )


def _problem(services: Services, changes: Sequence[Change], proof: Proof) -> str | None:
    if not proof.holds:
        return proof.explain_failure()
    for change in changes:
        if problem := _lost_delete(services, change):
            return problem
    return None


def _lost_delete(services: Services, change: Change) -> str | None:
    """What a dropped delete file said of files that stay must be said by others now."""
    if not change.lost_deletes:
        return None
    going = {file.path for file in change.removed}
    touched = files_with_other_deletes(change.before, change.after)
    staying = [path for path in touched if path not in going]
    if problem := same_positions(services, change.before, change.after, staying):
        lost = change.lost_deletes[0].path
        return f"Delete file {lost} was dropped although it still applies. {problem}"
    return None
