"""The audit log as a chain: every row holds the digest of the one before, and its own.

With a key that is kept apart from the log, nobody can make a row fit who does not have it. What was
cut off at the end is found by the head, which is kept beside the rows and can be noted elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

NO_DIGEST = "0" * 64
MAX_DETAIL_CHARACTERS = 1000


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who asked for what, and what came of it."""

    at: datetime
    who: str
    action: str
    #: A status of HTTP, the end of a job, or `refused`.
    outcome: str
    tenant: str = ""
    table: str = ""
    job_id: str = ""
    #: Of the plan that was run, and of the names of the files that were replaced or deleted.
    plan_digest: str = ""
    files_digest: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An entry in its place, as the text that digests are taken of."""

    number: int
    text: str
    #: The digest of the row before.
    previous: str
    digest: str

    @property
    def entry(self) -> AuditEntry:
        """What the text says; a row that somebody spoilt must not hide the others."""
        try:
            fields = json.loads(self.text)
            return AuditEntry(**{**fields, "at": datetime.fromisoformat(fields["at"])})
        except (ValueError, TypeError, KeyError):
            return AuditEntry(datetime.fromtimestamp(0, tz=UTC), "?", "?", "unreadable")


@dataclass(frozen=True, slots=True)
class AuditHead:
    """Where a chain ends."""

    number: int = 0
    digest: str = NO_DIGEST

    def __str__(self) -> str:
        return f"{self.number}:{self.digest}"


def seal(entry: AuditEntry, head: AuditHead, key: str = "") -> AuditRow:
    """The entry as the row after the head."""
    text = json.dumps({**asdict(entry), "at": entry.at.isoformat()}, sort_keys=True)
    number = head.number + 1
    return AuditRow(number, text, head.digest, _digest(number, text, head.digest, key))


def _digest(number: int, text: str, previous: str, key: str) -> str:
    sealed = f"{number}\n{previous}\n{text}".encode(errors="surrogatepass")
    if key:
        return hmac.new(key.encode(), sealed, hashlib.sha256).hexdigest()
    return hashlib.sha256(sealed).hexdigest()


class Verifier:
    """Reads rows in their order, and says what is wrong first."""

    def __init__(self, key: str = "") -> None:
        self._key = key
        self.head = AuditHead()
        self.problem: str | None = None
        #: Digests by number, of rows that were asked about.
        self._wanted: dict[int, str] = {}

    def expect(self, noted: AuditHead) -> None:
        """A head that was noted before must be a row of the chain."""
        self._wanted[noted.number] = noted.digest

    def read(self, rows: Iterable[AuditRow]) -> None:
        for row in rows:
            if self.problem is not None:
                return
            self.problem = self._problem_of(row)
            self.head = AuditHead(row.number, row.digest)

    def finish(self, kept: AuditHead) -> str | None:
        """What is wrong with the chain, given the head that was kept beside it."""
        if self.problem is None and kept.number != self.head.number:
            self.problem = (
                f"The log ends with row {self.head.number}, and its head says {kept.number}: "
                "rows were cut off or added."
            )
        if self.problem is None and kept.digest != self.head.digest:
            self.problem = f"Row {kept.number} is not the one that the head was made of."
        missing = sorted(number for number in self._wanted if number > self.head.number)
        if self.problem is None and missing:
            self.problem = f"Row {missing[0]} was noted, and the log ends before it."
        return self.problem

    def _problem_of(self, row: AuditRow) -> str | None:
        number = self.head.number + 1
        if row.number != number:
            return f"Row {number} is missing: row {row.number} is in its place."
        if row.previous != self.head.digest:
            return f"Row {number} does not follow the row before it."
        if not hmac.compare_digest(row.digest, _digest(number, row.text, row.previous, self._key)):
            return f"Row {number} was changed."
        noted = self._wanted.get(number)
        if noted is not None and not hmac.compare_digest(noted, row.digest):
            return f"Row {number} is not the one that was noted."
        return None
