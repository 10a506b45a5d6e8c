"""Operations with figures before and after, for a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape

from neve.cli.render import render_undo, table_of
from neve.cli.short_ids import short
from neve.model.outcome import Outcome
from neve.model.plan import Plan
from neve.model.sizes import format_size


def render_operation_plan(plan: Plan[Any]) -> RenderableType:
    verb = "nothing to do" if plan.is_empty else "would run"
    head = f"[bold]{escape(str(plan.table))}[/]  {plan.operation}: {verb}."
    return f"{head} [dim]{escape(plan.reason)}[/]"


def render_operation_outcome(outcome: Outcome) -> RenderableType:
    colour = "green" if outcome.status.is_good else "red"
    lines: list[RenderableType] = [
        f"[{colour}]{outcome.status}[/]  [bold]{escape(str(outcome.table))}[/]  "
        f"{outcome.operation}: {escape(outcome.reason)}"
    ]
    rows = [
        (name.replace("_", " "), _figure(name, before), _figure(name, after))
        for name, before in outcome.figures_before.items()
        if before != (after := outcome.figures_after.get(name, 0))
    ]
    if rows:
        lines.append(table_of(("", "before", "after"), rows))
    lines.append(f"[dim]job {short(outcome.job_id)}, {outcome.seconds:.1f} s[/]")
    return Group(*lines, *render_undo(outcome))


def _figure(name: str, value: int) -> str:
    return format_size(value) if name.endswith("_bytes") else f"{value:,}"
