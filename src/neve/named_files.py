"""Files of this machine that the configuration names, and those that Neve keeps beside them.

Whatever a setting is for, a value that leads to a file names one: databases, keys, certificates,
packages. No sweep takes them for orphans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from neve.catalog.connect import Catalogs
from neve.serve_address import address_file
from neve.settings import Settings

SQLITE = "sqlite:///"


def named_files(settings: Settings, catalogs: Catalogs) -> list[str]:
    """Paths as they are now: a file may be made after the configuration was read."""
    folder = settings.file.parent if settings.file else Path.cwd()
    properties = [catalogs.properties(name) for name in catalogs.names]
    told = [*_texts(settings), *_texts(properties)]
    found = {str(file) for text in told for file in _files(text, folder)}
    # Servers of other configurations over the same state have theirs there, too.
    address = address_file(settings)
    found.update(str(file) for file in address.parent.glob("server-*.json"))
    if settings.file:
        found.add(str(settings.file))
    return sorted(found)


def _files(text: str, folder: Path) -> Iterator[Path]:
    """The files that a value may name; most name none."""
    if text.startswith(SQLITE):
        yield folder / text.removeprefix(SQLITE).partition("?")[0]
        return
    for part in (text, *text.split(",")):
        path = folder / part.strip().removeprefix("file://")
        try:
            if path.is_file():
                yield path
        except (OSError, ValueError):
            # No name of a file, or one of a folder that nobody here may look into.
            continue


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _texts(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _texts(item)
