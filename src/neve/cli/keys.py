"""`neve keys`: who may ask a server, by keys that are shown once."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import RenderableType
from rich.markup import escape

from neve.access.rights import EVERYTHING, Grant, Role
from neve.cli.access_views import KeyView, NewKey, RevokedKey, key_view
from neve.cli.context import ConfigOption, OutputOption, application, user_name
from neve.cli.output import Format, Output
from neve.cli.render import table_of
from neve.documents import to_document
from neve.model.durations import parse_duration

keys_app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)


@keys_app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What uses the key.")],
    role: Annotated[Role, typer.Option(help="What it may do.")],
    tables: Annotated[
        list[str] | None,
        typer.Option("--tables", help="Namespaces, as lake.acme or lake.acme_*; all by default."),
    ] = None,
    tenant: Annotated[str, typer.Option(help="Whose jobs it sees and asks for.")] = "",
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="It acts for every tenant.")
    ] = False,
    purge: Annotated[bool, typer.Option("--purge", help="It may delete for good.")] = False,
    policies: Annotated[bool, typer.Option("--policies", help="It may change policies.")] = False,
    owner: Annotated[
        str, typer.Option(help="Who holds it; keys of one person do not approve each other.")
    ] = "",
    expires: Annotated[
        str | None, typer.Option("--expires", help="How long it is good, as 90d.")
    ] = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Make a key. It is shown now and never again: only a digest of it is kept."""
    printer = Output(output)
    with application(printer, config) as neve:
        patterns = tables or [EVERYTHING]
        grants = [Grant(role, item, purge=purge, policies=policies) for item in patterns]
        seconds = None if expires is None else parse_duration(expires)
        key, secret = neve.access.create_key(
            name,
            grants,
            tenant=tenant,
            all_tenants=all_tenants,
            owner=owner,
            expires_in_seconds=seconds,
            by=user_name(),
        )
        now = neve.now()
    document = to_document(key_view(key, now)) | to_document(NewKey(secret))
    printer.result(document, escape(secret))
    printer.tell("Keep it: it cannot be shown again. Send it as Authorization: Bearer.")


@keys_app.command("list")
def list_keys(output: OutputOption = Format.TEXT, config: ConfigOption = None) -> None:
    """List keys by their prefixes, with what they may do."""
    printer = Output(output)
    with application(printer, config) as neve:
        found, now = neve.access.all_keys(), neve.now()
    views = [key_view(key, now) for key in found]
    printer.result([to_document(view) for view in views], lambda: _render(views))


@keys_app.command("revoke")
def revoke(
    prefix: Annotated[str, typer.Argument(help="The key's prefix, as neve keys list shows it.")],
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Let a key be refused from now on."""
    printer = Output(output)
    with application(printer, config) as neve:
        neve.access.revoke_key(prefix, by=user_name())
    printer.result(to_document(RevokedKey(prefix, True)), escape(f"The key {prefix} is revoked."))


def _render(keys: list[KeyView]) -> RenderableType:
    if not keys:
        return "No keys."
    headers = ("prefix", "name", "tenant", "may", "good", "expires")
    rows = [
        (
            key.prefix,
            key.name,
            "all" if key.all_tenants else key.tenant,
            ", ".join(_grant(grant) for grant in key.grants),
            "yes" if key.is_good else "no",
            f"{key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at else "never",
        )
        for key in keys
    ]
    return table_of(headers, rows)


def _grant(grant: Grant) -> str:
    more = "+purge" * grant.purge + "+policies" * grant.policies
    return f"{grant.role}{more} of {grant.tables}"
