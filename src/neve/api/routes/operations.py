"""Maintenance of one table besides compaction. What deletes looks only, unless it is told to."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Response
from pydantic import AwareDatetime, BaseModel, Field, Strict, model_validator

from neve.access.rights import Right
from neve.api.access import IdempotencyKey, TheNeve, needs
from neve.api.bodies import QueuedJob, queued_job
from neve.api.submitting import job_path, key_reused, queue, refuse_if_ignored, store_key
from neve.api.values import Asking, Flag, LongText, Name, ShortText, SnapshotId, TablePath
from neve.documents import to_document
from neve.guarding import Guarded
from neve.model.durations import parse_duration
from neve.model.errors import InputError
from neve.model.expiry import MAX_KEPT
from neve.model.job import ROLLBACK, TRINO, TURN, WHOLE, Job, Trigger, turn_id_of
from neve.model.maintenance import MaintainRequest as Turn
from neve.model.operation import Operation
from neve.model.orphans import check_orphan_age
from neve.model.table import TableRef
from neve.neve import Neve, TableTurn

router = APIRouter(prefix="/tables", tags=["maintenance"])

Kept = Annotated[int, Strict(), Field(ge=0, le=MAX_KEPT)]
#: What makes a request for maintenance another one, besides its table and overrides.
ASKED = ("operations", "apply", "only_due", "any_time")
TURN_ID = "All of the jobs: POST /turns/{turn_id}/rollback undoes what they changed."
#: What deletes for good, with its own route.
DELETING = {Operation.EXPIRE_SNAPSHOTS: "expire", Operation.REMOVE_ORPHAN_FILES: "orphans"}


class Overriding(Asking):
    """A request that may say something about the policy."""

    overrides: dict[Name, bool | int | float | ShortText] = Field(
        default_factory=dict, max_length=64, description="Policy keys with their values."
    )


class MaintainRequest(Overriding):
    """Which operations to run; all that the table's policy enables where none is named."""

    operations: tuple[Operation, ...] = Field(default=(), max_length=len(Operation))
    dry_run: Flag = False
    apply: Flag = Field(
        default=False, description="Expire and sweep also where no policy says whether to."
    )
    only_due: Flag = Field(default=False, description="Only where the table's schedule has come.")
    any_time: Flag = Field(default=True, description="Also where the policy's window is closed.")

    @model_validator(mode="after")
    def _fits(self) -> MaintainRequest:
        if self.operations and (self.apply or self.only_due or not self.any_time):
            raise ValueError("apply, only_due and any_time are for turns: name no operations")
        return self

    def wanted(self) -> Turn:
        return Turn(self.dry_run, self.apply, self.only_due, self.any_time)


class PlannedOperation(BaseModel):
    """What an operation would do."""

    operation: Operation
    has_work: bool
    reason: str


class Maintenance(BaseModel):
    """What was planned, and the jobs that were queued."""

    table: str
    plans: list[PlannedOperation]
    jobs: list[QueuedJob]
    turn_id: str | None = Field(default=None, description=TURN_ID)
    skipped: str | None = Field(default=None, description="Why the table is left alone now.")


class ExpireRequest(Asking):
    """Which snapshots to let go; what is left out is as the policy says."""

    apply: Flag = Field(default=False, description="Without it, only look.")
    older_than: Annotated[ShortText | None, Field(examples=["7d"])] = None
    retain_last: Annotated[int, Strict(), Field(ge=1, le=1_000_000)] | None = None
    keep_hourly: Kept | None = None
    keep_daily: Kept | None = None
    keep_weekly: Kept | None = None
    keep_monthly: Kept | None = None

    def overrides(self) -> dict[str, object]:
        values = {
            "older_than": self.older_than,
            "retain_last": self.retain_last,
            "keep.hourly": self.keep_hourly,
            "keep.daily": self.keep_daily,
            "keep.weekly": self.keep_weekly,
            "keep.monthly": self.keep_monthly,
        }
        return {f"expire_snapshots.{k}": v for k, v in values.items() if v is not None}


class Expiry(BaseModel):
    """What an expiry does, or the job that does it."""

    table: str
    reason: str
    plan: dict[str, Any] | None
    job: QueuedJob | None


class OrphansRequest(Asking):
    """What to do with files that nothing refers to; looking is the default."""

    action: Literal["look", "quarantine", "purge", "restore"] = "look"
    older_than: Annotated[ShortText | None, Field(examples=["3d"])] = None
    max_orphan_ratio: Annotated[float, Field(ge=0, le=1)] | None = None
    paths: tuple[LongText, ...] = Field(
        default=(), max_length=10_000, description="For restore: these files; all where none is."
    )

    @model_validator(mode="after")
    def _fits(self) -> OrphansRequest:
        if self.paths and self.action != "restore":
            raise ValueError("paths are for the action restore")
        if self.action == "restore" and (self.older_than or self.max_orphan_ratio is not None):
            raise ValueError("older_than and max_orphan_ratio are not for the action restore")
        return self

    def overrides(self) -> dict[str, object]:
        if self.older_than is not None:
            check_orphan_age(parse_duration(self.older_than))
        values = {
            "remove_orphan_files.older_than": self.older_than,
            "guards.max_orphan_ratio": self.max_orphan_ratio,
        }
        return {key: value for key, value in values.items() if value is not None}

    def arguments(self) -> dict[str, object]:
        if self.action == "restore":
            return {"restore": list(self.paths)}
        return {"quarantine": self.action == "quarantine", "purge": self.action == "purge"}


class RollbackRequest(Asking):
    """Where to go back to: one of the four."""

    snapshot_id: SnapshotId | None = None
    time: AwareDatetime | None = None
    job_id: ShortText | None = None
    turn_id: ShortText | None = None

    @model_validator(mode="after")
    def _one_target(self) -> RollbackRequest:
        given = (self.snapshot_id, self.time, self.job_id, self.turn_id)
        if sum(item is not None for item in given) != 1:
            raise ValueError("give one of snapshot_id, time, job_id and turn_id")
        return self

    def arguments(self) -> dict[str, object]:
        at = self.time.isoformat() if self.time else None
        said = {"snapshot_id": self.snapshot_id, "time": at, "job_id": self.job_id}
        said[TURN] = self.turn_id
        return {key: value for key, value in said.items() if value is not None}


@router.post("/{table}/maintain", status_code=202, dependencies=[needs(Right.OPERATE)])
def maintain(
    table: TablePath, body: MaintainRequest, neve: TheNeve, key: IdempotencyKey = None
) -> Maintenance:
    """Queue a job for each operation, in their order; with `dry_run`, say what each would do."""
    asked = {name: getattr(body, name) for name in ASKED}
    if not body.dry_run and (known := jobs_before(neve, neve.table(table), body, key, asked)):
        return _queued(neve.table(table), known)
    turn = neve.turn(table, body.overrides, body.wanted())
    ref = turn.entry.table
    if turn.policy is not None:
        neve.check_filters(turn.policy)
    if turn.skipped is not None and not body.operations:
        return Maintenance(table=str(ref), plans=[], jobs=[], skipped=turn.skipped)
    wanted = _chosen(turn, body.operations)
    if body.dry_run:
        return Maintenance(table=str(ref), plans=_plans(neve, ref, wanted, body), jobs=[])
    jobs = queue_each(neve, ref, wanted, body, key, body.overrides, asked)
    if not body.operations:
        neve.count_turn(ref)
    return _queued(ref, jobs)


def _queued(table: TableRef, jobs: list[Job]) -> Maintenance:
    queued = [queued_job(job) for job in jobs]
    return Maintenance(table=str(table), plans=[], jobs=queued, turn_id=turn_of(jobs))


def turn_of(jobs: Sequence[Job]) -> str | None:
    """The turn that jobs of one request belong to."""
    return jobs[0].turn_id if jobs else None


def _plans(
    neve: Neve, ref: TableRef, wanted: Iterable[Operation], body: MaintainRequest
) -> list[PlannedOperation]:
    plans = [neve.plan(ref, item, overrides=body.overrides) for item in wanted]
    return [
        PlannedOperation(operation=p.operation, has_work=not p.is_empty, reason=p.reason)
        for p in plans
    ]


def _chosen(turn: TableTurn, named: Collection[Operation]) -> list[Operation]:
    """What was named, or what the policy enables; only a policy lets files go for good."""
    enabled = turn.operations
    for operation in named:
        if operation in DELETING and operation not in enabled:
            raise InputError(
                f"{operation} deletes for good, and the table's policy does not enable it.",
                next_step=f"POST /api/v1/tables/{turn.entry.table}/{DELETING[operation]}",
            )
    return [item for item in Operation if item in named] or enabled


def queue_each(
    neve: Guarded,
    table: TableRef,
    operations: Iterable[Operation],
    asking: Asking,
    key: str | None,
    overrides: Mapping[str, object] | None = None,
    asked: object = None,
) -> list[Job]:
    """A job for each operation, all of one turn; one writer at a time takes them in this order.

    The first one has the request's own key, and each tells of the whole: so the key is known to
    belong to another request, whatever that asked for.
    """
    operations = list(operations)
    turn = {"asked": asked, "operations": [str(item) for item in operations]}
    keys = [key, *(f"{key}:{item}" for item in operations[1:])] if key else [None] * len(operations)
    stored = [store_key(neve.acting_tenant(asking.tenant), item) for item in keys]

    def known() -> int:
        return sum(item is not None and neve.job_of_key(item) is not None for item in stored)

    turn_id = _turn_id(neve, table, asking, key)
    of_all = f"{stored[0]} (all of it)" if stored[0] else ""
    with neve.expecting(table, operations, overrides, asking.tenant, known, of_all):
        return [
            queue(neve, table, item, asking, one, overrides=overrides, turn=turn, turn_id=turn_id)
            for item, one in zip(operations, keys, strict=False)
        ]


def _turn_id(neve: Guarded, table: TableRef, asking: Asking, key: str | None) -> str | None:
    """The same one for the same request; None where nothing can be undone."""
    if neve.engine == TRINO:
        return None
    stored = store_key(neve.acting_tenant(asking.tenant), key)
    return turn_id_of(f"{Trigger.API} {table} {stored or uuid.uuid4()}")


def jobs_before(
    neve: Guarded, table: TableRef, asking: Overriding | Asking, key: str | None, asked: object
) -> list[Job]:
    """The jobs that the same request became before, whatever the policy says by now."""
    stored = store_key(neve.acting_tenant(asking.tenant), key)
    first = neve.job_of_key(stored) if stored else None
    if first is None:
        return []
    turn = first.arguments.get(WHOLE)
    if not isinstance(turn, Mapping) or turn.get("asked") != json.loads(json.dumps(asked)):
        raise key_reused(first)
    said = asking.overrides if isinstance(asking, Overriding) else {}
    operations = [Operation(item) for item in turn["operations"]]
    return queue_each(neve, table, operations, asking, key, said, asked)


@router.post(
    "/{table}/expire",
    status_code=202,
    responses={200: {"model": Expiry, "description": "Only looked."}},
    dependencies=[needs(Right.VIEW)],
)
def expire(
    table: TablePath,
    body: ExpireRequest,
    neve: TheNeve,
    response: Response,
    key: IdempotencyKey = None,
) -> Expiry:
    """Say which snapshots would go, what they free and what is lost; with `apply`, let them go."""
    ref, overrides = neve.table(table), body.overrides()
    if not body.apply:
        step, reason = neve.expiry(ref, overrides)
        response.status_code = 200
        return Expiry(table=str(ref), reason=reason, plan=to_document(step), job=None)
    refuse_if_ignored(neve, overrides)
    neve.policy(ref, overrides)
    job = queue(neve, ref, Operation.EXPIRE_SNAPSHOTS, body, key, overrides=overrides)
    response.headers["Location"] = job_path(job.job_id)
    return Expiry(table=str(ref), reason="It was queued.", plan=None, job=queued_job(job))


@router.post("/{table}/orphans", status_code=202, dependencies=[needs(Right.OPERATE)])
def orphans(
    table: TablePath,
    body: OrphansRequest,
    neve: TheNeve,
    response: Response,
    key: IdempotencyKey = None,
) -> QueuedJob:
    """Queue a sweep. By default it only looks: its outcome says what was found."""
    ref, overrides = neve.table(table), body.overrides()
    refuse_if_ignored(neve, overrides, body.arguments())
    neve.policy(ref, overrides)
    job = queue(
        neve,
        ref,
        Operation.REMOVE_ORPHAN_FILES,
        body,
        key,
        overrides=overrides,
        arguments=body.arguments(),
    )
    response.headers["Location"] = job_path(job.job_id)
    return queued_job(job)


@router.get("/{table}/quarantine", dependencies=[needs(Right.VIEW, asks_catalogs=False)])
def quarantine(table: TablePath, neve: TheNeve) -> list[dict[str, Any]]:
    """Orphans that are waiting to be deleted."""
    return [to_document(entry) for entry in neve.quarantine(table)]


@router.post("/{table}/rollback", status_code=202, dependencies=[needs(Right.OPERATE)])
def rollback(
    table: TablePath,
    body: RollbackRequest,
    neve: TheNeve,
    response: Response,
    key: IdempotencyKey = None,
) -> QueuedJob:
    """Queue going back to an earlier snapshot."""
    job = queue(neve, neve.table(table), ROLLBACK, body, key, arguments=body.arguments())
    response.headers["Location"] = job_path(job.job_id)
    return queued_job(job)
