"""Expiry, snapshots and consumers for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.markup import escape

from neve.cli.listing import NOTHING
from neve.cli.render import MAX_ROWS, table_of
from neve.cli.short_ids import short, shortened
from neve.model.durations import format_duration
from neve.model.expiry import Consumer, FileKind
from neve.model.facts import RefFacts, SnapshotFacts, TableFacts
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.sizes import format_size
from neve.model.steps import ExpireSnapshots
from neve.model.table import TableRef


def moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"


def render_expiry(
    table: TableRef, step: ExpireSnapshots, reason: str, known: Iterable[SnapshotFacts]
) -> RenderableType:
    """What would go; `known` are all snapshots of the table, from which ids are to be told."""
    shown = [*(s.snapshot_id for s in step.expired), *(k.snapshot_id for k in step.kept)]
    short_ids = shortened(map(str, [*(s.snapshot_id for s in known), *shown]))
    lines: list[RenderableType] = [f"[bold]{escape(str(table))}[/]  {escape(reason)}"]
    if step.expired:
        rows = [
            (short_ids[str(s.snapshot_id)], moment(s.committed_at), s.operation)
            for s in step.expired
        ]
        lines += _table(("expires", "committed", "operation"), rows)
        lines.append(_freed(step))
    if step.kept:
        rows = [
            (short_ids[str(k.snapshot_id)], moment(k.committed_at), k.reason) for k in step.kept
        ]
        lines += _table(("stays although old", "committed", "because"), rows)
    lines += [
        f"tag {escape(tag.name)} → {short_ids.get(str(tag.snapshot_id), tag.snapshot_id)}"
        for tag in step.tags
    ]
    lines += [
        f"{ref.kind} {escape(ref.name)} is dropped: {escape(ref.reason)}"
        for ref in step.dropped_refs
    ]
    lines += [f"[yellow]{escape(text)}[/]" for text in (*step.time_travel, *step.notes)]
    if not step.is_empty:
        lines.append("[dim]Nothing was changed: add --apply to do it.[/]")
    return Group(*lines)


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[RenderableType]:
    lines: list[RenderableType] = [table_of(headers, rows[:MAX_ROWS])]
    if len(rows) > MAX_ROWS:
        lines.append(f"… and {len(rows) - MAX_ROWS:,} more: -o json lists all")
    return lines


def _freed(step: ExpireSnapshots) -> RenderableType:
    files, sizes = Counter[FileKind](), Counter[FileKind]()
    for file in step.freed:
        files[file.kind] += 1
        sizes[file.kind] += file.size_bytes
    rows = [
        (kind.replace("_", " "), f"{files[kind]:,}", format_size(sizes[kind])) for kind in FileKind
    ]
    total = ("all", f"{len(step.freed):,}", format_size(step.freed_bytes))
    return table_of(("freed", "files", "size"), [*rows, total])


def render_snapshots(facts: TableFacts, now: datetime) -> RenderableType:
    names: dict[int, list[str]] = {}
    for ref in facts.refs:
        names.setdefault(ref.snapshot_id, []).append(ref.name)
    snapshots = sorted(
        facts.snapshots, key=lambda item: (item.committed_at, item.snapshot_id), reverse=True
    )
    short_ids = shortened(str(snapshot.snapshot_id) for snapshot in facts.snapshots)
    rows = [_snapshot_row(facts, snapshot, names, short_ids) for snapshot in snapshots]
    headers = ("snapshot", "", "committed", "operation", "added", "removed", "records")
    noun = "snapshot" if len(rows) == 1 else "snapshots"
    count = f"[bold]{escape(str(facts.table))}[/]  {len(rows):,} {noun}"
    by_id = {snapshot.snapshot_id: snapshot for snapshot in facts.snapshots}
    refs = [_ref_row(ref, by_id, now, short_ids) for ref in facts.refs]
    lines = [count, *_table((*headers, "job", "refs"), rows)]
    if refs:
        columns = ("ref", "kind", "snapshot", "age", "dropped after", "keeps", "for")
        lines += _table(columns, refs)
    return Group(*lines)


def _snapshot_row(
    facts: TableFacts,
    snapshot: SnapshotFacts,
    names: dict[int, list[str]],
    short_ids: Mapping[str, str],
) -> tuple[str, ...]:
    return (
        short_ids[str(snapshot.snapshot_id)],
        "*" if snapshot.snapshot_id == facts.snapshot_id else "",
        f"{snapshot.committed_at:%Y-%m-%d %H:%M}",
        snapshot.operation,
        _figure(snapshot, "added-data-files"),
        _figure(snapshot, "deleted-data-files"),
        _figure(snapshot, "total-records"),
        short(snapshot.job_id or ""),
        ", ".join(map(_short_ref, names.get(snapshot.snapshot_id, ()))),
    )


def _figure(snapshot: SnapshotFacts, key: str) -> str:
    found = snapshot.figure(key)
    return snapshot.summary.get(key, NOTHING) if found is None else f"{found:,}"


def _short_ref(name: str) -> str:
    """Undo tags by what tells them apart; the list of refs has their names."""
    job_id = name.removeprefix(UNDO_TAG_PREFIX)
    return name if job_id == name else UNDO_TAG_PREFIX + short(job_id)


def _ref_row(
    ref: RefFacts,
    by_id: dict[int, SnapshotFacts],
    now: datetime,
    short_ids: Mapping[str, str],
) -> tuple[str, ...]:
    snapshot = by_id.get(ref.snapshot_id)
    age = (now - snapshot.committed_at).total_seconds() if snapshot else None
    return (
        ref.name,
        ref.kind,
        short_ids.get(str(ref.snapshot_id), str(ref.snapshot_id)),
        NOTHING if age is None else format_duration(age),
        _span(ref.max_age_ms),
        NOTHING if ref.min_snapshots_to_keep is None else str(ref.min_snapshots_to_keep),
        _span(ref.max_snapshot_age_ms),
    )


def _span(milliseconds: int | None) -> str:
    return NOTHING if milliseconds is None else format_duration(milliseconds / 1000)


def render_consumers(consumers: Sequence[Consumer]) -> RenderableType:
    if not consumers:
        return "No consumers are registered."
    rows = [
        (
            consumer.name,
            str(consumer.table),
            str(consumer.snapshot_id) if consumer.at is None else moment(consumer.at),
            moment(consumer.leased_until),
            "live" if consumer.is_live else "lapsed",
        )
        for consumer in consumers
    ]
    return table_of(("consumer", "table", "reads from", "lease until", ""), rows)
