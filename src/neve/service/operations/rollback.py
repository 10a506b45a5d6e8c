"""Take a table back to an earlier snapshot, on purpose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from neve.model.counts import many
from neve.model.errors import InputError, JobRefused
from neve.model.facts import SnapshotFacts, TableFacts
from neve.model.job import ROLLBACK, TURN, JobRequest, JobState
from neve.model.metadata_change import UNDO_TAG_PREFIX, MetadataChange
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.service.context import JobContext, Prepared
from neve.service.operations.turns import before_turn
from neve.service.services import Services
from neve.service.undo import tag_for

OPERATION = ROLLBACK
TARGETS = ("snapshot_id", "time", "job_id", TURN)
#: The head of main that was seen when the rollback was asked for.
EXPECTED_HEAD = "expected_head"


@dataclass(frozen=True, slots=True)
class RollbackTarget:
    """Where to go: one of them is given."""

    snapshot_id: int | None = None
    time: datetime | None = None
    job_id: str | None = None
    turn_id: str | None = None


def rollback_arguments(target: RollbackTarget) -> dict[str, object]:
    """The target as a request holds it."""
    at = target.time.isoformat() if target.time else None
    given = (target.snapshot_id, at, target.job_id, target.turn_id)
    said = dict(zip(TARGETS, given, strict=True))
    return {key: value for key, value in said.items() if value is not None}


def target_of(request: JobRequest) -> RollbackTarget:
    """The target that a request names."""
    snapshot_id, time, job_id, turn_id = map(request.arguments.get, TARGETS)
    if sum(given is not None for given in (snapshot_id, time, job_id, turn_id)) != 1:
        raise InputError(
            "A rollback needs to know where to go back to, in one way.",
            next_step="Give one of snapshot_id, time, job_id and turn_id.",
        )
    try:
        target = RollbackTarget(
            int(str(snapshot_id)) if snapshot_id is not None else None,
            datetime.fromisoformat(str(time)) if time is not None else None,
            str(job_id) if job_id is not None else None,
            str(turn_id) if turn_id is not None else None,
        )
    except ValueError as error:
        raise InputError(f"The target of the rollback cannot be read: {error}.") from error
    if target.time is not None and target.time.utcoffset() is None:
        raise InputError(
            f"The time {time} to go back to has no time zone.",
            next_step="Write it with one, for example 2026-01-02T03:04:05Z.",
        )
    return target


def with_expected_head(services: Services, request: JobRequest) -> JobRequest:
    """The request, of a rollback with the head that its caller sees now.

    It may be run minutes later, and must not take along what was committed in between.
    """
    if request.operation != OPERATION or EXPECTED_HEAD in request.arguments:
        return request
    head = services.surveyor.outline(request.table).snapshot_id
    return replace(request, arguments={**request.arguments, EXPECTED_HEAD: head})


def _refuse_if_moved(request: JobRequest, facts: TableFacts) -> None:
    expected = request.arguments.get(EXPECTED_HEAD)
    if expected is not None and str(expected) != str(facts.snapshot_id):
        raise JobRefused(
            f"Table {facts.table} is at snapshot {facts.snapshot_id}, and was at {expected} when "
            "the rollback was asked for: somebody changed it in between, so nothing was changed.",
            next_step="Look at the table, and ask again if it is still wanted.",
        )


@dataclass(frozen=True, slots=True)
class RollbackHandler:
    """Makes an earlier snapshot current. What is left behind stays tagged for the undo window."""

    name: ClassVar[str] = OPERATION
    arguments: ClassVar[tuple[str, ...]] = (*TARGETS, EXPECTED_HEAD)

    def prepare(self, services: Services, request: JobRequest) -> None:
        facts = services.surveyor.survey(request.table)
        _refuse_if_moved(request, facts)
        _target(services, facts, target_of(request))

    def run(self, context: JobContext, prepared: Prepared | None = None) -> Outcome:
        before = context.services.surveyor.survey(context.table)
        _refuse_if_moved(context.request, before)
        window = context.policy(before).compaction.undo_window_seconds
        return go_back(context, target_of(context.request), before, window)


def go_back(
    context: JobContext, target: RollbackTarget, before: TableFacts, undo_window_seconds: int
) -> Outcome:
    services = context.services
    snapshot = _target(services, before, target)
    tag = tag_for(services, before, context.job_id, undo_window_seconds)
    context.check()
    context.enter(JobState.COMMITTING)
    # One commit: what is left behind is kept by the very change that leaves it.
    services.metadata.commit(
        MetadataChange(
            table=context.table,
            table_uuid=before.table_uuid,
            purpose=f"Rolling back table {context.table}",
            head=before.snapshot_id,
            expected_refs={tag.name: None},
            tags=(tag,),
            set_main=snapshot.snapshot_id,
        ),
        context.held.require,
    )
    after = services.surveyor.survey(context.table)
    return _outcome(services, context.job_id, context.started_at, before, after, snapshot)


def _target(services: Services, facts: TableFacts, target: RollbackTarget) -> SnapshotFacts:
    if target.turn_id is None:
        return find_target(facts, target)
    return _not_current(facts, before_turn(services.store, facts, target.turn_id))


def find_target(facts: TableFacts, target: RollbackTarget) -> SnapshotFacts:
    """The snapshot to go back to; refuses what is not an earlier state of the table."""
    ancestry = facts.ancestry()
    if not ancestry:
        raise InputError(f"Table {facts.table} was never written, so it cannot be rolled back.")
    if target.job_id is not None:
        return _before_job(facts, ancestry, target.job_id)
    if target.time is not None:
        return _at_time(facts, ancestry, target.time)
    found = next((s for s in ancestry if s.snapshot_id == target.snapshot_id), None)
    if found is None:
        raise InputError(
            f"Snapshot {target.snapshot_id} is not in the history of table {facts.table}.",
            next_step=_where_to(ancestry[1:11]),
        )
    return _not_current(facts, found)


def _where_to(earlier: list[SnapshotFacts]) -> str:
    if not earlier:
        return "It keeps no earlier snapshot to go back to."
    return f"Snapshots to go back to: {', '.join(str(s.snapshot_id) for s in earlier)}."


def _at_time(facts: TableFacts, ancestry: list[SnapshotFacts], time: datetime) -> SnapshotFacts:
    found = next((s for s in ancestry if s.committed_at <= time), None)
    if found is None:
        raise InputError(
            f"Table {facts.table} keeps no snapshot from {time.isoformat()} or before.",
            next_step=f"Its oldest snapshot is from {ancestry[-1].committed_at.isoformat()}.",
        )
    return _not_current(facts, found)


def _before_job(facts: TableFacts, ancestry: list[SnapshotFacts], job_id: str) -> SnapshotFacts:
    tag = next((ref for ref in facts.refs if ref.name == UNDO_TAG_PREFIX + job_id), None)
    if tag is None:
        raise InputError(
            f"Table {facts.table} has no tag {UNDO_TAG_PREFIX}{job_id}: the job did not change "
            "it, or its undo window is over.",
            next_step=f"neve history {facts.table.typed} lists the jobs.",
        )
    tagged = next((s for s in ancestry if s.snapshot_id == tag.snapshot_id), None)
    if tagged is None:
        return _ahead(facts, tag.snapshot_id, job_id)
    # Between its tag and its first commit a writer may have come, who has nothing to do with it.
    first = next((s for s in reversed(ancestry) if s.job_id == job_id), None)
    if first is None:
        _refuse_if_fallen_off(facts, job_id)
    found = next((s for s in ancestry if first and s.snapshot_id == first.parent_id), tagged)
    later = [s for s in ancestry[: ancestry.index(found)] if s.job_id != job_id]
    if later:
        # One that committed nothing is a rollback, which went forward to commits of others.
        which = "came after" if first else "were brought back by, or came after,"
        raise JobRefused(
            f"{len(later)} commits {which} job {job_id}; rolling it back would drop them.",
            next_step=f"If you mean it: neve rollback {facts.table.typed} "
            f"--to-snapshot {found.snapshot_id}",
        )
    return _not_current(facts, found)


def _refuse_if_fallen_off(facts: TableFacts, job_id: str) -> None:
    """Of a job that committed something, all of which somebody has taken back."""
    if any(snapshot.job_id == job_id for snapshot in facts.snapshots):
        raise InputError(
            f"What job {job_id} committed is not in the history of table {facts.table} any more, "
            "or the state before it is gone: there is nothing that could be undone.",
            next_step=f"Look at neve snapshots {facts.table.typed}.",
        )


def _ahead(facts: TableFacts, snapshot_id: int, job_id: str) -> SnapshotFacts:
    """Undoing a rollback goes forward, which is safe while nothing was committed since."""
    _refuse_if_fallen_off(facts, job_id)
    found = facts.snapshot(snapshot_id)
    ahead = replace(facts, snapshot_id=snapshot_id).ancestry() if found else []
    if found is None or facts.snapshot_id not in {s.snapshot_id for s in ahead}:
        raise InputError(
            f"The table has moved on since job {job_id}, so its snapshot cannot be reached."
        )
    return found


def _not_current(facts: TableFacts, snapshot: SnapshotFacts) -> SnapshotFacts:
    if snapshot.snapshot_id == facts.snapshot_id:
        raise InputError(
            f"Snapshot {snapshot.snapshot_id} is the current one of table {facts.table} already."
        )
    return snapshot


def _outcome(
    services: Services,
    job_id: str,
    started_at: datetime,
    before: TableFacts,
    after: TableFacts,
    target: SnapshotFacts,
) -> Outcome:
    kept = {s.snapshot_id for s in replace(after, snapshot_id=target.snapshot_id).ancestry()}
    left_behind = [s for s in before.ancestry() if s.snapshot_id not in kept]
    left = many(len(left_behind), "snapshot")
    reason = f"Went to snapshot {target.snapshot_id} and left {left} behind."
    if after.snapshot_id != target.snapshot_id:
        reason += f" Another writer has moved main on to snapshot {after.snapshot_id} since."
    return Outcome(
        job_id=job_id,
        table=before.table,
        operation=OPERATION,
        status=Status.SUCCEEDED,
        reason=reason,
        started_at=started_at,
        finished_at=services.clock(),
        stats=CompactionStats(
            files_before=len(before.data_files),
            files_after=len(after.data_files),
            bytes_before=before.total_bytes,
            bytes_after=after.total_bytes,
        ),
        snapshot_before=before.snapshot_id,
        snapshot_after=after.snapshot_id,
        snapshots_before=len(before.snapshots),
        snapshots_after=len(after.snapshots),
    )
