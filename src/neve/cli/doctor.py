"""`neve doctor`: of the machine, or of one table. Neither changes anything."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.markup import escape

from neve.cli.context import EXIT_ERROR, EXIT_OK, ConfigOption, OutputOption, application
from neve.cli.machine import examine_machine
from neve.cli.output import Format, Output
from neve.cli.render import table_of
from neve.documents import to_document
from neve.model.counts import many
from neve.model.diagnosis import Diagnosis, IntegrityFinding, Recovery, Severity
from neve.model.errors import InputError

MARKS = {
    Severity.ERROR: "[red]✘[/]",
    Severity.WARNING: "[yellow]![/]",
    Severity.INFORMATION: "[dim]i[/]",
}

#: What readers of the current snapshot do not meet.
OLD_SNAPSHOTS = ("old_file_missing",)


def doctor(
    table: Annotated[
        str | None, typer.Argument(help="A table; without one, this machine is checked.")
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Open every file of the table, on Spark.")
    ] = False,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Look at this many files of the table only.")
    ] = None,
    metadata_folder: Annotated[
        str | None,
        typer.Option(help="The metadata files' folder, if the catalog cannot load the table."),
    ] = None,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Check this machine, or one table's metadata and files; nothing is changed."""
    out = Output(output)
    if table is None:
        if deep or sample is not None or metadata_folder is not None:
            out.error(
                InputError(
                    "--deep, --sample and --metadata-folder are about a table.",
                    next_step="Name one: neve doctor catalog.namespace.table --deep",
                )
            )
            sys.exit(EXIT_ERROR)
        examine_machine(output, config)
        return
    with application(out, config) as neve:
        found = neve.diagnose(table, deep=deep, sample=sample, metadata_folder=metadata_folder)
    out.result(_document(found), lambda: render_diagnosis(found))
    sys.exit(EXIT_OK if found.is_sound else EXIT_ERROR)


def _document(diagnosis: Diagnosis) -> dict[str, Any]:
    return {**to_document(diagnosis), "is_sound": diagnosis.is_sound}


def render_diagnosis(diagnosis: Diagnosis) -> RenderableType:
    verdict = "[green]sound[/]" if diagnosis.is_sound else "[red]unsound[/]"
    coverage = diagnosis.coverage
    lines: list[RenderableType] = [f"[bold]{escape(str(diagnosis.table))}[/]  {verdict}"]
    lines += [
        _folded(finding) if finding.code in OLD_SNAPSHOTS else _finding(finding)
        for finding in diagnosis.findings
    ]
    if diagnosis.recovery:
        lines.append(_recovery(diagnosis.recovery))
    lines.append(
        f"[dim]checked: {many(coverage.snapshots, 'snapshot')}, "
        f"{many(coverage.manifests, 'manifest')}, "
        f"{coverage.files_in_storage:,} of {many(coverage.listed_files, 'file')} in storage, "
        f"{coverage.opened_files} opened[/]"
    )
    lines += [f"[dim]not checked: {escape(text)}[/]" for text in coverage.not_checked]
    return Group(*lines)


def _folded(finding: IntegrityFinding) -> str:
    """What only travelling in time meets, in one line, and what to do."""
    mark, sentence = MARKS[finding.severity], escape(finding.sentence)
    said = f"{mark} {sentence} ({finding.count}; -o json lists some)"
    return f"{said}\n  [dim]→[/] {escape(finding.next_step)}" if finding.next_step else said


def _finding(finding: IntegrityFinding) -> str:
    lines = [f"{MARKS[finding.severity]} {escape(finding.sentence)} ({finding.count})"]
    lines += [f"    {escape(text)}" for text in finding.evidence]
    if (left := finding.count - len(finding.evidence)) > 0:
        lines.append(f"    … and {left} more")
    if finding.next_step:
        lines.append(f"  [dim]→[/] {escape(finding.next_step)}")
    return "\n".join(lines)


def _recovery(recovery: Recovery) -> RenderableType:
    rows = [
        (
            file.location.rpartition("/")[2],
            f"{file.updated_at:%Y-%m-%d %H:%M:%S}" if file.updated_at else "–",
            "–" if file.snapshot_id is None else str(file.snapshot_id),
            f"{file.snapshot_at:%Y-%m-%d %H:%M:%S}" if file.snapshot_at else "–",
            "–" if file.records is None else f"{file.records:,}",
            file.problem or file.confirmed_by or "readable; nothing confirms its commit",
        )
        for file in recovery.candidates
    ]
    headers = ("metadata file", "written", "snapshot", "committed", "records", "state")
    parts: list[RenderableType] = ["\n[bold]The way back[/]"]
    if rows:
        parts.append(table_of(headers, rows))
    parts += [f"• {escape(text)}" for text in recovery.advice]
    if recovery.statements:
        parts += ["\nWith Spark SQL:", *(f"  {escape(text)};" for text in recovery.statements)]
    if recovery.python:
        parts += ["\nOr with Python:", _indented(recovery.python)]
    if recovery.python_swap:
        parts += [
            "\nWhen the rows are right, give it its name back:",
            _indented(recovery.python_swap),
        ]
    return Group(*parts, "")


def _indented(code: str) -> str:
    return "\n".join(f"  {escape(line)}" for line in code.splitlines())
