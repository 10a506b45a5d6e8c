"""Folders of a local file system. Links are reported and never followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from neve.model.errors import JobRefused
from neve.model.orphans import ListedFile
from neve.storage.access import local_path
from neve.storage.listing.folders import Folder


class LocalLister:
    """Lists with one system call for a folder and one for each file."""

    def check_root(self, location: str) -> None:
        path = local_path(location.rstrip("/"))
        if not os.path.isdir(path):
            raise JobRefused(f"There is no folder {location} on this machine.")
        if os.path.realpath(path) != os.path.normpath(path):
            raise JobRefused(
                f"{location} lies behind a symbolic link, so its files have more than one name.",
                next_step="Sweep the table where its location is the real folder.",
            )

    def folders(self, location: str) -> list[str]:
        return [
            f"{location}/{entry.name}"
            for entry in _entries(local_path(location))
            if entry.is_dir(follow_symlinks=False)
        ]

    def files(self, folder: Folder) -> Iterator[ListedFile]:
        pending = [folder.location]
        while pending:
            location = pending.pop()
            for entry in _entries(local_path(location)):
                path = f"{location}/{entry.name}"
                if not entry.is_dir(follow_symlinks=False):
                    found = _listed(path, entry)
                    if found is not None:
                        yield found
                elif folder.is_deep:
                    pending.append(path)

    def look_up(self, path: str) -> ListedFile | None:
        try:
            return _as_listed(path, os.lstat(local_path(path)))
        except FileNotFoundError:
            return None


def _entries(path: str) -> list[os.DirEntry[str]]:
    """What a folder holds; one that was removed meanwhile holds nothing."""
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def _listed(path: str, entry: os.DirEntry[str]) -> ListedFile | None:
    try:
        return _as_listed(path, entry.stat(follow_symlinks=False))
    except FileNotFoundError:
        return None


def _as_listed(path: str, found: os.stat_result) -> ListedFile:
    return ListedFile(
        path=path,
        size_bytes=found.st_size,
        modified_ms=found.st_mtime_ns // 1_000_000,
        is_regular=stat.S_ISREG(found.st_mode),
    )
