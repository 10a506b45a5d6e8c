"""How a commit is answered, so that Iceberg never takes back what the catalog has applied.

Iceberg cleans up after 400, 401, 403, 404 and 409, and sends a commit again after 429 and after 503
with Retry-After. So a commit without a clear answer is looked up in the table: if it is there, that
is the answer; a conflict is passed on where the table shows it; everything else becomes an answer
after which Iceberg keeps its files and reports that the commit's state is unknown.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from neve.spark.gate.commits import Commit, Json, TableChange, read_commit
from neve.spark.gate.effects import Effect, effect_of, is_overtaken
from neve.spark.gate.upstream import Answer, NoAnswer, Request, Upstream

#: What Iceberg takes for an unknown state, as long as no Retry-After comes with it.
UNKNOWN_STATUSES = (500, 502, 503, 504)
#: A conflict is looked at again, since the commit that caused it may show a moment later.
LOOKS_AT_CONFLICT = 3
PAUSE_SECONDS = 0.5
#: How often a catalog that is too busy is asked, and how long it may make us wait.
MAX_SENDS = 3
MAX_RETRY_AFTER_SECONDS = 30.0
MAX_MESSAGE_CHARACTERS = 500
#: Headers of a commit that a reader of the table does not send.
OF_COMMITS = ("content-type", "content-encoding", "idempotency-key")


@dataclass(frozen=True, slots=True)
class View:
    """What the tables of a commit show of it."""

    commit: Commit
    #: As loaded; None for a table that does not exist.
    tables: tuple[Json | None, ...]

    @property
    def has_landed(self) -> bool:
        return all(effect is Effect.LANDED for effect in self._effects())

    @property
    def is_absent(self) -> bool:
        return all(effect is Effect.ABSENT for effect in self._effects())

    @property
    def is_refused(self) -> bool:
        """Whether Iceberg may be told of a conflict: it tries again, or deletes what it wrote."""
        changes = self.commit.changes
        if any(change.moves_a_branch_back for change in changes):
            # Its next try would move the branch whatever came meanwhile.
            return False
        if not any(change.added_snapshots or change.creates_table for change in changes):
            return True
        overtaken = [is_overtaken(*pair) for pair in self._pairs()]
        return self.is_absent and any(overtaken)

    def answer(self) -> Answer:
        """What the catalog should have answered to a commit that is there."""
        table = self.tables[0]
        if self.commit.is_transaction or table is None:
            return Answer(204, [], b"")
        return _json_answer(200, {k: table[k] for k in ("metadata-location", "metadata")})

    def _effects(self) -> list[Effect]:
        return [effect_of(*pair) for pair in self._pairs()]

    def _pairs(self) -> list[tuple[TableChange, Json | None]]:
        metadata = [table and table["metadata"] for table in self.tables]
        return list(zip(self.commit.changes, metadata, strict=True))


@dataclass(frozen=True, slots=True)
class Settler:
    """Sends commits, and finds out what became of those without a clear answer."""

    upstream: Upstream
    sleep: Callable[[float], None] = field(default=time.sleep)

    def commit(self, request: Request) -> Answer:
        """Send the commit, and answer by what the table shows."""
        commit = read_commit(request.path, request.body)
        answer = self._send(request)
        for sends in range(1, MAX_SENDS + 1):
            if _is_clear(answer, commit):
                return answer
            if commit is None:
                break
            settled, may_send = self._settled(request, commit, answer)
            if settled is not None:
                return settled
            if not may_send or sends == MAX_SENDS:
                break
            self.sleep(_pause(answer))
            answer = self._send(request)
        return _unknown(answer)

    def _send(self, request: Request) -> Answer:
        try:
            return self.upstream.ask(request)
        except NoAnswer as error:
            return error_answer(error.status, "NoAnswer", error.what)

    def _settled(
        self, request: Request, commit: Commit, answer: Answer
    ) -> tuple[Answer | None, bool]:
        """The answer that the table gives, if any; and whether the commit may be sent again."""
        may_send = False
        for look in range(LOOKS_AT_CONFLICT if answer.status == 409 else 1):
            self.sleep(PAUSE_SECONDS * look)
            try:
                view = View(commit, tuple(self._load(request, c) for c in commit.changes))
                if view.has_landed:
                    return view.answer(), False
                if answer.status == 409 and view.is_refused:
                    return error_answer(409, *_words(answer)), False
                may_send = _asks_for_patience(answer) and view.is_absent
            except (NoAnswer, ValueError, TypeError, KeyError, AttributeError, RecursionError):
                # What cannot be read, or is no metadata, tells nothing.
                may_send = False
        return None, may_send and all(change.may_be_sent_again for change in commit.changes)

    def _load(self, request: Request, change: TableChange) -> Json | None:
        headers = {k: v for k, v in request.headers.items() if k.lower() not in OF_COMMITS}
        answer = self.upstream.ask(Request("GET", f"{change.path}?snapshots=all", headers))
        if answer.status == 404 and change.creates_table:
            return None
        if answer.status != 200:
            raise NoAnswer(answer.status, "the table could not be loaded")
        loaded: Json = json.loads(answer.body)
        return loaded


def error_answer(status: int, kind: str, message: str) -> Answer:
    """An error as Iceberg reads it: the code in the body counts, not the status."""
    error = {"message": message[:MAX_MESSAGE_CHARACTERS], "type": kind, "code": status}
    return _json_answer(status, {"error": error})


def _json_answer(status: int, document: Json) -> Answer:
    body = json.dumps(document).encode()
    return Answer(status, [("Content-Type", "application/json")], body)


def _is_clear(answer: Answer, commit: Commit | None) -> bool:
    """Whether the catalog said that the commit is done, and said it whole."""
    if commit is None or commit.is_transaction:
        return answer.status in (200, 204)
    if answer.status != 200:
        return False
    try:
        return isinstance(json.loads(answer.body)["metadata"], dict)
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _asks_for_patience(answer: Answer) -> bool:
    return answer.status == 429 or (answer.status == 503 and answer.retry_after is not None)


def _pause(answer: Answer) -> float:
    """Seconds; a date is not worth a clock."""
    wanted = answer.retry_after or ""
    return min(float(wanted), MAX_RETRY_AFTER_SECONDS) if wanted.isdecimal() else 1.0


def _unknown(answer: Answer) -> Answer:
    kind, message = _words(answer)
    status = {429: 503}.get(answer.status, answer.status)
    said = f"The catalog answered {answer.status} to a commit: {message}"
    said = f"{said[: MAX_MESSAGE_CHARACTERS - 60]} Whether it was applied is not known."
    return error_answer(status if status in UNKNOWN_STATUSES else 500, kind, said)


def _words(answer: Answer) -> tuple[str, str]:
    """The catalog's own words, whatever form they have."""
    try:
        error = json.loads(answer.body)["error"]
        return str(error.get("type") or "RESTException"), str(error["message"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        text = " ".join(answer.body.decode("utf-8", errors="replace").split())
        return "RESTException", text or "nothing."
