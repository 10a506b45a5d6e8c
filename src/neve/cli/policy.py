"""Commands about policies: explain, list, import. None of them starts a JVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from neve.cli.context import (
    EXIT_OK,
    ConfigOption,
    OutputOption,
    TableArgument,
    application,
    errors_explained,
    exit_after,
    one_by_one,
)
from neve.cli.output import Format, Output
from neve.cli.render_policy import render_effective, render_import, render_rules
from neve.documents import to_document
from neve.model.errors import InputError
from neve.model.found import Found
from neve.model.policies import EffectivePolicy

policy_app = typer.Typer(no_args_is_help=True, help="Say which policy a table has, and why.")

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Try a value out, e.g. expire_snapshots.older_than=3d."),
]


def parse_overrides(pairs: list[str] | None) -> dict[str, object]:
    """`key=value` texts as the strongest layer of a policy."""
    overrides: dict[str, object] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(
                f"--set {pair!r} has no value.",
                next_step="Write for example --set expire_snapshots.older_than=3d.",
            )
        overrides[key.strip()] = value.strip()
    return overrides


@policy_app.command("explain")
def explain(
    table: TableArgument,
    overrides: SetOption = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Print a table's effective policy: every value, where it comes from, when the turn comes."""
    out = Output(output)
    with application(out, config) as neve:
        policy = neve.policy(table, parse_overrides(overrides))
        neve.check_filters(policy)
        timing, shown = asdict(neve.timing(policy)), neve.shown_settings(policy)
    out.result(
        {**_policy_document(policy), **_timing_document(timing)},
        lambda: render_effective(policy, shown, timing),
    )


def _timing_document(timing: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in timing.items()
    }


def _policy_document(policy: EffectivePolicy) -> dict[str, Any]:
    document: dict[str, Any] = to_document(policy)
    document["operations"] = [str(item) for item in policy.operations_in_order()]
    document["policies"] = document.pop("matches")
    return document


@policy_app.command("list")
def list_policies(
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """List the configured policies with the tables that each is for."""
    out = Output(output)
    with application(out, config) as neve:
        policies = neve.policies()
        listed = neve.find() if policies else Found([])
        found, problems = one_by_one(listed.tables, neve.outline, listed.problems.values())
        matched = {
            rule.name: [facts.table for facts in found if is_for(facts)]
            for rule, is_for in policies
        }
    documents = [
        {
            "name": rule.name,
            "priority": rule.priority,
            "operations": sorted(rule.operations),
            "match": {key: value for key, value in asdict(rule.match).items() if value},
            "tables": [str(ref) for ref in matched[rule.name]],
        }
        for rule, _ in policies
    ]
    out.result(documents, lambda: render_rules(documents))
    exit_after(out, problems, EXIT_OK)


@policy_app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="Polaris policies (JSON) or Amoro properties.")],
    tables: Annotated[
        list[str] | None, typer.Option("--tables", help="Globs of the tables that they are for.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--type", help="The Polaris policy type, where the file has none.")
    ] = None,
    output: OutputOption = Format.TEXT,
) -> None:
    """Print policies of Apache Polaris or Amoro as a section of neve.yaml."""
    out = Output(output)
    with errors_explained(out):
        from neve.neve import Neve

        imported = Neve.import_policies(file, tables=tuple(tables or ()), kind=kind)
    document = {
        "source": imported.source,
        "policies": list(imported.policies),
        "not_carried_over": list(imported.left),
    }
    out.result(document, lambda: render_import(imported))
