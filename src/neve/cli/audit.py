"""`neve audit`: the log of who did what, listed and checked."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.markup import escape

from neve.access.chain import AuditHead, AuditRow
from neve.cli.access_views import VerifiedLog, row_parts
from neve.cli.context import EXIT_ERROR, EXIT_OK, ConfigOption, OutputOption, application
from neve.cli.output import Format, Output
from neve.cli.render import table_of
from neve.documents import to_document
from neve.model.counts import many
from neve.model.errors import InputError

audit_app = typer.Typer(help="The audit log: list it, and check its chain.", no_args_is_help=True)
HEAD = re.compile(r"(\d{1,18}):([0-9a-f]{64})")


@audit_app.command("verify")
def verify(
    noted: Annotated[
        list[str] | None,
        typer.Option("--noted", help="A head that was noted before, as NUMBER:DIGEST."),
    ] = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Check that no row was changed, cut, moved or put in. Prints the head, to be noted elsewhere.

    Exit code 0: the chain is whole. 1: it is not.
    """
    printer = Output(output)
    with application(printer, config) as neve:
        head, problem = neve.access.verify_audit([_head(text) for text in noted or ()])
    document = VerifiedLog(problem is None, head.number, str(head), problem)
    said = escape(problem) if problem else f"{many(head.number, 'row')}, and all of it fits."
    printer.result(to_document(document), said, f"head {head}")
    sys.exit(EXIT_OK if problem is None else EXIT_ERROR)


@audit_app.command("list")
def list_rows(
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many at most.")] = 50,
    before: Annotated[int | None, typer.Option(min=1, help="Only rows with lower numbers.")] = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """List rows, newest first."""
    printer = Output(output)
    with application(printer, config) as neve:
        rows = neve.access.audit_rows(before, limit)
    printer.result([_document(row) for row in rows], lambda: _render(rows))


def _document(row: AuditRow) -> dict[str, Any]:
    place, entry = row_parts(row)
    # The table is a text here: the log may name what is no table any more.
    return {**to_document(place), **asdict(entry), "at": to_document(entry.at)}


def _head(text: str) -> AuditHead:
    found = HEAD.fullmatch(text)
    if found is None:
        raise InputError(
            f"{text[:100]!r} is not the head of a log.",
            next_step="Give NUMBER:DIGEST, as neve audit verify printed it.",
        )
    return AuditHead(int(found[1]), found[2])


def _render(rows: list[AuditRow]) -> RenderableType:
    headers = ("row", "at", "who", "what", "table", "outcome", "detail")
    lines = []
    for row in rows:
        entry = row.entry
        texts = (entry.who, entry.action, entry.table, entry.outcome, entry.detail)
        lines.append((str(row.number), f"{entry.at:%Y-%m-%d %H:%M:%S}", *texts))
    return table_of(headers, lines)
