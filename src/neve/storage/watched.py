"""Whether names of local files still mean what they meant: links come and go behind a name.

A folder that is moved or linked has another real path or another number, and one in which a name
was made or taken away has another time. So looking at folders tells of all their files.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable
from typing import Generic, TypeVar

from neve.storage.resolved import Resolver

User = TypeVar("User", bound=Hashable)
#: A folder may change twice within one tick of its clock.
TICK_NS = 2_000_000_000


class WatchedFolders(Generic[User]):
    """Local folders with what they were when names in them were resolved, and for whom."""

    def __init__(self) -> None:
        self._states: dict[str, object] = {}
        self._users: dict[str, set[User]] = defaultdict(set)

    def note(self, user: User, paths: Iterable[str]) -> None:
        """Remember the folders of these paths; to be called before the paths are resolved."""
        resolver = Resolver()
        for folder in {path.rpartition("/")[0] for path in paths}:
            if folder not in self._states:
                self._states[folder] = _state(resolver, folder)
            if self._states[folder] != ():
                self._users[folder].add(user)

    def changed(self) -> set[User]:
        """Whose paths may mean other files by now; they have to be noted again."""
        resolver, found = Resolver(), set[User]()
        for folder in list(self._users):
            state = self._states[folder]
            if state is None or _state(resolver, folder) != state:
                found |= self._users.pop(folder)
                del self._states[folder]
        return found

    def keep(self, users: Collection[User]) -> None:
        """Forget all others."""
        self._users = defaultdict(
            set, {f: kept for f, own in self._users.items() if (kept := own.intersection(users))}
        )
        self._states = {f: self._states[f] for f in self._users}


def _state(resolver: Resolver, folder: str) -> object:
    """Empty where the folder is not of this machine, None where no change could be told."""
    found = []
    for path in resolver.real_folders(folder) or ():
        try:
            seen = os.stat(path)
        except (OSError, ValueError):
            found.append((path, 0, 0, 0))
            continue
        if time.time_ns() - seen.st_mtime_ns < TICK_NS:
            return None
        found.append((path, seen.st_dev, seen.st_ino, seen.st_mtime_ns))
    return tuple(found)
