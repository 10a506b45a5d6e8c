"""A turn of `neve maintain` for people: what changed, how many did not, and what it came to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.markup import escape

from neve.cli.render import table_of
from neve.cli.short_ids import short
from neve.model.counts import many
from neve.model.maintenance import OperationReport, ReportStatus, TableReport
from neve.model.operation import Operation
from neve.model.sizes import format_size

#: Operations by the names of the commands that run them.
COMMANDS = {
    Operation.REWRITE_DATA_FILES: "compact",
    Operation.REWRITE_POSITION_DELETE_FILES: "deletes",
    Operation.REMOVE_DANGLING_DELETES: "deletes",
    Operation.REWRITE_MANIFESTS: "manifests",
    Operation.COMPUTE_TABLE_STATS: "stats",
    Operation.COMPUTE_PARTITION_STATS: "stats",
    Operation.EXPIRE_SNAPSHOTS: "expire",
    Operation.REMOVE_ORPHAN_FILES: "orphans",
}
MAX_TABLES = 50


@dataclass(frozen=True, slots=True)
class Totals:
    """What a turn came to; files and bytes are those of data files of tables that changed."""

    tables_changed: int
    tables_unchanged: int
    tables_skipped: int
    tables_failed: int
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    #: Of all jobs together; several may have run at the same time.
    job_seconds: float
    usd: float


def has_changed(report: TableReport) -> bool:
    return any(item.status is ReportStatus.SUCCEEDED for item in report.operations)


def has_work(report: TableReport) -> bool:
    return any(item.status is ReportStatus.PLANNED for item in report.operations)


def totals_of(reports: Sequence[TableReport]) -> Totals:
    changed = [report for report in reports if has_changed(report)]
    failed = [report for report in reports if not report.is_good]
    skipped = [report for report in reports if report.skipped]
    counted = [_figures(report) for report in changed]
    return Totals(
        tables_changed=len(changed),
        tables_unchanged=sum(
            1 for r in reports if r.is_good and not r.skipped and not has_changed(r)
        ),
        tables_skipped=len(skipped),
        tables_failed=len(failed),
        files_before=sum(item.files[0] for item in counted),
        files_after=sum(item.files[1] for item in counted),
        bytes_before=sum(item.bytes[0] for item in counted),
        bytes_after=sum(item.bytes[1] for item in counted),
        job_seconds=sum(item.seconds for item in counted),
        usd=sum(item.usd for item in counted),
    )


@dataclass(frozen=True, slots=True)
class _Figures:
    files: tuple[int, int]
    bytes: tuple[int, int]
    seconds: float
    usd: float


def _figures(report: TableReport) -> _Figures:
    outcomes = [item.outcome for item in report.operations if item.outcome]
    # A sweep counts files in folders, and not those of the table.
    counted = [o for o in outcomes if o.operation != Operation.REMOVE_ORPHAN_FILES]
    first, last = (counted[0].stats, counted[-1].stats) if counted else (None, None)
    ran = [item.outcome for item in _ran(report.operations) if item.outcome]
    return _Figures(
        ((first and first.files_before) or 0, (last and last.files_after) or 0),
        ((first and first.bytes_before) or 0, (last and last.bytes_after) or 0),
        sum(outcome.seconds for outcome in ran),
        sum(outcome.actual_usd or 0.0 for outcome in ran),
    )


def _ran(operations: Iterable[OperationReport]) -> list[OperationReport]:
    return [item for item in operations if item.status is ReportStatus.SUCCEEDED]


def render_turn(
    reports: Sequence[TableReport], *, turn_id: str | None, seconds: float, is_dry: bool
) -> RenderableType:
    """One line for each table that changed or would, the troubles, and the sum."""
    lines: list[RenderableType] = []
    if is_dry:
        lines += _planned(reports)
    else:
        lines += _changed(reports)
    lines += _troubles(reports)
    lines.append(_count(reports, is_dry))
    totals = totals_of(reports)
    if totals.tables_changed:
        lines.append(
            f"total: {totals.files_before:,} → {totals.files_after:,} files, "
            f"{format_size(totals.bytes_before)} → {format_size(totals.bytes_after)}, "
            f"{seconds:.1f} s, ${totals.usd:.6f}"
        )
        if turn_id is not None:
            lines.append(f"[dim]undo: neve rollback --turn {short(turn_id)}[/]")
    return Group(*lines)


def _changed(reports: Sequence[TableReport]) -> list[RenderableType]:
    rows = []
    for report in reports:
        if has_changed(report):
            found = _figures(report)
            names = dict.fromkeys(COMMANDS[item.operation] for item in _ran(report.operations))
            rows.append(
                (
                    str(report.table),
                    f"{found.files[0]:,} → {found.files[1]:,}",
                    f"{format_size(found.bytes[0])} → {format_size(found.bytes[1])}",
                    f"{found.seconds:.1f} s",
                    f"${found.usd:.6f}",
                    ", ".join(names),
                )
            )
    headers = ("table", "files", "size", "time", "cost", "done")
    return [table_of(headers, rows[:MAX_TABLES]), *_left(len(rows))] if rows else []


def _planned(reports: Sequence[TableReport]) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for report in [report for report in reports if has_work(report)][:MAX_TABLES]:
        planned = [item for item in report.operations if item.status is ReportStatus.PLANNED]
        lines.append(f"[bold]{escape(str(report.table))}[/]")
        lines += [f"  {COMMANDS[item.operation]}: {escape(item.reason)}" for item in planned]
    return [*lines, *_left(sum(map(has_work, reports)))]


def _left(tables: int) -> list[RenderableType]:
    left = tables - MAX_TABLES
    more = many(left, "more table")
    return [f"… and {more}: --all or -o json shows them"] if left > 0 else []


def _troubles(reports: Sequence[TableReport]) -> list[RenderableType]:
    lines: list[RenderableType] = []
    for report in reports:
        name = escape(str(report.table))
        if report.problem:
            lines += _trouble(name, report.problem, report.next_step)
        for item in report.operations:
            if item.status.is_bad:
                lines += _trouble(f"{name} {item.operation}", item.reason, item.next_step)
        if report.log_problem:
            lines.append(f"[yellow]{name} is not logged: {escape(report.log_problem)}[/]")
    return lines


def _trouble(where: str, what: str, next_step: str | None) -> list[RenderableType]:
    lines: list[RenderableType] = [f"[red]{where}: {escape(what)}[/]"]
    return [*lines, f"  → {escape(next_step)}"] if next_step else lines


def _count(reports: Sequence[TableReport], is_dry: bool) -> str:
    totals, planned = totals_of(reports), sum(map(has_work, reports))
    unchanged = totals.tables_unchanged - planned
    parts = [
        (planned if is_dry else totals.tables_changed, "would change" if is_dry else "changed"),
        (unchanged, "with nothing to do"),
        (totals.tables_skipped, "skipped"),
        (totals.tables_failed, "failed"),
    ]
    said = ", ".join(f"{count} {what}" for count, what in parts if count)
    tables = many(len(reports), "table")
    return f"{tables}: {said or 'nothing to do'}"


def render_all(reports: Sequence[TableReport]) -> RenderableType:
    """Every operation on every table, also those that were skipped."""
    lines: list[RenderableType] = []
    for report in reports:
        lines.append(f"[bold]{escape(str(report.table))}[/]")
        if report.skipped:
            lines.append(f"  [dim]{escape(report.skipped)}[/]")
        if report.operations:
            rows = [(f"  {r.operation}", str(r.status), r.reason) for r in report.operations]
            lines.append(table_of(("  operation", "status", "what happened"), rows))
    return Group(*lines)
