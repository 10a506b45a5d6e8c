"""What processes of one service tell each other through their store, besides jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from neve.access.quotas import Quota, Room
from neve.model.stored_policy import StoredPolicy
from neve.model.workers import AnnouncedWorker


class StoredPolicies(Protocol):
    """Policies that were set while Neve runs, by name, changed by who knows what stands there."""

    def all(self) -> list[StoredPolicy]:
        """All of them, by name."""
        ...

    def put(
        self, name: str, document: str, *, expected: int | None, updated_by: str
    ) -> StoredPolicy | None:
        """Set one whose revision is as expected, None for one that is not there.

        Returns None where it is another one.
        """
        ...

    def remove(self, name: str, *, expected: int) -> bool:
        """Forget it, if its revision is as expected; False where it is not."""
        ...


class Workers(Protocol):
    """Workers that say that they are there, each for a while, on the store's clock."""

    def announce(self, worker: AnnouncedWorker, seconds: float) -> None:
        """Say what a worker is and does; it counts as there for so long."""
        ...

    def leave(self, worker_id: str) -> None:
        """It is not there any more."""
        ...

    def all(self) -> list[AnnouncedWorker]:
        """Those that are there, by their ids."""
        ...


class Rooms(Protocol):
    """Room for jobs of tenants that have a quota. A request that names a room is queued in it."""

    def hold(self, room: Room, quota: Quota, now: datetime) -> bool:
        """Hold it, counted with all that is held and open; TooMuch where there is none.

        False where nothing more is held: there is a job of its key, or the room is held already.
        """
        ...

    def give_back(self, room: Room) -> None:
        """What is left of it is for others."""
        ...
