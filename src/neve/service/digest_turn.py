"""Whose turn it is to send a day's digest: one process has it for a while, until all is sent.

One that is killed in between leaves what it had sent, and another one goes on after it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from neve.service.store_ports import JobStore

MARK = "digest"
#: For how long a turn is one's own without a sign of it; longer than a channel may take to answer.
TURN_SECONDS = 300


@dataclass
class DigestTurn:
    """The turn of this process, and which channels have the digest already."""

    store: JobStore
    day: date
    #: The mark as it stands; it begins with the day, which is all that there is once all is sent.
    mark: str
    told: list[str] = field(default_factory=list)

    def keep(self) -> bool:
        """Have it for a while from now on; False where another one has it."""
        until = self.store.now() + timedelta(seconds=TURN_SECONDS)
        left = json.dumps({"until": until.isoformat(), "told": self.told})
        return self._set(f"{self.day.isoformat()} {left}")

    def end(self) -> None:
        """Nothing more is sent of this day."""
        self._set(self.day.isoformat())

    def _set(self, mark: str) -> bool:
        if not self.store.marks.set(MARK, mark, expected=self.mark):
            return False
        self.mark = mark
        return True


def begin_turn(store: JobStore, day: date) -> DigestTurn | None:
    """Take the turn of that day; None where it was sent, or another process is at it."""
    known = store.marks.get(MARK)
    last, _, left = known.partition(" ")
    turn = DigestTurn(store, day, known)
    if last > day.isoformat():
        return None
    if last == day.isoformat():
        if not left:
            return None
        begun = json.loads(left)
        if store.now() < datetime.fromisoformat(begun["until"]):
            return None
        turn.told = begun["told"]
    return turn if turn.keep() else None
