"""Policies: those of the configuration, those that are set here, and what they come to.

All are tagged with ETags, and changed only by who says which state of a policy is meant.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Response
from pydantic import BaseModel, Field, RootModel

from neve.access.rights import Right
from neve.api.access import TheNeve, needs
from neve.api.problems import Refusal, not_found
from neve.api.values import PathPart, TablePath
from neve.documents import to_document
from neve.model.policies import PolicyRule
from neve.model.stored_policy import StoredPolicy
from neve.neve import Neve

router = APIRouter(tags=["policies"])

IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", max_length=1024, description="An ETag seen before.")
]
IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", max_length=1024, description="The ETag of the state that is meant."),
]
#: A policy, and what was said when it was set here.
Known = tuple[PolicyRule, StoredPolicy | None]
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "It is as the ETag says."}}


class PolicyDocument(RootModel[dict[str, Any]]):
    """A policy as `policies:` of a file holds it; its name may be left out."""


class Policy(BaseModel):
    """One policy."""

    name: str
    priority: int
    operations: list[str]
    match: dict[str, Any]
    values: dict[str, Any]
    source: Literal["configuration", "api"]
    document: dict[str, Any] | None = Field(
        description="As it was set; null for a policy of the configuration."
    )


class Policies(BaseModel):
    """All policies; of two equal priorities the later one is the stronger."""

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
    "/policies",
    responses=UNCHANGED,
    response_model=Policies,
    dependencies=[needs(Right.VIEW, asks_catalogs=False)],
)
def policies(neve: TheNeve, if_none_match: IfNoneMatch = None) -> Response:
    """Policies in the order of the configuration, and then those that were set here, by name."""
    found = [_policy(*pair) for pair in neve.policies_and_documents()]
    return _tagged(Policies(policies=found), if_none_match)


@router.get(
    "/policies/{name}",
    responses=UNCHANGED,
    response_model=Policy,
    dependencies=[needs(Right.VIEW, asks_catalogs=False)],
)
def policy(name: PathPart, neve: TheNeve, if_none_match: IfNoneMatch = None) -> Response:
    """One policy; its ETag is what a change of it is sent with."""
    found = _found(neve, name)
    if found is None:
        raise _no_policy(name)
    return _tagged(_policy(*found), if_none_match)


@router.put(
    "/policies/{name}",
    response_model=Policy,
    responses={201: {"model": Policy, "description": "It is new."}},
    dependencies=[needs(Right.POLICIES)],
)
def set_policy(
    name: PathPart,
    body: PolicyDocument,
    neve: TheNeve,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Set a policy for all processes of this state, as `policies:` of a file would hold it.

    Send `If-None-Match: *` with a new one, and `If-Match` with the ETag of the one that it
    replaces. Policies of the configuration are changed there.
    """
    known = _found(neve, name)
    if known is not None and known[1] is None:
        raise _configured(name)
    expected = _expected(name, known, if_match, if_none_match)
    kept = neve.set_policy(name, body.root, expected=expected)
    if kept is None:
        raise _changed(name)
    return _tagged(_policy(*kept), None, 200 if known else 201)


@router.delete("/policies/{name}", status_code=204, dependencies=[needs(Right.POLICIES)])
def remove_policy(name: PathPart, neve: TheNeve, if_match: IfMatch = None) -> None:
    """Forget a policy that was set here; `If-Match` says which state of it is meant."""
    known = next((pair for pair in _named(neve, name) if pair[1] is not None), None)
    if known is None:
        raise _configured(name) if _found(neve, name) else _no_policy(name)
    expected = _expected(name, known, if_match, None)
    if expected is None or not neve.remove_policy(name, expected=expected):
        raise _changed(name)


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


def _named(neve: Neve, name: str) -> list[Known]:
    return [pair for pair in neve.policies_and_documents() if pair[0].name == name]


def _found(neve: Neve, name: str) -> Known | None:
    """The policy of this name; one of the configuration hides what was set here before it."""
    return next(iter(_named(neve, name)), None)


def _expected(
    name: str, known: Known | None, if_match: str | None, if_none_match: str | None
) -> int | None:
    """The revision that the request means; None for a policy that is not there."""
    if if_match is None and if_none_match is None:
        raise Refusal(
            428,
            "precondition-required",
            "A policy is changed only by who says which state of it is meant.",
            "Send If-Match with the ETag of GET, or If-None-Match: * with a new policy.",
        )
    tags = {"*", tag_of(_text(_policy(*known)))} if known else set()
    # A tag that is weak names no state exactly.
    meant = {item.strip() for item in (if_match or "").split(",")}
    if if_match is not None and not tags & meant:
        raise _changed(name)
    if if_none_match is not None and tags & _tags(if_none_match):
        raise _changed(name)
    return known[1].revision if known and known[1] else None


def _no_policy(name: str) -> Refusal:
    return not_found("policy", name, "GET /api/v1/policies lists them.")


def _changed(name: str) -> Refusal:
    return Refusal(
        412,
        "policy-changed",
        f"The policy {name} is not in the state that the request means.",
        "GET it again, and decide by what it says now.",
    )


def _configured(name: str) -> Refusal:
    return Refusal(
        409,
        "policy-configured",
        f"The policy {name} stands in the configuration.",
        "Change it there, or choose another name.",
    )


def _policy(rule: PolicyRule, stored: StoredPolicy | None) -> Policy:
    document = to_document(rule)
    return Policy(
        name=rule.name,
        priority=rule.priority,
        operations=sorted(str(operation) for operation in rule.operations),
        match={key: value for key, value in document["match"].items() if value},
        values=document["values"],
        source="configuration" if stored is None else "api",
        document=None if stored is None else json.loads(stored.document),
    )


def _text(body: BaseModel) -> str:
    return json.dumps(body.model_dump(mode="json"), sort_keys=True)


def tag_of(text: str) -> str:
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def _tags(said: str) -> set[str]:
    return {item.strip().removeprefix("W/") for item in said.split(",")}


def _tagged(body: BaseModel, seen: str | None, status: int = 200) -> Response:
    text = _text(body)
    tag = tag_of(text)
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if {tag, "*"} & _tags(seen or ""):
        return Response(status_code=304, headers=headers)
    return Response(text, status, headers, media_type="application/json")
