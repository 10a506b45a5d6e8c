"""One file about one table: every picture, readable without a network."""

from __future__ import annotations

import html
from collections.abc import Sequence

from neve.model.facts import TableFacts
from neve.model.health import Health
from neve.model.outcome import Outcome
from neve.model.sizes import format_size
from neve.pictures.files import SMALLEST_GOOD, delete_debt, file_sizes, partitions
from neve.pictures.runs import costs
from neve.pictures.snapshots import snapshot_timeline

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem;
       color: #1c2230; }
table { border-collapse: collapse; } td, th { padding: .25rem .8rem; text-align: left;
       border-bottom: 1px solid #dde1e8; }
"""
#: No file, picture or script is asked for from anywhere.
POLICY = (
    "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline' 'unsafe-eval'"
)
MAX_OUTCOMES = 20


def report(
    facts: TableFacts,
    health: Health,
    outcomes: Sequence[Outcome] = (),
    *,
    target_bytes: int,
    before: TableFacts | None = None,
) -> str:
    """A page of HTML that holds all that it needs."""
    figures = [
        file_sizes(facts, target_bytes=target_bytes, before=before),
        partitions(facts, small_bytes=int(target_bytes * SMALLEST_GOOD)),
        delete_debt(facts),
        snapshot_timeline(facts),
        costs(outcomes[:MAX_OUTCOMES]),
    ]
    drawn = [
        made.to_html(full_html=False, include_plotlyjs=index == 0, config={"displaylogo": False})
        for index, made in enumerate(figures)
    ]
    name = html.escape(str(facts.table))
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{name}</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<style>{STYLE}</style></head><body>",
            f"<h1>{name}</h1>",
            _summary(facts, health),
            _findings(health),
            *drawn,
            _history(outcomes[:MAX_OUTCOMES]),
            "</body></html>",
        ]
    )


def _summary(facts: TableFacts, health: Health) -> str:
    return (
        f"<p>Health {health.score:.0f} of 100, {html.escape(health.tier.value)}. "
        f"{len(facts.data_files):,} data files, {format_size(facts.total_bytes)}, "
        f"{len(facts.delete_files):,} delete files, {len(facts.snapshots):,} snapshots; "
        f"surveyed {facts.surveyed_at:%Y-%m-%d %H:%M} UTC.</p>"
    )


def _findings(health: Health) -> str:
    items = [
        f"<li>{html.escape(each.sentence)}"
        + (f" <code>{html.escape(each.next_step)}</code>" if each.next_step else "")
        + "</li>"
        for each in health.findings
    ]
    return f"<ul>{''.join(items)}</ul>" if items else "<p>Nothing is wrong with it.</p>"


def _history(outcomes: Sequence[Outcome]) -> str:
    rows = [
        f"<tr><td>{each.started_at:%Y-%m-%d %H:%M}</td><td>{html.escape(each.operation)}</td>"
        f"<td>{html.escape(each.status.value)}</td><td>{each.seconds:.1f} s</td>"
        f"<td>{html.escape(each.reason)}</td></tr>"
        for each in outcomes
    ]
    head = "<tr><th>began</th><th>operation</th><th>end</th><th>took</th><th>what came of it</th>"
    return f"<h2>History</h2><table>{head}</tr>{''.join(rows)}</table>" if rows else ""
