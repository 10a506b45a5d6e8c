"""Hold what a job committed against what was there before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from neve.model.facts import PROOF_PROPERTY, SnapshotFacts, TableFacts
from neve.model.outcome import Proof
from neve.model.table import TableRef
from neve.planning.proof import Change, find_change, merge_proofs, prove
from neve.service.services import Services
from neve.service.unchanged import files_with_other_deletes, same_positions


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
) -> Verdict:
    """Compare each snapshot with the one that it was made on.

    What was surveyed at one of them already, all of its files, is not read again.
    """
    seen = {facts.snapshot_id: facts for facts in known if facts.where is None}

    @cache
    def survey(snapshot_id: int | None) -> TableFacts:
        return seen.get(snapshot_id) or services.surveyor.survey(table, snapshot_id=snapshot_id)

    changes = tuple(find_change(survey(s.parent_id), survey(s.snapshot_id)) for s in snapshots)
    proof = merge_proofs([_prove(services, table, change) for change in changes])
    levels = {_level(snapshot) for snapshot in snapshots}
    if len(levels) == 1:
        # The same check was made of every output before it was committed.
        proof = replace(proof, level=levels.pop())
    return Verdict(changes, proof, _problem(services, changes, proof))


def _level(snapshot: SnapshotFacts) -> str:
    """What was proven before the commit: `bytes`, `store`, or nothing beyond `metadata`."""
    text = snapshot.summary.get(PROOF_PROPERTY)
    return str(json.loads(text)["level"]) if text else "metadata"


def _prove(services: Services, table: TableRef, change: Change) -> Proof:
    def live(snapshot_id: int | None, paths: list[str]) -> dict[str, int]:
        assert snapshot_id is not None
        return services.engine.live_rows(table, snapshot_id, paths) if paths else {}

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
