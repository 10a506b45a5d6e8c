"""What can be listed: the folders of a store, and the files in one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from neve.model.errors import JobRefused
from neve.model.orphans import ListedFile
from neve.planning.locations import store_of
from neve.storage.access import Storage

#: With this many folders there is work for every task, and nothing is gained one level deeper.
ENOUGH_FOLDERS = 256
LEVELS = 2


@dataclass(frozen=True, slots=True)
class Folder:
    """One piece of a listing: a folder with everything below it, or only its own files."""

    location: str
    is_deep: bool


class Lister(Protocol):
    """One kind of store."""

    def check_root(self, location: str) -> None:
        """Raise where files below the location would not be where their names say."""
        ...

    def folders(self, location: str) -> list[str]:
        """The folders right below."""
        ...

    def files(self, folder: Folder) -> Iterator[ListedFile]: ...

    def look_up(self, path: str) -> ListedFile | None:
        """One file, if it is there."""
        ...


def lister_for(location: str, storage: Storage) -> Lister:
    """The lister of the store that a location names."""
    scheme = store_of(location).partition(":")[0]
    if scheme == "file":
        from neve.storage.listing.local import LocalLister

        return LocalLister()
    if scheme == "s3" and storage.refusal is None:
        from neve.storage.listing.s3 import S3Lister

        return S3Lister(storage.s3_client())
    why = storage.refusal if scheme == "s3" else f"files of {scheme}: are not listed by Neve"
    raise JobRefused(
        f"{location} cannot be swept: {why}.",
        next_step="Local files and S3 with its own credentials can be swept.",
    )


def split_into_folders(roots: Sequence[str], storage: Storage) -> list[Folder]:
    """One or two levels of folders, so that tasks share the work; together they are all of it."""
    pieces: list[Folder] = []
    for root in roots:
        lister = lister_for(root, storage)
        lister.check_root(root)
        level = [root.rstrip("/")]
        for _ in range(LEVELS):
            if len(level) >= ENOUGH_FOLDERS:
                break
            pieces += [Folder(location, is_deep=False) for location in level]
            level = [below for location in level for below in lister.folders(location)]
        pieces += [Folder(location, is_deep=True) for location in level]
    return pieces
