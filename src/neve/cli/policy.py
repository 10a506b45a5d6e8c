"""Commands about policies: explain, list, import. None of them starts a JVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from neve.app import App
from neve.catalog.connect import Found
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
from neve.cli.look import user_tables
from neve.cli.output import Format, Output
from neve.cli.render_policy import render_effective, render_import, render_rules
from neve.documents import to_document
from neve.model.errors import InputError
from neve.model.policies import EffectivePolicy
from neve.model.table import TableRef
from neve.planning.schedule import due
from neve.planning.yaml_documents import BadDocument, parse_json, parse_yaml, read_bounded
from neve.policy.importing import import_policies
from neve.policy.resolve import match_rule

policy_app = typer.Typer(no_args_is_help=True, help="Say which policy a table has, and why.")

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="Try a value out, e.g. expire_snapshots.older_than=3d."),
]


def table_properties(app: App, table: TableRef) -> Mapping[str, str]:
    """A table's properties, without reading its manifests."""
    return app.maintenance.surveyor.outline(table).properties


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
    with application(out, config) as app:
        ref = app.catalogs.parse(table)
        policy = app.maintenance.effective(ref, parse_overrides(overrides))
        now = app.maintenance.clock()
        _check_filters(policy, now)
        timing = _timing(app, policy, now)
    out.result(
        {**_policy_document(policy), **_timing_document(timing)},
        lambda: render_effective(policy, timing),
    )


def _check_filters(policy: EffectivePolicy, now: datetime) -> None:
    filters = (policy.rewrite_data_files.where, policy.rewrite_position_delete_files.where)
    for where in filter(None, filters):
        # sqlglot takes a third of a second to import, and most policies have no filter.
        from neve.planning.filters import parse_filter

        parse_filter(where, today=now.date())


def _timing(app: App, policy: EffectivePolicy, now: datetime) -> dict[str, Any]:
    state = app.store.schedule_state(policy.table)
    return asdict(due(policy, state.last_run if state else None, now))


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
    with application(out, config) as app:
        book = app.maintenance.policies.book
        listed = user_tables(app, "*") if book.rules else Found([])
        found, problems = one_by_one(
            listed.tables,
            lambda ref: (ref, table_properties(app, ref)),
            listed.problems.values(),
        )
        matched = {
            rule.name: [
                ref
                for ref, properties in found
                if match_rule(rule, ref, properties, book.default_catalog).matches
            ]
            for rule in book.rules
        }
    documents = [
        {
            "name": rule.name,
            "priority": rule.priority,
            "operations": sorted(rule.operations),
            "match": {key: value for key, value in asdict(rule.match).items() if value},
            "tables": [str(ref) for ref in matched[rule.name]],
        }
        for rule in book.rules
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
        imported = import_policies(_read_document(file), tables=tuple(tables or ()), kind=kind)
    document = {
        "source": imported.source,
        "policies": list(imported.policies),
        "not_carried_over": list(imported.left),
    }
    out.result(document, lambda: render_import(imported))


def _read_document(file: Path) -> object:
    try:
        text = read_bounded(file)
    except BadDocument as error:
        raise InputError(f"The file {file} {error}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The file {file} cannot be read: {error}.") from error
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if lines and all("=" in line for line in lines):
        pairs = (line.partition("=") for line in lines)
        return {name.strip(" '\""): value.strip(" '\"") for name, _, value in pairs}
    try:
        return parse_json(text) if text.lstrip()[:1] in ("{", "[") else parse_yaml(text)
    except BadDocument as error:
        raise InputError(
            f"The file {file} is neither JSON, YAML nor properties: it {error}.",
            next_step="Check quotes, commas and indentation.",
        ) from error
