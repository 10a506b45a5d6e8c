"""What an operation intends, for the table as it was surveyed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeVar

from neve.model.facts import OPERATION_PROPERTY, TableFacts
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.table import TableRef

GC_ENABLED = "gc.enabled"
#: Properties that Nessie shows with every table.
NESSIE_PROPERTIES = ("nessie.commit.id", "nessie.catalog.content-id")
Step = TypeVar("Step")


def operation_plan(
    operation: Operation, facts: TableFacts, now: datetime, steps: Iterable[Step], reason: str
) -> Plan[Step]:
    """A plan for the surveyed snapshot; without steps the reason says why there are none."""
    return Plan(
        operation=operation,
        table=facts.table,
        table_uuid=facts.table_uuid,
        snapshot_id=facts.snapshot_id,
        created_at=now,
        steps=tuple(steps),
        reason=reason,
    )


def snapshots_made_by(operation: Operation, facts: TableFacts) -> frozenset[int]:
    """Snapshots that earlier runs of the operation committed, as far as the log still has them."""
    return frozenset(
        s.snapshot_id for s in facts.snapshots if s.summary.get(OPERATION_PROPERTY) == operation
    )


def size_property(facts: TableFacts, name: str, default_bytes: int) -> int:
    """A size among the table's properties; what is no size counts as not set."""
    text = facts.properties.get(name, "")
    return int(text) if text.isdecimal() and int(text) > 0 else default_bytes


def is_kept_by_nessie(properties: Mapping[str, str]) -> bool:
    """Whether the table is shown by Nessie, by whichever type of catalog it was asked."""
    return any(key in properties for key in NESSIE_PROPERTIES)


def next_step_if_shared(properties: Mapping[str, str]) -> str:
    """What to do about files that may not be deleted."""
    if is_kept_by_nessie(properties):
        return "Run Nessie's own garbage collector, nessie-gc."
    return f"Set {GC_ENABLED} to true if its files are its own."


def why_twin_by_path(table: TableRef, metadata_file: str | None) -> str | None:
    """Why files of the table may not be deleted, where another one by path has the same folder."""
    if metadata_file is None:
        return None
    return (
        f"Table {table} shares its folder with one that is known by its path alone: "
        f"version-hint.text leads to {metadata_file}, whose newest snapshot {table} does not have."
    )


PATH_TWIN_NEXT_STEP = (
    "Let nobody write to it by its path, and remove version-hint.text once nobody reads it so."
)


def why_shared(table: TableRef, properties: Mapping[str, str]) -> str | None:
    """Why files of the table may not be deleted, where its owner or its catalog says so.

    Iceberg takes every word but true for false here, whatever was meant by it.
    """
    if is_kept_by_nessie(properties):
        # It shows one snapshot of one branch, whatever others reach.
        return (
            f"Table {table} is kept by Nessie, whose other branches and older commits may need "
            "every file and snapshot of it: only Nessie's own garbage collector knows."
        )
    said = properties.get(GC_ENABLED, "true")
    if said.lower() == "true":
        return None
    return f"Table {table} has {GC_ENABLED}={said}: its files may belong to other tables."
