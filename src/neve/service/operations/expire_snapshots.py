"""Expire snapshots: tags first, then commits of metadata, and files only after a look at the table.

A file is deleted where four agree: it was reached by expired snapshots alone before, a fresh walk
over all snapshots does not reach it now, neither do the engine's own metadata tables, and no other
table of any catalog reaches it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import ClassVar, Self

from neve.model.counts import many, verb
from neve.model.errors import CatalogError, CommitConflict, ExecutionError, JobRefused
from neve.model.expiry import ExpiryRules, TagToSet
from neve.model.facts import TableFacts
from neve.model.metadata_change import MAIN, MetadataChange
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.policies import EffectivePolicy
from neve.model.sizes import format_size
from neve.model.steps import ExpireSnapshots
from neve.model.table import TableRef
from neve.planning.operations.expire_snapshots import (
    describe,
    plan_expiry,
    readers_of,
    why_refused,
)
from neve.planning.operations.intent import (
    PATH_TWIN_NEXT_STEP,
    next_step_if_shared,
    operation_plan,
    why_twin_by_path,
)
from neve.retries import RetryPolicy, retrying
from neve.service.lease import HeldLease
from neve.service.services import Services

#: Snapshots of one commit: metadata is written again with each, and the lease is looked at before.
SNAPSHOTS_PER_COMMIT = 5_000
#: How often a commit is judged again where writers are faster than it.
ATTEMPTS = 5
#: Files of one deletion, between two looks at the lease.
FILES_PER_DELETION = 10_000
TWIN_NEXT_STEP = "Drop one of the two entries without purging, or expire with what made the other."


@dataclass(frozen=True)
class ExpireSnapshotsOperation:
    """Snapshots that no rule keeps are removed, and then the files that only they reached."""

    operation: ClassVar[Operation] = Operation.EXPIRE_SNAPSHOTS
    #: What is gone is gone.
    undo_window_seconds: ClassVar[int | None] = None
    rules: ExpiryRules = field(default_factory=ExpiryRules)
    snapshots_per_commit: int = SNAPSHOTS_PER_COMMIT

    @classmethod
    def of(cls, policy: EffectivePolicy) -> Self:
        return cls(policy.expire_snapshots)

    def plan(self, services: Services, facts: TableFacts) -> Plan[ExpireSnapshots]:
        now = services.clock()
        if refusal := why_refused(facts):
            return operation_plan(self.operation, facts, now, (), refusal)
        step = self.select(services, facts, now)
        reason = describe(step, self.rules)
        return operation_plan(self.operation, facts, now, () if step.is_empty else [step], reason)

    def select(self, services: Services, facts: TableFacts, now: datetime) -> ExpireSnapshots:
        """What goes and what stays, with the reasons even where nothing goes.

        `now` is the plan's: before the commit it is asked again what may go at that moment.
        """
        if refusal := why_refused(facts):
            raise JobRefused(refusal, next_step=next_step_if_shared(facts.properties))
        consumers = readers_of(facts, services.store.consumers.all())
        step = plan_expiry(facts, self.rules, consumers, now)
        if not step.expired:
            return step
        if twin := services.surveyor.other_registration(facts.table, facts.table_uuid):
            raise JobRefused(_twin_refusal(facts.table, twin), next_step=TWIN_NEXT_STEP)
        if refusal := why_twin_by_path(facts.table, services.surveyor.path_twin(facts.table)):
            raise JobRefused(refusal, next_step=PATH_TWIN_NEXT_STEP)
        gone = [snapshot.snapshot_id for snapshot in step.expired]
        freed = services.surveyor.freed_files(facts.table, gone)
        needed = services.surveyor.needed(facts.table, [file.path for file in freed])
        return replace(
            step,
            freed=tuple(file for file in freed if file.path not in needed),
            notes=(*step.notes, *_shared_notes(needed)),
        )

    def execute(
        self,
        services: Services,
        plan: Plan[ExpireSnapshots],
        held: HeldLease,
        properties: Mapping[str, str],
    ) -> dict[str, int]:
        step, table = plan.steps[0], plan.table
        if twin := services.surveyor.other_registration(table, plan.table_uuid, recheck=True):
            raise _stale(_twin_refusal(table, twin))
        if refusal := why_twin_by_path(table, services.surveyor.path_twin(table)):
            raise _stale(refusal)
        if step.tags or step.dropped_refs:
            self._commit(services, plan, held, _change_refs)
        gone = [snapshot.snapshot_id for snapshot in step.expired]
        services.reporter(f"Expiring {len(gone):,} snapshots of {table} …")
        for start in range(0, len(gone), self.snapshots_per_commit):
            chunk = tuple(gone[start : start + self.snapshots_per_commit])
            self._commit(services, plan, held, partial(_remove, chunk))
            services.reporter.progress(start + len(chunk), len(gone))
        return _delete_freed(services, plan, held) if step.freed else {}

    def _commit(
        self,
        services: Services,
        plan: Plan[ExpireSnapshots],
        held: HeldLease,
        change_of: Callable[[ExpireSnapshots, _Judged], MetadataChange | None],
    ) -> None:
        """Commit against a state that the plan was checked by; where that moved, check again."""

        def judge_and_commit() -> None:
            change = change_of(plan.steps[0], self._judge(services, plan))
            if change is not None:
                held.check()
                services.metadata.commit(change, held.require)

        retrying(
            judge_and_commit,
            on=lambda error: isinstance(error, CommitConflict),
            policy=RetryPolicy(ATTEMPTS),
        )

    def _judge(self, services: Services, plan: Plan[ExpireSnapshots]) -> _Judged:
        """The table as it is now: a consumer, a ref or a setting may be new since the plan."""
        facts = services.surveyor.outline(plan.table)
        if facts.table_uuid != plan.table_uuid:
            raise _stale(f"Table {plan.table} was dropped and made again since the plan.")
        if refusal := why_refused(facts):
            raise _stale(refusal)
        consumers = readers_of(facts, services.store.consumers.all())
        now = plan_expiry(facts, self.rules, consumers, plan.created_at)
        there = {snapshot.snapshot_id for snapshot in facts.snapshots}
        may_go = {snapshot.snapshot_id for snapshot in now.expired}
        needed = {s.snapshot_id for s in plan.steps[0].expired} & there - may_go
        if needed:
            reasons = {kept.snapshot_id: kept.reason for kept in now.kept}
            why = f": {reasons[min(needed)]}" if min(needed) in reasons else ""
            raise _stale(
                f"Snapshot {min(needed)} of table {plan.table} is needed since the plan{why}."
            )
        return _Judged(facts, frozenset(ref.name for ref in now.dropped_refs), there)

    def figures(self, facts: TableFacts) -> dict[str, int]:
        return {"snapshots": len(facts.snapshots), "refs": len(facts.refs)}

    def check(
        self,
        services: Services,
        plan: Plan[ExpireSnapshots],
        before: TableFacts,
        after: TableFacts,
    ) -> str | None:
        """More must not be gone than was planned."""
        planned = {snapshot.snapshot_id for snapshot in plan.steps[0].expired}
        stays = {s.snapshot_id for s in before.snapshots} - planned
        missing = stays - {s.snapshot_id for s in after.snapshots}
        if missing:
            return (
                f"{len(missing)} snapshots are gone that were to stay, {min(missing)} among them: "
                "somebody else expired snapshots at the same time."
            )
        return None

    def has_landed(self, plan: Plan[ExpireSnapshots], job_id: str, after: TableFacts) -> bool:
        step = plan.steps[0]
        left = {snapshot.snapshot_id for snapshot in after.snapshots}
        refs = {ref.name: ref.snapshot_id for ref in after.refs}
        return (
            left.isdisjoint(snapshot.snapshot_id for snapshot in step.expired)
            and all(refs.get(tag.name) == tag.snapshot_id for tag in step.tags)
            and all(refs.get(ref.name) != ref.snapshot_id for ref in step.dropped_refs)
        )

    def sentence(
        self,
        plan: Plan[ExpireSnapshots],
        before: Mapping[str, int],
        after: Mapping[str, int],
    ) -> str:
        files, size = after.get("files_freed", 0), after.get("bytes_freed", 0)
        step = plan.steps[0]
        parts = [
            f"{many(len(step.expired), 'snapshot')} expired, "
            f"{many(files, 'file')} of {format_size(size)} {verb(files, 'was', 'were')} deleted."
        ]
        if step.tags or step.dropped_refs:
            tags = len(step.tags)
            parts.append(
                f"{many(tags, 'tag')} {verb(tags, 'was', 'were')} set, "
                f"{len(step.dropped_refs)} dropped."
            )
        if left := after.get("files_left", 0):
            are = verb(left, "is", "are")
            files_left = many(left, "file")
            parts.append(f"{files_left} could not be deleted and {are} left to the next sweep.")
        if spared := after.get("files_spared", 0):
            are, stay = verb(spared, "is", "are"), verb(spared, "stays", "stay")
            other = many(spared, "file")
            parts.append(f"{other} {are} reached again, or by other tables, and {stay}.")
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The table at the moment when the plan was last found to hold."""

    facts: TableFacts
    #: Refs that the rules let go at that moment, too.
    may_drop: frozenset[str]
    snapshot_ids: set[int]

    @property
    def refs(self) -> dict[str, int]:
        return {ref.name: ref.snapshot_id for ref in self.facts.refs if ref.name != MAIN}

    def change(
        self,
        tags: tuple[TagToSet, ...] = (),
        drop_refs: tuple[str, ...] = (),
        remove_snapshots: tuple[int, ...] = (),
    ) -> MetadataChange:
        """A new ref could point to what is removed, so every ref is asserted."""
        new: dict[str, int | None] = dict.fromkeys(tag.name for tag in tags)
        return MetadataChange(
            table=self.facts.table,
            table_uuid=self.facts.table_uuid,
            purpose=f"Expiring snapshots of table {self.facts.table}",
            head=self.facts.snapshot_id,
            expected_refs=new | self.refs,
            knows_all_refs=True,
            tags=tags,
            drop_refs=drop_refs,
            remove_snapshots=remove_snapshots,
        )


def _change_refs(step: ExpireSnapshots, judged: _Judged) -> MetadataChange | None:
    """Tags are set; refs go that still point where they did and that the rules still let go."""
    here = judged.refs
    dropped = tuple(
        ref.name
        for ref in step.dropped_refs
        if ref.name in judged.may_drop and here.get(ref.name) == ref.snapshot_id
    )
    return judged.change(step.tags, dropped) if step.tags or dropped else None


def _remove(
    chunk: tuple[int, ...], step: ExpireSnapshots, judged: _Judged
) -> MetadataChange | None:
    """Snapshots that somebody else removed meanwhile are not missed."""
    left = tuple(number for number in chunk if number in judged.snapshot_ids)
    return judged.change(remove_snapshots=left) if left else None


def _stale(reason: str) -> CommitConflict:
    return CommitConflict(reason, next_step="Run the command again: it plans again.")


def _delete_freed(
    services: Services, plan: Plan[ExpireSnapshots], held: HeldLease
) -> dict[str, int]:
    """Delete what nothing reaches any more; tells what is gone by looking."""
    step, table = plan.steps[0], plan.table
    reached = services.surveyor.reachable(table)
    left = reached.snapshot_ids.intersection(s.snapshot_id for s in step.expired)
    if left or reached.table_uuid != plan.table_uuid:
        raise ExecutionError(
            f"{len(left)} snapshots of table {table} that were expired are still there, "
            "so no file was deleted.",
            next_step="Run the command again: it plans again.",
        )
    sizes = {file.path: file.size_bytes for file in step.freed if file.path not in reached.paths}
    needed = _needed(services, table, list(sizes), reached.paths, recheck=False)
    agreed = services.engine.unreachable(table, [path for path in sizes if path not in needed])
    services.reporter(f"Deleting {len(agreed):,} files of {table} …")
    deleted: list[str] = []
    for start in range(0, len(agreed), FILES_PER_DELETION):
        batch = agreed[start : start + FILES_PER_DELETION]
        needed = _needed(services, table, batch, recheck=True)
        held.check()
        services.engine.delete_files(table, [path for path in batch if path not in needed])
        deleted += [path for path in batch if path not in needed]
        services.reporter.progress(start + len(batch), len(agreed))
    present = services.surveyor.present_files(table, deleted)
    if present:
        services.store.add_uncommitted_files(held.lease.job_id, table, present)
    gone = set(deleted) - set(present)
    services.evidence.files(gone)
    return {
        "files_freed": len(gone),
        "bytes_freed": sum(sizes[path] for path in gone),
        "files_left": len(present),
        "files_spared": len(step.freed) - len(deleted),
    }


def _needed(
    services: Services,
    table: TableRef,
    paths: Collection[str],
    reached: Collection[str] = (),
    *,
    recheck: bool,
) -> Mapping[str, TableRef]:
    """Files that must stay after all."""
    try:
        return services.surveyor.needed(table, paths, reached, recheck=recheck)
    except CatalogError as error:
        # The snapshots are gone, and the table shows it: their files are left to the next sweep.
        raise ExecutionError(
            f"{error.message} {len(paths):,} files were left.", next_step=error.next_step
        ) from error


def _twin_refusal(table: TableRef, twin: TableRef) -> str:
    return (
        f"Table {table} is registered as {twin}, too, which needs the same files, "
        "so nothing of it is expired."
    )


def _shared_notes(needed: Mapping[str, TableRef]) -> Iterator[str]:
    """Who keeps files that would be free otherwise."""
    for table, files in sorted(Counter(needed.values()).items()):
        stay, them = verb(files, "stays", "stay"), verb(files, "it", "them")
        yield f"{many(files, 'file')} {stay}, because table {table} reaches {them}."
