"""Policies as they are configured, and what they come to for one table. Tagged with ETags."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Response
from pydantic import BaseModel

from neve.access.rights import Right
from neve.api.access import TheNeve, needs
from neve.api.problems import not_found
from neve.api.values import TablePath
from neve.documents import to_document
from neve.model.policies import PolicyRule

router = APIRouter(tags=["policies"])

IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", max_length=1024, description="An ETag seen before.")
]
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It is as the ETag says."}}


class Policy(BaseModel):
    """One configured policy."""

    name: str
    priority: int
    operations: list[str]
    match: dict[str, Any]
    values: dict[str, Any]


class Policies(BaseModel):
    """All configured policies."""

    policies: list[Policy]


class Setting(BaseModel):
    """A value of a policy, and the layer that set it."""

    key: str
    value: Any
    source: str


class TablePolicy(BaseModel):
    """What all layers say about a table; /schedules says when its turn comes."""

    table: str
    is_enabled: bool
    operations: list[str]
    schedule: str | None
    settings: list[Setting]
    policies: list[dict[str, Any]]


@router.get(
    "/policies", responses=UNCHANGED, response_model=Policies, dependencies=[needs(Right.VIEW)]
)
def policies(neve: TheNeve, if_none_match: IfNoneMatch = None) -> Response:
    """Policies in the order of the configuration."""
    found = [_policy(rule) for rule, _ in neve.policies()]
    return _tagged(Policies(policies=found), if_none_match)


@router.get(
    "/policies/{name}", responses=UNCHANGED, response_model=Policy, dependencies=[needs(Right.VIEW)]
)
def policy(
    name: Annotated[str, Path(min_length=1, max_length=256)],
    neve: TheNeve,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """One configured policy."""
    for rule, _ in neve.policies():
        if rule.name == name:
            return _tagged(_policy(rule), if_none_match)
    raise not_found("policy", name, "GET /api/v1/policies lists them.")


@router.get(
    "/tables/{table}/policy",
    responses=UNCHANGED,
    response_model=TablePolicy,
    dependencies=[needs(Right.VIEW)],
)
def table_policy(table: TablePath, neve: TheNeve, if_none_match: IfNoneMatch = None) -> Response:
    """A table's effective policy: every value with the layer that set it."""
    effective = neve.policy(table)
    document = to_document(effective)
    body = TablePolicy(
        table=str(effective.table),
        is_enabled=effective.is_enabled,
        operations=[str(item) for item in effective.operations_in_order()],
        schedule=effective.schedule,
        settings=document["settings"],
        policies=document["matches"],
    )
    return _tagged(body, if_none_match)


def _policy(rule: PolicyRule) -> Policy:
    document = to_document(rule)
    return Policy(
        name=rule.name,
        priority=rule.priority,
        operations=sorted(str(operation) for operation in rule.operations),
        match={key: value for key, value in document["match"].items() if value},
        values=document["values"],
    )


def _tagged(body: BaseModel, seen: str | None) -> Response:
    text = json.dumps(body.model_dump(mode="json"), sort_keys=True)
    tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    known = {item.strip().removeprefix("W/") for item in (seen or "").split(",")}
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(text, headers=headers, media_type="application/json")
