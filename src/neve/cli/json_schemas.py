"""JSON Schemas of what commands print with `-o json`: `python -m neve.cli.json_schemas docs/json`.

Values of the model describe themselves; what a command puts around them is described here.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from neve.access.chain import AuditEntry
from neve.cli.access_views import AuditPlace, KeyView, NewKey, RevokedKey, VerifiedLog
from neve.cli.job_views import JobView
from neve.cli.maintain_views import Totals
from neve.cli.report import WrittenReport
from neve.documents import LONG_IDS
from neve.initial import Source
from neve.model.diagnosis import Diagnosis
from neve.model.expiry import Consumer
from neve.model.facts import RefFacts, SnapshotFacts
from neve.model.health import Advice, Health
from neve.model.job import Job
from neve.model.maintenance import TableReport
from neve.model.operation import Operation
from neve.model.orphans import QuarantineEntry, SweepReport
from neve.model.outcome import Outcome
from neve.model.plan import CompactionPlan, Plan
from neve.model.policies import EffectivePolicy, PolicyMatch, Timing
from neve.model.steps import (
    ComputePartitionStats,
    ComputeTableStats,
    ExpireSnapshots,
    RemoveDanglingDeletes,
    RewriteManifests,
    RewritePositionDeleteFiles,
)
from neve.neve import Check, Comparison, FileMetrics, SparkPackage, Validation

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
TABLE_NAME = {"type": "string", "description": "catalog.namespace.table, quoted where needed"}
FLOAT = {
    "anyOf": [
        {"type": "number"},
        {
            "type": "object",
            "description": "JSON has no number for it.",
            "properties": {"$float": {"enum": ["NaN", "Infinity", "-Infinity"]}},
            "required": ["$float"],
            "additionalProperties": False,
        },
    ]
}


LONG_ID = {"type": "string", "pattern": "^-?[0-9]+$"}


@dataclass(frozen=True)
class Problem:
    type: str
    message: str
    next_step: str | None


@dataclass(frozen=True)
class Failed:
    error: Problem


@dataclass(frozen=True)
class ListedTable:
    table: str
    format_version: int
    snapshot_id: int | None
    data_files: int
    delete_files: int
    total_bytes: int
    records: int
    live_records: int | None
    snapshots: int
    refs: tuple[RefFacts, ...]


@dataclass(frozen=True)
class PastJob:
    outcome: Outcome | None


@dataclass(frozen=True)
class ListedJob:
    job_id: str
    table: str
    operation: str
    state: str
    running: bool
    started_at: str
    age_seconds: float
    reason: str


@dataclass(frozen=True)
class Cancelled:
    job_id: str
    state: str
    cancelled: bool


@dataclass(frozen=True)
class PlanFile:
    format_version: str
    plans: tuple[CompactionPlan, ...]
    digest: str


@dataclass(frozen=True)
class Refused:
    table: str
    type: str
    reason: str


@dataclass(frozen=True)
class Applied:
    outcomes: tuple[Outcome, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True)
class SnapshotMore:
    files_added: int | None
    files_removed: int | None
    records_added: int | None
    records_removed: int | None
    records: int | None
    job_id: str | None
    branches: tuple[str, ...]
    tags: tuple[str, ...]
    is_current: bool


@dataclass(frozen=True)
class RefMore:
    age_seconds: float | None


@dataclass(frozen=True)
class ListedSnapshots:
    table: str
    snapshot_id: int | None


@dataclass(frozen=True)
class ExpiryMore:
    table: str
    reason: str
    freed_bytes: int


Steps = (
    RewriteManifests
    | RewritePositionDeleteFiles
    | RemoveDanglingDeletes
    | ComputeTableStats
    | ComputePartitionStats
)


@dataclass(frozen=True)
class OperationPlans:
    plans: tuple[Plan[Steps], ...]


@dataclass(frozen=True)
class Outcomes:
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class CatalogProblem:
    catalog: str
    problem: str
    next_step: str | None


@dataclass(frozen=True)
class Maintained:
    engine: Literal["spark", "trino"]
    turn_id: str | None
    seconds: float
    totals: Totals
    tables: tuple[TableReport, ...]
    catalog_problems: tuple[CatalogProblem, ...]


@dataclass(frozen=True)
class Initialised:
    path: str
    source: Source
    catalogs: tuple[str, ...]
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Demo:
    table: str
    events: int
    files_before: FileMetrics
    files_after: FileMetrics
    query_seconds_before: float
    query_seconds_after: float
    query_speedup: float
    plan: CompactionPlan
    compaction: Outcome
    partition_compaction: Outcome
    cured_by: str
    comparison: Comparison | None
    validations: tuple[Validation, ...]
    seconds: float


@dataclass(frozen=True)
class DiagnosisMore:
    is_sound: bool


@dataclass(frozen=True)
class Removed:
    name: str
    table: str
    removed: bool


@dataclass(frozen=True)
class PolicyMore:
    operations: tuple[Operation, ...]
    policies: tuple[PolicyMatch, ...]


@dataclass(frozen=True)
class ListedPolicy:
    name: str
    priority: int
    operations: tuple[Operation, ...]
    match: Mapping[str, Any]
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Imported:
    source: str
    policies: tuple[Mapping[str, Any], ...]
    not_carried_over: tuple[str, ...]


def schema_of(*kinds: Any, without: tuple[str, ...] = ()) -> Schema:
    """One object with the fields of all kinds; the later one has its way."""
    made = [_exact(TypeAdapter(kind).json_schema(mode="serialization")) for kind in kinds]
    defs = {name: part for schema in made for name, part in schema.pop("$defs", {}).items()}
    if len(made) == 1 and not without:
        return {**made[0], "$defs": defs} if defs else made[0]
    fields = {
        name: part
        for schema in made
        for name, part in schema["properties"].items()
        if name not in without
    }
    return {**_object(fields), "$defs": defs}


def _object(fields: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": sorted(fields),
        "additionalProperties": False,
    }


def _exact(part: Any) -> Any:
    """Without what validation alone needs: every field is printed, and no other."""
    if isinstance(part, list):
        return [_exact(item) for item in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "number":
        return FLOAT
    # A description of a table's parts: documents name it.
    if part.get("title") == "TableRef" and "properties" in part:
        return TABLE_NAME
    kept = {key: _exact(value) for key, value in part.items() if key != "default"}
    if "properties" in part and part.get("type") == "object":
        fields = {
            name: _as_text(field) if name in LONG_IDS else field
            for name, field in kept["properties"].items()
        }
        return {**kept, **_object(fields)}
    return kept


def _as_text(part: Any) -> Any:
    """An id of 64 bits, which is printed as a text."""
    if isinstance(part, list):
        return [_as_text(item) for item in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "integer":
        return {**part, **LONG_ID}
    return {key: _as_text(value) for key, value in part.items()}


def any_of(*schemas: Schema) -> Schema:
    defs = {name: part for schema in schemas for name, part in schema.get("$defs", {}).items()}
    bare = [{k: v for k, v in schema.items() if k != "$defs"} for schema in schemas]
    return {"anyOf": bare, "$defs": defs}


def list_of(schema: Schema) -> Schema:
    bare = {key: part for key, part in schema.items() if key != "$defs"}
    return {"type": "array", "items": bare, "$defs": schema.get("$defs", {})}


def _snapshots() -> Schema:
    top = schema_of(ListedSnapshots)
    lists = {
        "snapshots": list_of(schema_of(SnapshotFacts, SnapshotMore, without=("summary",))),
        "branches": list_of(schema_of(RefFacts, RefMore)),
    }
    lists["tags"] = lists["branches"]
    defs = {name: part for each in lists.values() for name, part in each.pop("$defs", {}).items()}
    return {**_object({**top["properties"], **lists}), "$defs": defs}


def schemas() -> dict[str, Schema]:
    """By the name of the command; a refused command prints the document of an error."""
    outcome, operation = schema_of(Outcome), any_of(schema_of(OperationPlans), schema_of(Outcomes))
    found = {
        "error": schema_of(Failed),
        "tables": schema_of(list[ListedTable]),
        "health": any_of(schema_of(Health), schema_of(list[Health]), schema_of(list[Advice])),
        "history": list_of(schema_of(Job, PastJob)),
        "jobs": schema_of(list[ListedJob]),
        "job": schema_of(JobView),
        "cancel": schema_of(Cancelled),
        "plan": schema_of(PlanFile),
        "apply": schema_of(Applied),
        "compact": any_of(outcome, schema_of(PlanFile)),
        "rollback": any_of(outcome, schema_of(Applied)),
        "report": schema_of(WrittenReport),
        "snapshots": _snapshots(),
        "expire": any_of(outcome, schema_of(ExpireSnapshots, ExpiryMore)),
        "orphans": any_of(outcome, schema_of(SweepReport), schema_of(list[QuarantineEntry])),
        "manifests": operation,
        "deletes": operation,
        "stats": operation,
        "maintain": schema_of(Maintained),
        "demo": schema_of(Demo),
        "init": schema_of(Initialised),
        "doctor": any_of(schema_of(list[Check]), schema_of(Diagnosis, DiagnosisMore)),
        "spark-package": schema_of(SparkPackage),
        "consumers": any_of(schema_of(Consumer), schema_of(list[Consumer]), schema_of(Removed)),
        "keys": any_of(schema_of(list[KeyView]), schema_of(KeyView, NewKey), schema_of(RevokedKey)),
        "audit": any_of(list_of(schema_of(AuditEntry, AuditPlace)), schema_of(VerifiedLog)),
        "policy": any_of(
            schema_of(EffectivePolicy, PolicyMore, Timing, without=("matches",)),
            schema_of(list[ListedPolicy]),
            schema_of(Imported),
        ),
    }
    return {name: {"$schema": DIALECT, **schema} for name, schema in found.items()}


def files() -> dict[str, str]:
    return {
        f"{name}.schema.json": json.dumps(schema, indent=2, sort_keys=True) + "\n"
        for name, schema in schemas().items()
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")
