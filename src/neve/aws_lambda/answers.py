"""Answers of the function: a status, headers and a body; errors as problem documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from neve.model.errors import NeveError, NotAuthenticated, RecordsRefused, TooMuch
from neve.model.problem_kinds import TYPE_PREFIX, kind_of

Answer = dict[str, Any]


def told(answer: BaseModel, status: int = 200) -> Answer:
    return respond(status, answer.model_dump(mode="json"))


def respond(status: int, body: Mapping[str, Any], kind: str = "application/json") -> Answer:
    headers = {"Content-Type": kind, "X-Content-Type-Options": "nosniff"}
    return {"statusCode": status, "headers": headers, "body": json.dumps(body)}


def problem(status: int, name: str, detail: str, **more: object) -> Answer:
    """What went wrong; what is None is left out."""
    document = {
        "success": False,
        "type": TYPE_PREFIX + name,
        "title": name.replace("-", " ").capitalize(),
        "status": status,
        "detail": detail,
        **more,
    }
    said = {key: value for key, value in document.items() if value is not None}
    return respond(status, said, "application/problem+json")


def explained(error: NeveError) -> Answer:
    """An error of the tree."""
    answer = problem(
        *kind_of(error),
        error.message,
        next_step=error.next_step,
        position=getattr(error, "position", None),
        approval_id=getattr(error, "approval_id", None),
        errors=_fields(error),
    )
    if isinstance(error, TooMuch):
        answer["headers"]["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, NotAuthenticated):
        answer["headers"]["WWW-Authenticate"] = "Bearer"
    return answer


def invalid(error: ValidationError) -> Answer:
    """A body that is no request."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    is_json = not any(item["type"] == "json_invalid" for item in found)
    place = ".".join(str(part) for part in found[0]["loc"]) or "body"
    return problem(
        422 if is_json else 400,
        "validation" if is_json else "not-json",
        f"{place}: {found[0]['msg']}.",
        next_step="Correct the request.",
        errors=[{"location": list(item["loc"]), "message": item["msg"]} for item in found],
    )


def _fields(error: NeveError) -> list[dict[str, Any]] | None:
    if not isinstance(error, RecordsRefused):
        return None
    return [{"location": list(t.location), "message": t.message} for t in error.troubles]
