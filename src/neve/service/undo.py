"""The state before a job: kept under a tag, and gone back to where a proof fails."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

from neve.model.errors import CommitConflict, ExecutionError
from neve.model.expiry import TagToSet
from neve.model.facts import TableFacts
from neve.model.metadata_change import UNDO_TAG_PREFIX, MetadataChange, UndoTag
from neve.planning.operations.intent import is_kept_by_nessie
from neve.retries import RetryPolicy, retrying
from neve.service.lease import HeldLease
from neve.service.services import Services
from neve.service.verify import is_listed, snapshots_of

#: How often a change is judged again where writers are faster than its commit.
POLICY = RetryPolicy(attempts=3)


def undo_tag(services: Services, job_id: str, window_seconds: int) -> UndoTag:
    """The tag that keeps the state before a job for so long from now on."""
    until = services.clock() + timedelta(seconds=window_seconds)
    return UndoTag(UNDO_TAG_PREFIX + job_id, until)


def tag_for(
    services: Services,
    facts: TableFacts,
    job_id: str,
    window_seconds: int,
    snapshot_id: int | None = None,
) -> TagToSet:
    """The same on a snapshot, the current one by default."""
    kept = snapshot_id if snapshot_id is not None else facts.snapshot_id
    assert kept is not None
    snapshot = facts.snapshot(kept)
    committed_at = snapshot.committed_at if snapshot else services.clock()
    return undo_tag(services, job_id, window_seconds).on(kept, committed_at)


def state_before_in_nessie(facts: TableFacts) -> str:
    """Where to go back to on a table of Nessie's, which takes tags and keeps none; else empty."""
    if not is_kept_by_nessie(facts.properties):
        return ""
    commit = facts.properties.get("nessie.commit.id", "of before")
    branch = facts.properties.get("nessie.commit.ref", "the branch")
    return (
        "Nessie keeps no tags, so neve rollback cannot undo this: the state before is Nessie's "
        f"commit {commit} on {branch}."
    )


def keep_for_undo(
    services: Services, facts: TableFacts, job_id: str, window_seconds: int
) -> tuple[TagToSet, TableFacts]:
    """Tag the state that the facts show, and the table with the tag, without its files.

    Commits on top of that state do not matter. An earlier attempt at the job may have set the tag.
    Where that committed something, it stays where it is: undoing the job undoes all of it.
    """
    earlier = {ref.name: ref.snapshot_id for ref in facts.refs}.get(UNDO_TAG_PREFIX + job_id)
    begun_at = earlier if snapshots_of(job_id, facts) else None
    tag = tag_for(services, facts, job_id, window_seconds, begun_at)
    tagged = _commit(
        services,
        MetadataChange(
            table=facts.table,
            table_uuid=facts.table_uuid,
            purpose=f"Tagging snapshot {tag.snapshot_id} of table {facts.table}",
            head=facts.snapshot_id,
            head_may_advance=True,
            expected_refs={tag.name: earlier},
            tags=(tag,),
        ),
    )
    return tag, tagged


def tag_of(job_id: str, facts: TableFacts) -> TagToSet | None:
    """The tag of the state before the job, as the table has it."""
    name = UNDO_TAG_PREFIX + job_id
    ref = next((ref for ref in facts.refs if ref.name == name and ref.kind == "tag"), None)
    if ref is None or ref.max_age_ms is None:
        return None
    return TagToSet(name, ref.snapshot_id, ref.max_age_ms)


def follow_parent(services: Services, held: HeldLease, facts: TableFacts) -> str:
    """Move the tag to what the job's first commit was made on; a note where that was not possible.

    A writer may have come between a tag that was set before and that commit. Undoing the job goes
    to the writer's state then, and another engine's expiry spares only what has a tag.
    """
    tag = tag_of(held.lease.job_id, facts)
    if tag is None:
        return ""
    change = _to_parent(facts, held.lease.job_id, tag)
    if change is None:
        return ""
    held.require()
    try:
        _commit(services, change)
    except ExecutionError as error:
        # The job is done and proven, and Neve's own expiry keeps that state all the same.
        return error.message
    return ""


def _to_parent(facts: TableFacts, job_id: str, tag: TagToSet) -> MetadataChange | None:
    first = next(iter(snapshots_of(job_id, facts)), None)
    parent = facts.snapshot(first.parent_id) if first and first.parent_id is not None else None
    tagged = facts.snapshot(tag.snapshot_id)
    if parent is None or tagged is None or parent.snapshot_id == tag.snapshot_id:
        return None
    # The window ends when it would have ended: a tag's age counts from its snapshot's commit.
    later_ms = int((parent.committed_at - tagged.committed_at).total_seconds() * 1000)
    moved = replace(
        tag, snapshot_id=parent.snapshot_id, max_age_ms=max(1, tag.max_age_ms - later_ms)
    )
    return MetadataChange(
        table=facts.table,
        table_uuid=facts.table_uuid,
        purpose=f"Moving tag {tag.name} of table {facts.table} to snapshot {parent.snapshot_id}",
        head=facts.snapshot_id,
        head_may_advance=True,
        expected_refs={tag.name: tag.snapshot_id},
        tags=(moved,),
    )


def drop_undo_tag(services: Services, facts: TableFacts, tag: TagToSet) -> None:
    """Drop the tag of a job that changed nothing."""
    _commit(services, _dropping(facts, tag))


def _dropping(facts: TableFacts, tag: TagToSet) -> MetadataChange:
    return MetadataChange(
        table=facts.table,
        table_uuid=facts.table_uuid,
        purpose=f"Removing tag {tag.name} of table {facts.table}",
        head=facts.snapshot_id,
        head_may_advance=True,
        expected_refs={tag.name: tag.snapshot_id},
        drop_refs=(tag.name,),
    )


def settle_undo_tag(services: Services, facts: TableFacts, job_id: str) -> str:
    """Bring the tag of a lost job to where the job itself would have left it; a note if not.

    Where the job committed, that is the parent of its first commit, and where it left nothing in
    the table, nowhere. What it committed and somebody took back is left as it is.
    """
    try:
        try:
            _settle_tag(services, facts, job_id)
        except CommitConflict:
            # Somebody came in between, perhaps to settle the same job: one look more.
            _settle_tag(services, services.surveyor.survey(facts.table), job_id)
    except ExecutionError as error:
        # A tag in the wrong place does no harm, and it ends by itself.
        return error.message
    return ""


def _settle_tag(services: Services, facts: TableFacts, job_id: str) -> None:
    tag = tag_of(job_id, facts)
    if tag is None:
        return
    change = _to_parent(facts, job_id, tag) if is_listed(job_id, facts) else _dropping(facts, tag)
    if change is not None:
        _commit(services, change)


def _commit(services: Services, change: MetadataChange) -> TableFacts:
    """Each attempt is judged by the table as it is then."""
    return retrying(
        partial(services.metadata.commit, change),
        on=lambda error: isinstance(error, CommitConflict),
        policy=POLICY,
    )


def take_back(services: Services, job_id: str, after: TableFacts) -> str:
    """Roll a job back, but only while nobody has committed on top of it."""
    target = after.snapshot_id
    for snapshot in after.ancestry():
        if snapshot.job_id != job_id:
            break
        target = snapshot.parent_id
    if target is None or target == after.snapshot_id:
        return "Others have committed since, so it was not rolled back: use neve rollback."
    change = MetadataChange(
        table=after.table,
        table_uuid=after.table_uuid,
        purpose=f"Taking back job {job_id} on table {after.table}",
        head=after.snapshot_id,
        set_main=target,
    )
    try:
        services.metadata.commit(change)
    except ExecutionError as error:
        return f"It could NOT be rolled back to snapshot {target}: {error.message}"
    return f"The table was rolled back to snapshot {target}."
