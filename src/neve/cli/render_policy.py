"""Policies as tables and sentences for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.text import Text

from neve.cli.render import table_of
from neve.model.policies import EffectivePolicy

if TYPE_CHECKING:
    from neve.neve import ImportedPolicies


def render_effective(
    policy: EffectivePolicy, shown: Sequence[tuple[str, str, str]], timing: Mapping[str, Any]
) -> RenderableType:
    state = "[green]maintained[/]" if policy.is_enabled else "[yellow]left alone[/]"
    parts: list[RenderableType] = [f"[bold]{escape(str(policy.table))}[/]  {state}"]
    if policy.matches:
        rows = [
            (match.name, str(match.priority), "yes" if match.matches else "no", match.reason)
            for match in policy.matches
        ]
        parts.append(table_of(("policy", "priority", "matches", "because"), rows))
    else:
        parts.append("No policies are configured.")
    parts.append(table_of(("key", "value", "comes from"), shown))
    return Group(*parts, _when(policy, timing))


def _when(policy: EffectivePolicy, timing: Mapping[str, Any]) -> str:
    if not policy.is_enabled:
        return "It is not maintained, so there is no next run."
    window = "open" if timing["in_window"] else "closed"
    opened = f"the window is {window} now, " if policy.window else ""
    last = f"{timing['last_run']:%Y-%m-%d %H:%M} UTC" if timing["last_run"] else "never"
    if policy.schedule is None:
        return f"no schedule, so maintain --due leaves it out; {opened}last run {last}"
    due = "due now" if timing["is_due"] else "not due yet"
    return f"{due}, {opened}last run {last}, next run {timing['next_run']:%Y-%m-%d %H:%M} UTC"


def render_rules(documents: Sequence[Mapping[str, Any]]) -> RenderableType:
    if not documents:
        return "No policies are configured."
    rows = [
        (
            document["name"],
            str(document["priority"]),
            str(len(document["tables"])),
            ", ".join(document["operations"]) or "–",
            ", ".join(document["match"].get("tables", ())) or "*",
        )
        for document in documents
    ]
    return table_of(("policy", "priority", "tables", "operations", "for"), rows)


def render_import(imported: ImportedPolicies) -> RenderableType:
    """YAML that can go into neve.yaml as it is; what could not be carried over is a comment."""
    body = yaml.safe_dump(
        {"policies": [dict(policy) for policy in imported.policies]}, sort_keys=False, width=96
    )
    notes = "".join(f"# Not carried over: {line}\n" for line in imported.left)
    return Text(
        f"# From {imported.source}.\n{notes}{body}".rstrip(), no_wrap=True, overflow="ignore"
    )
