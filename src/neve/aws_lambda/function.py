"""An event of an HTTP request goes in, a status, headers and a body come out."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from neve.access.rights import Right
from neve.aws_lambda.answers import Answer, explained, invalid, problem, respond, told
from neve.aws_lambda.callers import Callers
from neve.aws_lambda.events import Event, read_event
from neve.client.client import NeveClient
from neve.database.bodies import REQUEST, Compact, CompactAnswer, CreateTable, Query, Write
from neve.database.keys import key_of
from neve.database.service import write_answer
from neve.guarding import Guarded, Notes, write_down
from neve.model.errors import AccessDenied, ConfigError, NeveError, NotAuthenticated
from neve.model.twins import TWINS, twins_in_body
from neve.neve import Neve

PATHS = ("/database", "/api/v1/database")
HEALTH = ("/health", "/api/v1/health")
#: How much longer than its jobs a service is waited for.
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Opened:
    neve: Neve
    callers: Callers


class Function:
    """One function; its Neve is opened by the first event, and serves those that follow."""

    def __init__(self, open_neve: Callable[[], Neve] = Neve.open) -> None:
        self._open_neve = open_neve
        self._made: _Opened | None = None
        self._lock = threading.Lock()

    def __call__(self, event: object, context: object = None) -> Answer:
        """The answer to one event. Whatever it holds, there is one."""
        notes = Notes()
        try:
            answer = self._explained(event, notes)
            self._record(event, notes, answer)
        except NeveError as error:
            # What cannot be written down is not answered as if it were.
            answer = explained(error)
        return answer

    def close(self) -> None:
        if self._made is not None:
            self._made.neve.close()

    def _opened(self) -> _Opened:
        with self._lock:
            if self._made is None:
                neve = self._open_neve()
                self._made = _Opened(neve, Callers(neve))
            return self._made

    def _explained(self, event: object, notes: Notes) -> Answer:
        try:
            return self._answer(event, notes)
        except NeveError as error:
            notes.detail = error.message
            return explained(error)
        except Exception:
            # The platform would show what it says to whoever asks.
            logging.getLogger("neve.aws_lambda").exception("A defect.")
            return problem(500, "defect", "The function made a mistake. Its log has the details.")

    def _answer(self, sent: object, notes: Notes) -> Answer:
        if isinstance(sent, Mapping) and Event(sent).is_for("GET", HEALTH):
            return respond(200, {"status": "ok"})
        opened, event = self._opened(), read_event(sent)
        caller = opened.callers.caller(event, notes)
        if event.path not in PATHS:
            return _refused(notes, 404, "not-found", f"There is nothing at {event.path[:200]}.")
        if event.method != "POST":
            return _refused(notes, 405, "method-not-allowed", f"{event.path} takes POST.")
        neve = Guarded(opened.neve, caller, Right.VIEW, notes)
        body = event.body()
        if (twins := twins_in_body(body)) is not None:
            return _refused(notes, 400, TWINS, twins)
        try:
            request = REQUEST.validate_json(body)
        except ValidationError as error:
            notes.detail = "The body is no request."
            return invalid(error)
        return self._run(neve, request, event.header("idempotency-key"))

    def _run(
        self, neve: Guarded, request: CreateTable | Write | Query | Compact, key: str | None
    ) -> Answer:
        key = key_of(request, key)
        match request:
            case CreateTable():
                return told(neve.create_table(request))
            case Write():
                return told(write_answer(neve.begin_write(request, key).result()))
            case Query():
                return told(neve.query(request))
            case Compact():
                return _compact(neve, request)

    def _record(self, event: object, notes: Notes, answer: Answer) -> None:
        """A row for every event that changes something or is refused, as servers write them."""
        found = Event(event if isinstance(event, Mapping) else {})
        status = int(answer["statusCode"])
        is_looking = status < 400 and found.method == "GET"
        if self._made is None or is_looking or not notes.is_kept:
            return
        write_down(self._made.neve.access, notes, found.action, status)


def _refused(notes: Notes, status: int, name: str, detail: str) -> Answer:
    notes.detail = detail
    return problem(status, name, detail)


def _compact(neve: Guarded, request: Compact) -> Answer:
    """By the workers of a service where one is named, in this process otherwise."""
    url = neve.database_service_url
    if url is None:
        return told(neve.compact_here(request))
    neve.check_compact(request)
    if neve.needs_second_person(request):
        # The service would take the function for who asks, and let them agree to it themselves.
        raise AccessDenied(
            "Letting snapshots go needs a second person, which only the service can ask.",
            next_step="Ask the service for it, or say expire_snapshots: false.",
        )
    seconds = neve.database_rules.compact_wait_seconds + PATIENCE_SECONDS
    key = neve.database_service_key
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        with NeveClient(url, timeout_seconds=seconds, headers=headers) as client:
            answer = CompactAnswer(**client.database(request.model_dump()))
    except (NotAuthenticated, AccessDenied) as error:
        # The caller may: it is the function that may not.
        raise ConfigError(
            "The service that compacts for this function refused it.",
            next_step="Give database.service_key a key of the service for this tenant's tables.",
        ) from error
    return told(answer, 200 if answer.stats else 202)


handler = Function()
