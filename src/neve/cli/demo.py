"""`neve demo`: a table falls ill, is judged, is cured, and is shown to hold the same rows."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from neve.cli.context import EXIT_ERROR, EXIT_OK, ConfigOption, OutputOption, application
from neve.cli.output import Format, Output
from neve.cli.render import render_outcome, render_plan, table_of
from neve.documents import to_document
from neve.model.sizes import format_size

if TYPE_CHECKING:
    from neve.neve import Comparison, Story

HALF_MADE = "Interrupted; the demo's table may be half made: neve demo makes it anew."


def demo(
    batches: Annotated[
        int | None,
        typer.Option(min=2, max=10_000, help="Micro-batches to write; 50 where nothing is said."),
    ] = None,
    events: Annotated[
        int | None,
        typer.Option(
            min=10, max=10_000_000, help="Events in each micro-batch; 10000 where nothing is said."
        ),
    ] = None,
    partitions: Annotated[
        str | None, typer.Option(help="Event types to make, comma-separated: the partitions.")
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(help="Make a table of this size with large row groups instead, as 1GB."),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Let Iceberg's own procedure compact a twin.")
    ] = False,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """Make a table with the small-files problem, cure it, and check that no row changed."""
    printer = Output(output)
    # It takes a minute, and into a pipe nothing else is said before its end.
    printer.tells_steps = True
    with application(printer, config, if_interrupted=HALF_MADE) as neve:
        story = neve.demo(batches, events, partitions, size=size, compare=compare)
    printer.result(_document(story), *_chapters(story))
    sys.exit(EXIT_OK if all(check.holds for check in story.validations) else EXIT_ERROR)


def _document(story: Story) -> dict[str, Any]:
    return {
        "table": str(story.table),
        "events": story.events,
        "files_before": asdict(story.before),
        "files_after": asdict(story.after),
        "query_seconds_before": story.query_before.seconds,
        "query_seconds_after": story.query_after.seconds,
        "query_speedup": story.query_before.seconds / story.query_after.seconds,
        "plan": to_document(story.plan),
        "compaction": to_document(story.compaction),
        "partition_compaction": to_document(story.partition_compaction),
        "cured_by": story.cured_by,
        "comparison": None if story.comparison is None else to_document(story.comparison),
        "validations": [asdict(check) for check in story.validations],
        "seconds": story.seconds,
    }


def _beside(comparison: Comparison | None) -> list[Any]:
    if comparison is None:
        return []
    sides = [
        (
            "seconds",
            f"{comparison.neve_seconds:.1f}",
            f"{comparison.iceberg_seconds:.1f} ({comparison.speedup:.1f}×)",
        ),
        ("files", str(comparison.neve_files), str(comparison.iceberg_files)),
        ("size", format_size(comparison.neve_bytes), format_size(comparison.iceberg_bytes)),
    ]
    return [
        f"\nThe twin {escape(str(comparison.twin))}, by Iceberg's procedure in the JVM that is now "
        "warm:",
        table_of(("", "Neve", "rewrite_data_files"), sides),
    ]


def _chapters(story: Story) -> list[Any]:
    before, after = story.before, story.after
    speedup = story.query_before.seconds / story.query_after.seconds
    impact = [
        ("files", str(before.total_files), str(after.total_files)),
        ("average file", f"{before.avg_file_size_mb} MB", f"{after.avg_file_size_mb} MB"),
        ("smallest file", f"{before.min_file_size_mb} MB", f"{after.min_file_size_mb} MB"),
        ("largest file", f"{before.max_file_size_mb} MB", f"{after.max_file_size_mb} MB"),
        ("size", f"{before.total_size_mb} MB", f"{after.total_size_mb} MB"),
        ("query", f"{story.query_before.seconds:.3f} s", f"{story.query_after.seconds:.3f} s"),
    ]
    checks = [
        f"[green]✔[/] {check.name}: {escape(check.detail)}"
        if check.holds
        else f"[red]✘ {check.name}: {escape(check.detail)}[/]"
        for check in story.validations
    ]
    late = story.partition_compaction.stats
    return [
        f"[bold]1. The plan[/] for {story.events:,} events",
        render_plan(story.plan),
        "\n[bold]2. The compaction[/]",
        render_outcome(story.compaction),
        story.cured_by,
        *_beside(story.comparison),
        f"\n[bold]3. Late events, and a compaction of partition {escape(story.partition)} only[/]",
        render_outcome(story.partition_compaction),
        "\n[bold]4. The impact[/]",
        table_of(("", "before", "after"), impact),
        f"{100 * (1 - after.total_files / before.total_files):.1f} % fewer files, "
        f"queries {speedup:.1f}× as fast, {format_size(late.bytes_after)} in all",
        "\n[bold]5. The checks[/]",
        *checks,
        f"\nFinished in {story.seconds:.1f} s. "
        f"Look at it: {typed_here()} health {story.table.typed}",
    ]


def typed_here() -> str:
    """The command as this shell finds it: of an environment that is not active, by its path."""
    own = Path(sys.argv[0])
    return "neve" if own.name != "neve" or which("neve") else shlex.quote(str(own))
