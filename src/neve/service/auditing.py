"""The audit log: rows after the head, whoever appends, and what a job leaves for it."""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from neve.access.chain import MAX_DETAIL_CHARACTERS, AuditEntry, AuditHead, Verifier, seal
from neve.model.errors import StoreError
from neve.secrets import hide_secrets
from neve.service.store_ports import Audit

ATTEMPTS = 200
PAUSE_SECONDS = 0.02
BATCH = 1000


class AuditTrail:
    """Appends to the chain of a store. Several processes may: each row follows what is there."""

    def __init__(
        self,
        audit: Audit,
        key: str = "",
        secrets: Collection[str] = (),
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._audit, self._key, self._secrets, self._sleep = audit, key, secrets, sleep
        self._lock = threading.Lock()

    def record(self, entry: AuditEntry) -> None:
        """Append the entry, or raise StoreError."""
        # What cannot be taken back must not hold what nobody may know.
        told = hide_secrets(entry.detail, self._secrets)[:MAX_DETAIL_CHARACTERS]
        short = replace(entry, detail=told)
        with self._lock:
            for _ in range(ATTEMPTS):
                if self._audit.append(seal(short, self._audit.head(), self._key)):
                    return
                # Another process was faster; not all of them should try again at once.
                self._sleep(random.uniform(0, PAUSE_SECONDS))
        raise StoreError(
            "The audit log could not be written: others append to it all the time.",
            next_step="Try again.",
        )

    def verify(self, noted: Iterable[AuditHead] = ()) -> tuple[AuditHead, str | None]:
        """Where the chain ends, and what is wrong with it."""
        # The head first: what is appended while rows are read is no fault.
        kept, verifier = self._audit.head(), Verifier(self._key)
        for head in noted:
            verifier.expect(head)
        while rows := self._audit.rows(verifier.head.number, BATCH):
            verifier.read(row for row in rows if row.number <= kept.number)
            if verifier.problem or rows[-1].number >= kept.number:
                break
        beyond = self._audit.rows(kept.number, 1)
        if beyond and not verifier.problem and self._audit.head() == kept:
            verifier.problem = f"Row {beyond[0].number} was added after the head."
        return kept, verifier.finish(kept)


class Evidence:
    """What a job did, as digests: its plan, and the files that it replaced or deleted."""

    def __init__(self) -> None:
        self._plans: list[str] = []
        self._files: set[str] = set()

    def plan(self, plan_id: str) -> None:
        if plan_id not in self._plans:
            self._plans.append(plan_id)

    def files(self, paths: Iterable[str]) -> None:
        self._files.update(paths)

    @property
    def plan_digest(self) -> str:
        return _digest(self._plans)

    @property
    def files_digest(self) -> str:
        """The same for the same files, in whatever order."""
        return _digest(sorted(self._files))


def _digest(texts: list[str]) -> str:
    if not texts:
        return ""
    joined = "\n".join(texts).encode(errors="surrogatepass")
    return hashlib.sha256(joined).hexdigest()
