"""Values as tables and sentences for a terminal."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.markup import escape

from neve.cli.listing import Listing, unbroken
from neve.cli.short_ids import short, shortened
from neve.model.counts import many
from neve.model.facts import TableFacts
from neve.model.groups import Cost, FileGroup
from neve.model.health import Advice, Health, Tier
from neve.model.job import Job
from neve.model.outcome import Outcome
from neve.model.plan import CompactionPlan, NothingToDo, Reason
from neve.model.sizes import format_size

TIER_COLOURS = {Tier.HEALTHY: "green", Tier.WARNING: "yellow", Tier.CRITICAL: "red"}
TIER_AND_SCORE = "The tier is that of the worst finding; the score counts what Neve could save."
MAX_ROWS = 20
MAX_REASONS = 6
_FIGURE = re.compile(r"\d[\d,.]*(?: (?:B|[KMGTP]B))?")


def table_of(headers: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> Listing:
    """Rows; columns of figures stand to the right."""
    return Listing(headers, rows, title)


def render_tables(facts: Sequence[tuple[TableFacts, int | None]]) -> RenderableType:
    rows = (
        (
            str(item.table),
            str(len(item.data_files)),
            str(len(item.delete_files)),
            format_size(item.total_bytes),
            _rows(live, item.total_records),
            str(len(item.snapshots)),
        )
        for item, live in facts
    )
    return table_of(("table", "files", "deletes", "size", "rows", "snapshots"), rows)


def _rows(live: int | None, records: int) -> str:
    """Rows that readers see; where only reading deletes would tell, at most how many."""
    return f"≤ {records:,}" if live is None else f"{live:,}"


def render_healths(judged: Sequence[Health]) -> RenderableType:
    """Many tables, a line each, with what a cure of each would gain."""
    rows = [
        (
            str(item.table),
            str(item.tier),
            str(item.score),
            str(item.data_files),
            format_size(item.total_bytes),
            item.gain.sentence or (item.findings[0].sentence if item.findings else ""),
        )
        for item in judged
    ]
    headers = ("table", "tier", "score", "files", "size", "gain")
    return table_of(headers, rows)


def render_health(health: Health) -> RenderableType:
    colour = TIER_COLOURS[health.tier]
    worst = [finding.code for finding in health.findings if finding.tier is health.tier]
    head = (
        f"[bold]{escape(str(health.table))}[/]  [{colour}]{health.tier}[/]"
        f"{' by ' + ', '.join(worst) if worst else ''}  score {health.score}/100"
    )
    # Without it, a critical table of 87 points looks like a mistake.
    scales = [f"[dim]{TIER_AND_SCORE}[/]"] if worst else []
    parts = [
        f"[dim]{part.points:4.0f}/{part.of:.0f} {part.name}: {escape(part.sentence)}[/]"
        for part in health.explained
    ]
    gain = [escape(health.gain.sentence)] if health.gain.sentence else []
    cadence = "–" if health.commits_per_hour is None else f"{health.commits_per_hour:.1f}/h"
    deletes = ", ".join(f"{count} {kind}" for kind, count in health.delete_files.items()) or "none"
    facts = table_of(
        ("files", "small", "average", "size", "rows", "snapshots", "manifests", "commits"),
        [
            (
                str(health.data_files),
                str(health.small_files),
                format_size(health.average_file_bytes),
                format_size(health.total_bytes),
                _rows(health.live_records, health.records),
                str(health.snapshots),
                str(health.manifests),
                cadence,
            )
        ],
    )
    findings: list[RenderableType] = []
    for finding in health.findings:
        findings.append(f"[{TIER_COLOURS[finding.tier]}]●[/] {escape(finding.sentence)}")
        if finding.next_step:
            findings.append(unbroken(f"  → {finding.next_step}", "dim"))
    if not findings:
        findings = ["[green]●[/] Nothing is wrong with this table."]
    return Group(
        head,
        *scales,
        *parts,
        *gain,
        facts,
        f"delete files: {deletes}",
        *findings,
        *([_render_histogram(health), _render_partitions(health)] if health.data_files else ()),
    )


def _render_histogram(health: Health) -> RenderableType:
    most = max((count for _, count in health.file_size_histogram), default=0)
    rows = [
        (label, str(count), "█" * round(24 * count / most) if most else "")
        for label, count in health.file_size_histogram
    ]
    return table_of(("file size", "files", ""), rows)


def _render_partitions(health: Health) -> RenderableType:
    rows = [
        (
            part.name,
            str(part.data_files),
            str(part.small_files),
            str(part.delete_files),
            format_size(part.total_bytes),
            f"{part.total_score:.2f}",
            f"{part.fragment_score:.2f}",
            f"{part.small_file_score:.2f}",
            f"{part.time_score:.2f}",
        )
        for part in health.partitions[:MAX_ROWS]
    ]
    left = len(health.partitions) - len(rows)
    headers = ("partition", "files", "small", "deletes", "size", "total")
    table = table_of((*headers, "fragment", "small-file", "time"), rows)
    return Group(table, f"… and {many(left, 'more partition')}") if left > 0 else table


def render_plan(plan: CompactionPlan) -> RenderableType:
    head = f"[bold]{escape(str(plan.table))}[/]  {escape(plan.reason)}"
    if plan.is_empty:
        return head
    rows = [
        (
            group.partition,
            str(len(group.files)),
            str(group.expected_output_files),
            format_size(group.input_bytes),
            str(group.engine),
            f"${group.cost.usd.expected:.6f}",
            group.rule,
        )
        for group in plan.groups[:MAX_ROWS]
    ]
    headers = ("partition", "files", "→", "size", "engine", "cost", "because")
    seconds, usd = plan.cost.seconds, plan.cost.usd
    lines: list[RenderableType] = [head, table_of(headers, rows)]
    if (left := len(plan.groups) - len(rows)) > 0:
        lines.append(f"… and {many(left, 'more group')}")
    lines += why_engines(plan.groups)
    lines.append(
        f"cost ${usd.expected:.6f} (${usd.low:.6f}–${usd.high:.6f}), "
        f"{seconds.expected:.1f} s ({seconds.low:.1f}–{seconds.high:.1f}), "
        f"gain {many(round(plan.gain), 'file open')} per scan"
    )
    lines += [f"[dim]{escape(line)}[/]" for line in why_left_alone(plan.reasons)]
    return Group(*lines)


def why_left_alone(reasons: Sequence[Reason]) -> list[str]:
    """Each kind of reason once, by its first sentence; of those like it, how many there are."""
    alike: dict[NothingToDo, list[Reason]] = defaultdict(list)
    for reason in reasons:
        alike[reason.code].append(reason)
    return [
        f"left alone: {of_kind[0].sentence}"
        if len(of_kind) == 1
        else f"left alone ({len(of_kind):,} of its kind): for example, {of_kind[0].sentence}"
        for of_kind in alike.values()
    ]


def why_engines(groups: Sequence[FileGroup]) -> list[RenderableType]:
    """Each engine with its reasons, the most frequent first; of those like it, one."""
    alike: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for group in groups:
        alike[str(group.engine), _FIGURE.sub("#", group.engine_reason)][group.engine_reason] += 1
    reasons = sorted(alike.items(), key=lambda item: -item[1].total())
    told = [
        f"engine {engine} ({_groups(told)}): {_example(told)}"
        for (engine, _), told in reasons[:MAX_REASONS]
    ]
    more = len(reasons) - len(told)
    return [*told, *([f"… and {many(more, 'more reason')}: -o json has them"] if more > 0 else [])]


def _groups(reasons: Counter[str]) -> str:
    return many(reasons.total(), "group")


def _example(reasons: Counter[str]) -> str:
    reason = escape(reasons.most_common(1)[0][0])
    return f"for example, {reason}" if len(reasons) > 1 else reason


def render_outcome(outcome: Outcome) -> RenderableType:
    colour = "green" if outcome.status.is_good else "red"
    lines: list[RenderableType] = [
        f"[{colour}]{outcome.status}[/]  [bold]{escape(str(outcome.table))}[/]  "
        f"{escape(outcome.reason)}"
    ]
    stats = outcome.stats
    if outcome.proof is not None:
        lines.append(
            table_of(
                ("", "before", "after"),
                [
                    ("files", str(stats.files_before), str(stats.files_after)),
                    ("bytes", format_size(stats.bytes_before), format_size(stats.bytes_after)),
                ],
            )
        )
        proof = outcome.proof
        verdict = "holds" if proof.holds else "FAILED"
        lines.append(
            f"proof ({proof.level}) {verdict}: {proof.rows_in:,} rows in, "
            f"{proof.rows_deleted:,} deleted, {proof.rows_out:,} out"
        )
    if (predicted := outcome.estimated_cost) and outcome.proof is not None:
        lines.append(_beside_the_predicted(outcome, predicted))
    seconds = f", {outcome.seconds:.1f} s" if has_undo(outcome) else ""
    lines.append(f"[dim]job {short(outcome.job_id)}{seconds}[/]")
    return Group(*lines, *render_undo(outcome))


def has_undo(outcome: Outcome) -> bool:
    return outcome.snapshot_after != outcome.snapshot_before


def render_undo(outcome: Outcome) -> list[RenderableType]:
    """How to take it back, on a line of its own, to be copied."""
    if not has_undo(outcome):
        return []
    command = f"neve rollback {outcome.table.typed} --job {short(outcome.job_id)}"
    return [unbroken(f"undo: {command}", "dim")]


def _beside_the_predicted(outcome: Outcome, predicted: Cost) -> str:
    seconds, usd = predicted.seconds, predicted.usd
    return (
        f"took {outcome.seconds:.1f} s; predicted {seconds.expected:.1f} s "
        f"({seconds.low:.1f}–{seconds.high:.1f})\n"
        f"cost ${outcome.actual_usd or 0:.6f}; predicted ${usd.expected:.6f} "
        f"(${usd.low:.6f}–${usd.high:.6f})"
    )


def render_advice(advice: Sequence[Advice]) -> RenderableType:
    if not advice:
        return "No advice: partitions, write properties and metadata are as they should be."
    lines: list[RenderableType] = []
    for item in advice:
        lines.append(f"[bold]{escape(item.sentence)}[/]")
        lines.append(f"  evidence: {escape(item.evidence)}")
        lines.append(f"  gain: {escape(item.gain)}")
        lines.append(unbroken(f"  {item.command}"))
    return Group(*lines)


def render_jobs(jobs: Sequence[Job]) -> RenderableType:
    if not jobs:
        return "No jobs yet."
    names = shortened(job.job_id for job in jobs)
    rows = [
        (
            names[job.job_id],
            f"{job.created_at:%Y-%m-%d %H:%M}",
            str(job.table),
            job.operation,
            str(job.state),
            job.reason,
        )
        for job in jobs
    ]
    return table_of(("job", "started", "table", "operation", "state", "what happened"), rows)
