"""Locations of files, compared whatever way they are written.

One file has many spellings: `s3://b/k` and `s3a://b/k`, `file:/a` and `file:///a`, `a//b` and
`a/b`, `x%20y` and `x y`. Two that may mean one file are equal here; a name is deleted only as its
store lists it.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from unicodedata import normalize
from urllib.parse import unquote

LOCATION = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):(?://(?P<authority>[^/]*))?)?(.*)", re.S
)
SAME_SCHEMES = {"s3a": "s3", "s3n": "s3", "": "file"}
#: A name may have been escaped more than once on its way.
MAX_ESCAPES = 3


def store_of(location: str) -> str:
    """Scheme and authority, such as `s3://bucket` or `file://`."""
    found = LOCATION.fullmatch(location)
    assert found is not None
    scheme = (found.group("scheme") or "").lower()
    scheme = SAME_SCHEMES.get(scheme, scheme)
    authority = found.group("authority") or ""
    return (
        f"{scheme}://"
        if scheme == "file" and authority == "localhost"
        else f"{scheme}://{authority}"
    )


def path_of(location: str) -> str:
    """The path within the store, in one spelling. It serves comparisons only."""
    found = LOCATION.fullmatch(location)
    assert found is not None
    path = found.group(3)
    for _ in range(MAX_ESCAPES):
        if "%" not in path or (decoded := unquote(path, errors="surrogateescape")) == path:
            break
        path = decoded
    return posixpath.normpath(normalize("NFC", "/" + path.lstrip("/")))


def is_within(location: str, folder: str) -> bool:
    """Whether a location is the folder or lies below it; `/t2` is not below `/t`."""
    store, outer = _folder(folder)
    if store_of(location) != store:
        return False
    inner = path_of(location)
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


@lru_cache(maxsize=4096)
def _folder(location: str) -> tuple[str, str]:
    """Folders are few and files are many: each folder is taken apart once."""
    return store_of(location), path_of(location)
