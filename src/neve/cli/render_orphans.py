"""Sweeps and the quarantine for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.markup import escape

from neve.cli.listing import unbroken
from neve.cli.render import table_of
from neve.model.counts import many
from neve.model.durations import format_duration
from neve.model.orphans import KeptReason, QuarantineEntry, SweepReport
from neve.model.sizes import format_size

MAX_ROWS = 50
WHY_KEPT = {
    KeptReason.REACHABLE: "reachable from the table's metadata",
    KeptReason.REACHABLE_IN_ENGINE: "reachable as Spark reads the metadata",
    KeptReason.TOO_YOUNG: "too young",
    KeptReason.UNKNOWN_TIME: "the store tells no usable time",
    KeptReason.HIDDEN: "hidden: a name with _ or . in front",
    KeptReason.NOT_A_FILE: "a link or something else that is no file",
    KeptReason.OTHER_TABLE: "below another table's location",
    KeptReason.REFERENCED: "reached by another table",
    KeptReason.AMBIGUOUS: "a name that could be taken for another's",
    KeptReason.NOT_OF_TABLES: "a database, or a file that the configuration names",
    KeptReason.RESTORED: "restored by a person",
}


def render_report(report: SweepReport) -> RenderableType:
    """What was found, what was kept and why, and what comes next."""
    lines: list[RenderableType] = [
        f"[bold]{escape(str(report.table))}[/]  {many(report.found.files, 'orphan')}, "
        f"{format_size(report.found.size_bytes)}, of {many(report.listed.files, 'file')}, "
        f"{format_size(report.listed.size_bytes)} ({escape(report.cutoff_reason)})"
    ]
    rows = [
        (
            orphan.path,
            format_size(orphan.size_bytes),
            format_duration((report.swept_at - orphan.modified_at).total_seconds()),
            orphan.reason,
        )
        for orphan in report.orphans[:MAX_ROWS]
    ]
    if rows:
        lines.append(table_of(("orphan", "size", "age", "why"), rows))
    if report.found.files > len(rows):
        lines.append(f"… and {report.found.files - len(rows)} more; -o json lists them")
    kept = [
        (WHY_KEPT[why], str(total.files), format_size(total.size_bytes))
        for why, total in sorted(report.kept.items())
    ]
    lines.append(table_of(("kept because", "files", "size"), kept))
    lines += [
        f"[dim]files here are reached by table {escape(str(other))}[/]"
        for other in report.referenced_by
    ]
    lines += [f"[dim]not listed: {escape(location)}[/]" for location in report.not_listed]
    if report.stop:
        lines.append(f"[yellow]●[/] {escape(report.stop)} Nothing would be quarantined.")
    elif report.found.files:
        lines.append(unbroken(f"→ neve orphans {report.table.typed} --quarantine", "dim"))
    return Group(*lines)


def render_quarantine(entries: Sequence[QuarantineEntry]) -> RenderableType:
    if not entries:
        return "The quarantine is empty."
    rows = [
        (
            entry.orphan.path,
            format_size(entry.orphan.size_bytes),
            f"{entry.orphan.modified_at:%Y-%m-%d %H:%M}",
            f"{entry.marked_at:%Y-%m-%d %H:%M}",
            str(entry.state),
            entry.orphan.reason,
        )
        for entry in entries
    ]
    return table_of(("file", "size", "changed", "marked", "state", "why"), rows)
