"""Every command with its arguments, options and example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from page_parts import code, table
from typer.main import get_command

from neve.cli.commands import COMMANDS, PANELS, build
from neve.cli.main import app

INTRODUCTION = """\
# Command line

`neve COMMAND -h` says the same of one command. Exit codes: 0 all is well, 1 an error, 2 `neve plan`
found work, 130 interrupted. With `-o json` a command prints one [JSON document](json.md), errors
included.
"""
#: Said once, and not again with each command.
OF_ALL = {"--output", "--config", "--help"}


def page() -> str:
    parts = [INTRODUCTION, "## Before the command\n", _options(get_command(app), frozenset())]
    for panel in PANELS:
        parts.append(f"## {panel}\n")
        for name, known in COMMANDS.items():
            if known.panel == panel:
                parts += _command(f"neve {name}", build(name, known), known.example)
    parts.append("## With every command\n")
    parts.append(_of_all())
    return "\n".join(parts)


def _command(name: str, command: Any, example: str | None) -> Iterator[str]:
    context = command.context_class(command, info_name=name)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"### {name}\n"
    yield f"```text\n{name} {usage}\n```\n"
    yield _prose(command.help)
    if example:
        yield f"Example: `{example}`\n"
    if described := _options(command, OF_ALL):
        yield described
    for inner, member in getattr(command, "commands", {}).items():
        yield from _command(f"{name} {inner}", member, None)


def _options(command: Any, left_out: frozenset[str] | set[str]) -> str:
    context = command.context_class(command, info_name="neve")
    rows = []
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record and not left_out.intersection(parameter.opts):
            rows.append((code(record[0]), record[1]))
    return table(("argument or option", "meaning"), rows) if rows else ""


def _of_all() -> str:
    command = build("tables", COMMANDS["tables"])
    context = command.context_class(command, info_name="neve")
    chosen = [p for p in command.params if OF_ALL.intersection(p.opts)]
    records = (parameter.get_help_record(context) for parameter in chosen)
    return table(("option", "meaning"), [(code(names), said) for names, said in records])


def _prose(text: str | None) -> str:
    return "\n".join(line.strip() for line in (text or "").splitlines()).strip() + "\n"
