"""From a request to a queued job, once, however often the request is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping

from neve.api.problems import Refusal
from neve.api.values import Asking
from neve.guarding import Guarded
from neve.model.errors import InputError
from neve.model.job import ROLLBACK, TURN, WHOLE, Job, Trigger
from neve.model.operation import Operation
from neve.model.table import TableRef

API = "/api/v1"
EXPECTED_HEAD = "expected_head"


def job_path(job_id: str) -> str:
    return f"{API}/jobs/{job_id}"


def store_key(tenant: str, key: str | None) -> str | None:
    """The key under which the store knows the request; tenants do not see each other's."""
    return None if key is None else f"api:{len(tenant)}:{tenant}:{key}"


def refuse_if_ignored(
    neve: Guarded,
    overrides: Mapping[str, object] | None,
    arguments: Mapping[str, object] | None = None,
) -> None:
    """Trino runs its procedures as the configuration says."""
    if neve.job_arguments and (overrides or arguments):
        raise InputError(
            "Trino runs its own procedures, as the configuration says: nothing else can be asked.",
            next_step=f"POST {API}/tables/…/maintain with the operation alone.",
        )


def queue(
    neve: Guarded,
    table: TableRef,
    operation: str | Operation,
    asking: Asking,
    key: str | None,
    *,
    overrides: Mapping[str, object] | None = None,
    arguments: Mapping[str, object] | None = None,
    turn: Mapping[str, object] | None = None,
    turn_id: str | None = None,
) -> Job:
    """Queue the job, or find the one that this request became before.

    `turn` tells of the request as a whole, where the job is one of several, which `turn_id` names.
    """
    stored = store_key(neve.acting_tenant(asking.tenant), key)
    refuse_if_ignored(neve, overrides, arguments)
    whole = {WHOLE: dict(turn)} if turn and key else {}
    named = {TURN: turn_id} if turn_id else {}
    arguments = {**neve.job_arguments, **(arguments or {}), **whole, **named}
    said = {"overrides": dict(overrides)} if overrides else {}
    wanted = {**said, **arguments}
    known = neve.job_of_key(stored) if stored else None
    if known is None and neve.job_arguments:
        # Trino's jobs are not planned on the way, which would find out.
        neve.known_table(table)
    job = known or neve.submit(
        table,
        operation,
        overrides=overrides,
        arguments=arguments,
        requested_by=asking.requested_by,
        trigger=Trigger.API,
        priority=asking.priority,
        tenant=asking.tenant,
        idempotency_key=stored,
    )
    asked = (table, str(operation), _said(operation, json.loads(json.dumps(wanted))))
    if stored and (job.table, job.operation, _said(operation, job.arguments)) != asked:
        raise key_reused(job)
    return job


def _said(operation: str | Operation, arguments: Mapping[str, object]) -> dict[str, object]:
    """Without what was added: by the service what it saw, and the name of the turn.

    A job of an earlier version has no turn; only a rollback says by itself which one it means.
    """
    added = {EXPECTED_HEAD} if operation == ROLLBACK else {EXPECTED_HEAD, TURN}
    return {key: value for key, value in arguments.items() if key not in added}


def key_reused(job: Job) -> Refusal:
    return Refusal(
        422,
        "idempotency-key-reused",
        f"The Idempotency-Key was used for another request, which is job {job.job_id}.",
        "Send this one with a key of its own.",
    )
