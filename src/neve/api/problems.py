"""Errors as problem documents (RFC 9457), each kind with a stable type and the next step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from neve.model import errors
from neve.model.problem_kinds import TYPE_PREFIX, kind_of

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = "5"
NOT_JSON = "not-json"
CORRECT = "Correct the request; /docs describes it."
SAY_JSON = "Send it with the header Content-Type: application/json."


class FieldProblem(BaseModel):
    """One part of a request that cannot be used."""

    location: list[str | int]
    message: str


class Problem(BaseModel):
    """What went wrong, in the shape of RFC 9457."""

    type: str = Field(description="Stable: programs decide by it.")
    title: str
    status: int
    detail: str = Field(description="One sentence about what is wrong.")
    instance: str = Field(description="The path of the request.")
    next_step: str | None = Field(default=None, description="One sentence about what to do.")
    position: int | None = Field(default=None, description="Where in a filter the trouble is.")
    approval_id: str | None = Field(default=None, description="What a second person must agree to.")
    errors: list[FieldProblem] | None = None


class Refusal(HTTPException):
    """What the API itself refuses, before anything of Neve is asked."""

    def __init__(
        self,
        status: int,
        name: str,
        detail: str,
        next_step: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers) if headers else None)
        self.name = name
        self.next_step = next_step


def not_found(what: str, name: str, next_step: str) -> Refusal:
    return Refusal(404, f"{what}-not-found", f"There is no {what} {name}.", next_step)


def title_of(name: str) -> str:
    return name.replace("-", " ").capitalize()


def respond(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    text = problem.model_dump_json(exclude_none=True)
    return Response(text, problem.status, dict(headers) if headers else None, MEDIA_TYPE)


def explain(request: Request, status: int, name: str, detail: str, **more: Any) -> Problem:
    # A path may hold what no document can.
    path = request.url.path.encode("utf-8", "replace").decode()
    hide = getattr(request.app.state, "hide", str)
    detail = hide(detail)
    if step := more.get("next_step"):
        more["next_step"] = hide(step)
    if notes := getattr(request.state, "notes", None):
        notes.detail = detail
    return Problem(
        type=TYPE_PREFIX + name,
        title=title_of(name),
        status=status,
        detail=detail,
        instance=path,
        **more,
    )


def problem_of(request: Request, error: errors.NeveError) -> Problem:
    status, name = kind_of(error)
    return explain(
        request,
        status,
        name,
        error.message,
        next_step=error.next_step,
        position=getattr(error, "position", None),
        approval_id=getattr(error, "approval_id", None),
        errors=_fields(error),
    )


async def on_neve_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.NeveError)
    problem = problem_of(request, error)
    return respond(problem, _headers(error, problem.status))


def _headers(error: errors.NeveError, status: int) -> dict[str, str]:
    if isinstance(error, errors.TooMuch):
        return {"Retry-After": str(error.retry_after_seconds)}
    if isinstance(error, errors.NotAuthenticated):
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": RETRY_SECONDS} if status == 503 else {}


def _fields(error: errors.NeveError) -> list[FieldProblem] | None:
    if not isinstance(error, errors.RecordsRefused) or not error.troubles:
        return None
    return [
        FieldProblem(location=list(trouble.location), message=trouble.message)
        for trouble in error.troubles
    ]


async def on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status, detail = error.status_code, str(error.detail)
    if not isinstance(error, Refusal) and status == 400:
        # All that the framework refuses so: bytes that are no text, numbers of thousands of digits.
        error = Refusal(400, NOT_JSON, "The body cannot be read as JSON.", CORRECT, error.headers)
        detail = error.detail
    name = error.name if isinstance(error, Refusal) else _name_of(status)
    next_step = error.next_step if isinstance(error, Refusal) else None
    problem = explain(request, status, name, detail, next_step=next_step)
    return respond(problem, error.headers)


async def on_bad_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    is_json = not any(item["type"] == "json_invalid" for item in found)
    # Tools that post say something else where nobody told them, and its text is then not read.
    is_unread = tuple(found[0]["loc"]) == ("body",) and not _says_json(request)
    problem = explain(
        request,
        422 if is_json else 400,
        "validation" if is_json else NOT_JSON,
        "The body does not say that it is JSON." if is_unread else _sentence(found),
        next_step=SAY_JSON if is_unread else CORRECT,
        errors=[
            FieldProblem(location=list(item["loc"]), message=str(item["msg"])) for item in found
        ],
    )
    return respond(problem)


async def on_defect(request: Request, error: Exception) -> Response:
    """An error that nobody foresaw: its text may hold anything, so it goes to the log alone."""
    detail = "The server made a mistake. Its log has the details."
    return respond(explain(request, 500, "defect", detail))


def _says_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return re.fullmatch(r"application/(.+\+)?json", kind) is not None


def _sentence(found: Sequence[Any]) -> str:
    first = found[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}."


def _name_of(status: int) -> str:
    return HTTPStatus(status).phrase.lower().replace(" ", "-")


def install(app: FastAPI) -> None:
    app.add_exception_handler(errors.NeveError, on_neve_error)
    app.add_exception_handler(HTTPException, on_refusal)
    app.add_exception_handler(RequestValidationError, on_bad_request)
    app.add_exception_handler(Exception, on_defect)
