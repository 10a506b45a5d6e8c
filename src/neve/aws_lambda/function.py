"""An event of an HTTP request goes in, a status, headers and a body come out."""

from __future__ import annotations

import base64
import binascii
import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from neve.client.client import NeveClient
from neve.database.bodies import REQUEST, Compact, CompactAnswer, CreateTable, Query, Write
from neve.model.errors import InputError, NeveError, RecordsRefused
from neve.model.problem_kinds import TYPE_PREFIX, kind_of
from neve.neve import Neve

Answer = dict[str, Any]
#: What the platform lets through.
MAX_BODY_BYTES = 6 * 1024 * 1024
PATHS = ("/database", "/api/v1/database")
HEALTH = ("/health", "/api/v1/health")
#: How much longer than its jobs a service is waited for.
PATIENCE_SECONDS = 30.0


class Function:
    """One function; its Neve is opened by the first event, and serves those that follow."""

    def __init__(self, open_neve: Callable[[], Neve] = Neve.open) -> None:
        self._open_neve = open_neve
        self._opened: Neve | None = None
        self._lock = threading.Lock()

    def __call__(self, event: object, context: object = None) -> Answer:
        """The answer to one event. Whatever it holds, there is one."""
        try:
            return self._answer(event)
        except NeveError as error:
            return _problem(*kind_of(error), error.message, error.next_step, _fields(error))
        except Exception:
            # The platform would show what it says to whoever asks.
            logging.getLogger("neve.aws_lambda").exception("A defect.")
            return _problem(500, "defect", "The function made a mistake. Its log has the details.")

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def _neve(self) -> Neve:
        with self._lock:
            if self._opened is None:
                self._opened = self._open_neve()
            return self._opened

    def _answer(self, event: object) -> Answer:
        if not isinstance(event, Mapping):
            raise InputError("The event is no request: it must be an object.")
        method, path = _method(event), _path(event)
        if path in HEALTH and method == "GET":
            return _response(200, {"status": "ok"})
        if path not in PATHS:
            return _problem(404, "not-found", f"There is nothing at {path[:200]}.")
        if method != "POST":
            return _problem(405, "method-not-allowed", f"{path} takes POST.")
        try:
            request = REQUEST.validate_json(_body(event))
        except ValidationError as error:
            return _invalid(error)
        return self._run(request, _header(event, "idempotency-key"))

    def _run(self, request: CreateTable | Write | Query | Compact, key: str | None) -> Answer:
        operations = self._neve().database
        match request:
            case CreateTable():
                return _told(operations.create_table(request))
            case Write():
                return _told(operations.write(request, key))
            case Query():
                return _told(operations.query(request))
            case Compact():
                return self._compact(request)

    def _compact(self, request: Compact) -> Answer:
        """By the workers of a service where one is named, in this process otherwise."""
        neve = self._neve()
        url = neve.database_service_url
        if url is None:
            return _told(neve.database.compact_here(request))
        seconds = neve.database.rules.compact_wait_seconds + PATIENCE_SECONDS
        with NeveClient(url, timeout_seconds=seconds) as client:
            answer = CompactAnswer(**client.database(request.model_dump()))
        return _told(answer, 200 if answer.stats else 202)


def _method(event: Mapping[str, Any]) -> str:
    http = _mapping(_mapping(event.get("requestContext")).get("http"))
    return str(event.get("httpMethod") or http.get("method") or "")


def _path(event: Mapping[str, Any]) -> str:
    path = str(event.get("path") or event.get("rawPath") or "")
    return path.rstrip("/") or "/"


def _header(event: Mapping[str, Any], name: str) -> str | None:
    headers = _mapping(event.get("headers"))
    found = (value for key, value in headers.items() if str(key).lower() == name)
    value = next(found, None)
    if value is None:
        return None
    if not 1 <= len(str(value)) <= 255:
        raise InputError(f"The header {name} must have 1 to 255 characters.")
    return str(value)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _body(event: Mapping[str, Any]) -> bytes:
    body = event.get("body")
    if not isinstance(body, str):
        raise InputError("The event has no body.", next_step="Send the request as JSON.")
    try:
        raw = body.encode()
        if event.get("isBase64Encoded"):
            raw = base64.b64decode(raw, validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise InputError("The body cannot be read: it is no text.") from error
    if len(raw) > MAX_BODY_BYTES:
        raise InputError(f"The body is larger than {MAX_BODY_BYTES} bytes.")
    return raw


def _told(answer: BaseModel, status: int = 200) -> Answer:
    return _response(status, answer.model_dump(mode="json"))


def _response(status: int, body: Mapping[str, Any], kind: str = "application/json") -> Answer:
    headers = {"Content-Type": kind, "X-Content-Type-Options": "nosniff"}
    return {"statusCode": status, "headers": headers, "body": json.dumps(body)}


def _problem(
    status: int,
    name: str,
    detail: str,
    next_step: str | None = None,
    errors: list[dict[str, Any]] | None = None,
) -> Answer:
    document = {
        "success": False,
        "type": TYPE_PREFIX + name,
        "title": name.replace("-", " ").capitalize(),
        "status": status,
        "detail": detail,
        "next_step": next_step,
        "errors": errors,
    }
    said = {key: value for key, value in document.items() if value is not None}
    return _response(status, said, "application/problem+json")


def _invalid(error: ValidationError) -> Answer:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    is_json = not any(item["type"] == "json_invalid" for item in found)
    place = ".".join(str(part) for part in found[0]["loc"]) or "body"
    return _problem(
        422 if is_json else 400,
        "validation" if is_json else "not-json",
        f"{place}: {found[0]['msg']}.",
        "Correct the request.",
        [{"location": list(item["loc"]), "message": item["msg"]} for item in found],
    )


def _fields(error: NeveError) -> list[dict[str, Any]] | None:
    if not isinstance(error, RecordsRefused):
        return None
    return [{"location": list(t.location), "message": t.message} for t in error.troubles]


handler = Function()
