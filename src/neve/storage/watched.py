"""Whether names of local files still mean what they meant: links come and go behind a name.

A name that leads to another folder by now leads to another number, and a folder in which a name was
made or taken away has another time. So looking at folders tells of all their files.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable
from typing import Generic, TypeVar

from neve.storage.resolved import local_folders

User = TypeVar("User", bound=Hashable)
#: A folder may change twice within one tick of its clock.
TICK_NS = 2_000_000_000
#: Path, device, number and time of a folder.
Seen = tuple[str, int, int, int]


class WatchedFolders(Generic[User]):
    """Local folders with what they were when names in them were resolved, and for whom."""

    def __init__(self) -> None:
        #: Empty for folders of other machines.
        self._seen: dict[str, list[Seen]] = {}
        self._users: dict[str, set[User]] = defaultdict(set)

    def note(self, user: User, paths: Iterable[str]) -> None:
        """Remember the folders of these paths; to be called before the paths are resolved."""
        for folder in {path.rpartition("/")[0] for path in paths}:
            if folder not in self._seen:
                self._seen[folder] = [_look(path) for path in local_folders(folder)]
            if self._seen[folder]:
                self._users[folder].add(user)

    def changed(self) -> set[User]:
        """Whose paths may mean other files by now; they have to be noted again."""
        found = set[User]()
        for folder in [f for f in self._users if any(_look(s[0]) != s for s in self._seen[f])]:
            found |= self._users.pop(folder)
            del self._seen[folder]
        return found

    def keep(self, users: Collection[User]) -> None:
        """Forget all others."""
        kept = {folder: own.intersection(users) for folder, own in self._users.items()}
        self._users = defaultdict(set, {folder: own for folder, own in kept.items() if own})
        self._seen = {folder: self._seen[folder] for folder in self._users}


def _look(path: str) -> Seen:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return (path, 0, 0, 0)
    now = time.time_ns()
    # What has just changed, or will have, could change once more unseen: it never looks the same.
    moment = found.st_mtime_ns if now - found.st_mtime_ns > TICK_NS else now
    return (path, found.st_dev, found.st_ino, moment)
