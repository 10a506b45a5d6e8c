"""Which snapshots expire, and why others stay. One pass over the log, however long it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from neve.model.counts import many, verb
from neve.model.durations import format_duration
from neve.model.expiry import (
    Consumer,
    DroppedRef,
    ExpiredSnapshot,
    ExpiryRules,
    KeptSnapshot,
    TagToSet,
)
from neve.model.facts import RefFacts, SnapshotFacts, TableFacts
from neve.model.sizes import format_size
from neve.model.steps import ExpireSnapshots
from neve.planning.operations.intent import why_shared
from neve.planning.operations.keep_periods import period_of, wanted_tags

MAIN = "main"
MAX_SNAPSHOT_AGE = "history.expire.max-snapshot-age-ms"
MIN_SNAPSHOTS = "history.expire.min-snapshots-to-keep"
MAX_REF_AGE = "history.expire.max-ref-age-ms"
MILLISECOND = timedelta(milliseconds=1)


def why_refused(facts: TableFacts) -> str | None:
    """Why no snapshot of the table may expire at all."""
    shared = why_shared(facts.table, facts.properties)
    return f"{shared} So nothing of it is expired." if shared else None


def plan_expiry(
    facts: TableFacts, rules: ExpiryRules, consumers: Sequence[Consumer], now: datetime
) -> ExpireSnapshots:
    """What goes and what stays. Files are not looked at here."""
    log = _Log(facts, rules, now)
    tags, dropped = _refs(log)
    _keep_referenced(log, dropped, tags)
    notes = tuple(_keep_for_consumers(log, consumers))
    _keep_undo_window(log)
    _keep_of_branches(log, dropped)
    expired = sorted(
        (s for s in facts.snapshots if log.may_go(s)),
        key=lambda item: (item.committed_at, item.snapshot_id),
    )
    return ExpireSnapshots(
        expired=tuple(ExpiredSnapshot(s.snapshot_id, s.committed_at, s.operation) for s in expired),
        kept=tuple(log.kept_although_old()),
        tags=tuple(tags.values()),
        dropped_refs=tuple(dropped.values()),
        time_travel=tuple(_time_travel(log, tags, dropped)) if expired else (),
        notes=notes,
    )


def describe(step: ExpireSnapshots, rules: ExpiryRules) -> str:
    """What would be done, or why nothing is."""
    age = format_duration(rules.older_than_seconds)
    if not step.expired:
        kept = f"; kept although older: {len(step.kept)}" if step.kept else ""
        sentence = f"No snapshot older than {age} can go{kept}."
    else:
        gone = len(step.expired)
        sentence = (
            f"{many(gone, 'snapshot')} older than {age} {verb(gone, 'goes', 'go')}, and "
            f"{many(len(step.freed), 'file')} of {format_size(step.freed_bytes)} with "
            f"{verb(gone, 'it', 'them')}."
        )
    if not (step.tags or step.dropped_refs):
        return sentence
    tags = len(step.tags)
    return (
        f"{sentence} {many(tags, 'tag')} {verb(tags, 'is', 'are')} set, "
        f"{many(len(step.dropped_refs), 'ref')} dropped."
    )


@dataclass(slots=True)
class _Log:
    """The table's snapshots, with the reasons that were found to keep some."""

    facts: TableFacts
    rules: ExpiryRules
    now: datetime
    by_id: dict[int, SnapshotFacts] = field(init=False)
    lineage: list[SnapshotFacts] = field(init=False)
    #: What was current since when, newest first, as travelling in time sees it.
    states: list[tuple[datetime, int]] = field(init=False)
    #: Snapshots that are not older stay; the table's own retention counts where it is longer.
    retention: timedelta = field(init=False)
    max_age: timedelta = field(init=False)
    reasons: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_id = {snapshot.snapshot_id: snapshot for snapshot in self.facts.snapshots}
        self.lineage = self.facts.ancestry()
        own = [(snapshot.committed_at, snapshot.snapshot_id) for snapshot in self.lineage]
        self.states = list(reversed(self.facts.history)) or own
        self.retention = timedelta(seconds=self.rules.older_than_seconds)
        self.max_age = max(self.retention, _span(self.number(MAX_SNAPSHOT_AGE) or 0))

    def keep(self, snapshot_id: int | None, reason: str) -> None:
        """The first reason that is found is the one that is told."""
        if snapshot_id in self.by_id:
            self.reasons.setdefault(snapshot_id, reason)

    def number(self, key: str) -> int | None:
        """A table property, where it is set to a number."""
        text = self.facts.properties.get(key, "")
        return int(text) if text.removeprefix("-").isdecimal() else None

    def age(self, snapshot: SnapshotFacts) -> timedelta:
        return self.now - snapshot.committed_at

    def may_go(self, snapshot: SnapshotFacts) -> bool:
        return snapshot.snapshot_id not in self.reasons and self.age(snapshot) > self.max_age

    def kept_although_old(self) -> Iterator[KeptSnapshot]:
        """Newest first."""
        own = f"{MAX_SNAPSHOT_AGE} keeps {format_duration(self.max_age.total_seconds())}"
        for snapshot in sorted(
            self.facts.snapshots, key=lambda s: (s.committed_at, s.snapshot_id), reverse=True
        ):
            if self.age(snapshot) > self.retention and not self.may_go(snapshot):
                reason = self.reasons.get(snapshot.snapshot_id, own)
                yield KeptSnapshot(snapshot.snapshot_id, snapshot.committed_at, reason)


def _span(milliseconds: int) -> timedelta:
    """A property may hold Java's largest number, which is no span here, or one below zero."""
    return min(max(milliseconds, 0), timedelta.max // MILLISECOND - 1) * MILLISECOND


def _refs(log: _Log) -> tuple[dict[str, TagToSet], dict[str, DroppedRef]]:
    """Tags to set, and refs that have had their time."""
    facts = log.facts
    dropped = {ref.name: gone for ref in facts.refs if (gone := _lapsed(log, ref)) is not None}
    wanted = wanted_tags(log.lineage, facts.refs, log.by_id, log.rules, log.now)
    for ref in facts.refs:
        # A branch of such a name is somebody else's, and holds commits of its own.
        period = period_of(ref.name) if ref.kind == "tag" else None
        if period is not None and log.rules.keep[period] and ref.name not in wanted:
            reason = f"it left the rule that keeps {log.rules.keep[period]} {period} snapshots"
            dropped[ref.name] = DroppedRef(ref.name, ref.kind, ref.snapshot_id, reason)
    present = {(ref.name, ref.snapshot_id, ref.max_age_ms) for ref in facts.refs}
    for name in wanted:
        dropped.pop(name, None)
    changed = {
        name: tag
        for name, tag in wanted.items()
        if (name, tag.snapshot_id, tag.max_age_ms) not in present
    }
    return changed, dropped


def _lapsed(log: _Log, ref: RefFacts) -> DroppedRef | None:
    """Iceberg counts a ref's age from its snapshot's commit."""
    max_age_ms = log.number(MAX_REF_AGE) if ref.max_age_ms is None else ref.max_age_ms
    snapshot = log.by_id.get(ref.snapshot_id)
    if ref.name == MAIN or snapshot is None or max_age_ms is None:
        return None
    if log.age(snapshot) <= _span(max_age_ms):
        return None
    reason = f"its age of {format_duration(max_age_ms / 1000)} is over"
    return DroppedRef(ref.name, ref.kind, ref.snapshot_id, reason)


def _keep_referenced(log: _Log, dropped: dict[str, DroppedRef], tags: dict[str, TagToSet]) -> None:
    for ref in log.facts.refs:
        if ref.name not in dropped and ref.name not in tags:
            log.keep(ref.snapshot_id, f"{ref.kind} {ref.name} points to it")
    for tag in tags.values():
        log.keep(tag.snapshot_id, f"it gets the tag {tag.name}")
    # A table without refs has a current snapshot all the same.
    log.keep(log.facts.snapshot_id, "it is the current snapshot")


def _keep_for_consumers(log: _Log, consumers: Sequence[Consumer]) -> Iterator[str]:
    """What a live consumer reads from, and all that was committed on top of it."""
    children: dict[int | None, list[int]] = {}
    for snapshot in log.facts.snapshots:
        children.setdefault(snapshot.parent_id, []).append(snapshot.snapshot_id)
    seen: set[int] = set()
    for consumer in consumers:
        waiting = _read_by(log, consumer)
        if not waiting:
            yield (
                f"Consumer {consumer.name} reads from snapshot {consumer.snapshot_id}, "
                "which the table does not have."
            )
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                log.keep(current, f"consumer {consumer.name} still has to read it")
                waiting += children.get(current, ())


def _read_by(log: _Log, consumer: Consumer) -> list[int]:
    """The snapshots that a consumer begins with.

    By a time it finds what was current then only while all that was current since is there.
    """
    if consumer.at is None:
        return [consumer.snapshot_id] if consumer.snapshot_id in log.by_id else []
    found: list[int] = []
    for since, snapshot_id in log.states:
        found.append(snapshot_id)
        if since <= consumer.at:
            break
    oldest = snapshot_at(log.lineage, consumer.at)
    return found if oldest is None else [*found, oldest]


def snapshot_at(lineage: Sequence[SnapshotFacts], at: datetime) -> int | None:
    """What was current then, or the oldest of what is left."""
    then = next((snapshot for snapshot in lineage if snapshot.committed_at <= at), None)
    found = then or (lineage[-1] if lineage else None)
    return found.snapshot_id if found else None


def readers_of(facts: TableFacts, consumers: Iterable[Consumer]) -> list[Consumer]:
    """Live consumers of the table, also of when it had another name or is called by another.

    Ids of snapshots are drawn at random: a table that has the consumer's is what it reads.
    """
    own = {snapshot.snapshot_id for snapshot in facts.snapshots}
    return [
        consumer
        for consumer in consumers
        if consumer.is_live and (consumer.table == facts.table or consumer.snapshot_id in own)
    ]


def _keep_undo_window(log: _Log) -> None:
    """A job can be undone while both its snapshot and the one before it are there."""
    window = timedelta(seconds=log.rules.undo_window_seconds)
    for snapshot in log.facts.snapshots:
        if snapshot.job_id is not None and log.age(snapshot) <= window:
            log.keep(snapshot.snapshot_id, f"job {snapshot.job_id} made it and can be undone")
            log.keep(snapshot.parent_id, f"it is what undoing job {snapshot.job_id} goes back to")


def _keep_of_branches(log: _Log, dropped: dict[str, DroppedRef]) -> None:
    """The newest of every branch: this many, and so old, as the branch itself asks for."""
    for ref in log.facts.refs:
        if ref.kind != "branch" or ref.name in dropped:
            continue
        count = max(
            log.rules.retain_last, log.number(MIN_SNAPSHOTS) or 1, ref.min_snapshots_to_keep or 1
        )
        own_age = None if ref.max_snapshot_age_ms is None else _span(ref.max_snapshot_age_ms)
        for position, snapshot in enumerate(_ancestors(log, ref.snapshot_id)):
            if position < count:
                reason = f"the last {count} snapshots of branch {ref.name} stay"
            elif own_age is not None and log.age(snapshot) <= own_age:
                span = format_duration(own_age.total_seconds())
                reason = f"branch {ref.name} keeps its snapshots for {span}"
            else:
                break
            log.keep(snapshot.snapshot_id, reason)


def _ancestors(log: _Log, snapshot_id: int | None) -> Iterator[SnapshotFacts]:
    seen: set[int] = set()
    while snapshot_id in log.by_id and snapshot_id not in seen:
        seen.add(snapshot_id)
        yield log.by_id[snapshot_id]
        snapshot_id = log.by_id[snapshot_id].parent_id


def _time_travel(
    log: _Log, tags: dict[str, TagToSet], dropped: dict[str, DroppedRef]
) -> Iterator[str]:
    """Which moments can no longer be asked for: history is kept without gaps, or not at all."""
    reached, lost = None, False
    for since, snapshot_id in log.states:
        snapshot = log.by_id.get(snapshot_id)
        if snapshot is None or log.may_go(snapshot):
            lost = snapshot is not None
            break
        reached = since, snapshot_id
    if lost and reached is not None:
        yield (
            f"AS OF before {reached[0]:%Y-%m-%d %H:%M:%S} UTC no longer works; the oldest state "
            f"that a time reaches becomes snapshot {reached[1]}."
        )
    names = [ref.name for ref in log.facts.refs if ref.kind == "tag" and ref.name not in dropped]
    names += [name for name in tags if name not in names]
    if names:
        shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if names[10:] else "")
        yield f"States that stay by name: {shown}."
