"""All commands: where each one is, what it is for, and one example of it.

Importing a command imports what it stands on, which takes seconds; the list of them must not.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command, get_group

PANELS = START, LOOK, CURE, CLEAN, RULE, SERVE = (
    "Start",
    "Look (nothing is changed)",
    "Cure",
    "Clean (a dry run unless told otherwise)",
    "Rule",
    "Serve and follow",
)


@dataclass(frozen=True)
class Known:
    """A command that can be imported; `summary` is the first sentence of its own help."""

    module: str
    attribute: str
    panel: str
    summary: str
    example: str


COMMANDS: dict[str, Known] = {
    "init": Known(
        "init",
        "init",
        START,
        "Write a commented neve.yaml, and check that it works; secrets stay where they are.",
        "neve init",
    ),
    "demo": Known(
        "demo",
        "demo",
        START,
        "Make a table with the small-files problem, cure it, and check that no row changed.",
        "neve demo",
    ),
    "doctor": Known(
        "doctor",
        "doctor",
        START,
        "Check this machine, or one table's metadata and files; nothing is changed.",
        "neve doctor sales.orders",
    ),
    "spark-package": Known(
        "spark_package",
        "spark_package",
        SERVE,
        "Write the archive that executors of a Spark cluster run Neve's tasks from.",
        "neve spark-package --out neve-executors.zip",
    ),
    "tables": Known(
        "look", "tables", LOOK, "List tables with their size.", "neve tables 'sales.*'"
    ),
    "health": Known(
        "look",
        "health",
        LOOK,
        "Say how well a table is, and why; with a glob, all that match, the worst first.",
        "neve health sales.orders",
    ),
    "report": Known(
        "report",
        "report",
        LOOK,
        "Write one page of HTML with pictures of a table and of what was done to it.",
        "neve report sales.orders --out report.html",
    ),
    "plan": Known(
        "change",
        "plan",
        LOOK,
        "Say what would be done, why, and what it costs. Exit code 2 means there is work.",
        "neve plan sales.orders --out plan.json",
    ),
    "snapshots": Known(
        "snapshots",
        "snapshots",
        LOOK,
        "List snapshots, newest first, and the branches and tags that point to them.",
        "neve snapshots sales.orders",
    ),
    "history": Known(
        "look",
        "history",
        LOOK,
        "List what was done, newest first.",
        "neve history sales.orders",
    ),
    "compact": Known(
        "change",
        "compact",
        CURE,
        "Compact a table: plan, run, prove, remember.",
        "neve compact sales.orders",
    ),
    "maintain": Known(
        "maintain",
        "maintain",
        CURE,
        "Compact, clean deletes and manifests, expire snapshots, sweep orphans: in this order.",
        "neve maintain 'sales.*' --dry-run",
    ),
    "apply": Known(
        "change",
        "apply",
        CURE,
        "Run the plans of a file; a plan whose table has moved on is refused.",
        "neve apply plan.json",
    ),
    "rollback": Known(
        "change",
        "rollback",
        CURE,
        "Take a table back to an earlier snapshot.",
        "neve rollback sales.orders --job JOB_ID",
    ),
    "deletes": Known(
        "upkeep",
        "deletes",
        CURE,
        "Merge position delete files, then drop delete files that apply to no data file.",
        "neve deletes sales.orders",
    ),
    "manifests": Known(
        "upkeep",
        "manifests",
        CURE,
        "Merge many small manifests into few: scans are planned faster.",
        "neve manifests sales.orders",
    ),
    "stats": Known(
        "upkeep",
        "stats",
        CURE,
        "Compute statistics of columns and of partitions, where they are missing or old.",
        "neve stats sales.orders",
    ),
    "expire": Known(
        "expire",
        "expire",
        CLEAN,
        "Say which snapshots would go, what they free and what is lost; with --apply, let them go.",
        "neve expire sales.orders --older-than 7d",
    ),
    "orphans": Known(
        "orphans",
        "orphans",
        CLEAN,
        "Find files that nothing refers to: look, then --quarantine, then --purge.",
        "neve orphans sales.orders",
    ),
    "policy": Known(
        "policy",
        "policy_app",
        RULE,
        "Say which policy a table has, and why.",
        "neve policy explain sales.orders",
    ),
    "consumers": Known(
        "consumers",
        "consumers_app",
        RULE,
        "List readers of old snapshots that expiry waits for; add and remove them.",
        "neve consumers add nightly sales.orders --at 2026-01-01T00:00:00Z",
    ),
    "keys": Known(
        "keys",
        "keys_app",
        RULE,
        "Make, list and revoke API keys.",
        "neve keys create nightly --role operator --tables lake.sales",
    ),
    "audit": Known(
        "audit",
        "audit_app",
        RULE,
        "The audit log: list it, and check its chain.",
        "neve audit verify",
    ),
    "serve": Known(
        "serve",
        "serve",
        SERVE,
        "Serve the API, run queued jobs, and submit those of schedules, until SIGTERM or Ctrl-C.",
        "neve serve",
    ),
    "jobs": Known(
        "jobs",
        "jobs",
        SERVE,
        "List jobs, newest first; those that were left without an end get one, if the table tells.",
        "neve jobs",
    ),
    "job": Known(
        "job",
        "job",
        SERVE,
        "Show one job: where it stands, how far it is, and what came of it.",
        "neve job JOB_ID --follow",
    ),
    "cancel": Known(
        "job",
        "cancel",
        SERVE,
        "End a job: one that is queued at once, one that runs at its next boundary.",
        "neve cancel JOB_ID",
    ),
}


def build(name: str, known: Known) -> Any:
    """The command itself, imported now."""
    what = getattr(import_module(f"neve.cli.{known.module}"), known.attribute)
    epilog = f"Example: {known.example}"
    if isinstance(what, typer.Typer):
        group = get_group(what)
        group.name, group.epilog = name, epilog
        return group
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name, epilog=epilog)(what)
    return get_command(alone)
