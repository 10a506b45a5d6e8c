"""Locations of files, compared whatever way they are written.

One file has many spellings: `s3://b/k` and `s3a://b/k`, `file:/a` and `file:///a`, `a//b` and
`a/b`, `x%20y` and `x y`. Two that may mean one file are equal here; a name is deleted only as its
store lists it. Links are not known here: see `neve.storage.resolved`.
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
SAME_SCHEMES = {
    "": "file",
    "s3a": "s3",
    "s3n": "s3",
    "gcs": "gs",
    "cosn": "cos",
    "abfss": "abfs",
    "wasb": "abfs",
    "wasbs": "abfs",
    "webhdfs": "hdfs",
    "swebhdfs": "hdfs",
    "viewfs": "hdfs",
}
THIS_MACHINE = frozenset(("localhost", "127.0.0.1", "[::1]"))
DEFAULT_PORTS = {"hdfs": ":8020", "s3": ":443", "gs": ":443", "abfs": ":443"}
#: Stores whose authority is a bucket; that of any other is a host, which may have many names.
BUCKETS = frozenset(("s3", "gs", "abfs", "oss", "cos", "obs"))
#: Of these, stores whose buckets have no dots in their names: what follows one is an endpoint.
WITH_ENDPOINTS = frozenset(("oss", "cos"))
#: Where some clients take a name to end.
CUT_OFF = frozenset("?#")
#: A name may have been escaped more than once on its way.
MAX_ESCAPES = 3


def scheme_of(location: str) -> str:
    """The scheme in one spelling; a bare path is a local file."""
    found = LOCATION.fullmatch(location)
    assert found is not None
    scheme = (found.group("scheme") or "").lower()
    return SAME_SCHEMES.get(scheme, scheme)


def store_of(location: str) -> str:
    """Scheme and authority, such as `s3://bucket` or `file://`."""
    found = LOCATION.fullmatch(location)
    assert found is not None
    scheme, authority = scheme_of(location), (found.group("authority") or "").lower()
    authority = authority.removesuffix(DEFAULT_PORTS.get(scheme, ":"))
    if scheme == "file" and authority in THIS_MACHINE:
        authority = ""
    elif scheme == "abfs":
        # The endpoints `dfs` and `blob` of an account show the same objects.
        authority = re.sub(r"(@[^.]+)\..*", r"\1", authority)
    elif scheme in BUCKETS:
        # Keys of access may stand before the bucket, and an endpoint behind it.
        bucket = authority.rpartition("@")[2]
        authority = bucket.partition(".")[0] if scheme in WITH_ENDPOINTS else bucket
    return f"{scheme}://{authority}"


def bare_path(location: str) -> str:
    """The path within the store, exactly as it is written."""
    found = LOCATION.fullmatch(location)
    assert found is not None
    return "/" + found.group(3).lstrip("/")


def unescaped(path: str) -> str:
    """The path without percent escapes."""
    for _ in range(MAX_ESCAPES):
        if "%" not in path or (decoded := unquote(path, errors="surrogateescape")) == path:
            break
        path = decoded
    return path


def path_of(location: str) -> str:
    """The path within the store, in one spelling. It serves comparisons only."""
    # A letter in two parts must not lose one to an escape in front of it.
    path = unescaped(normalize("NFC", bare_path(location)))
    return posixpath.normpath(normalize("NFC", "/" + path.lstrip("/")))


def comparable_path(location: str) -> str:
    """The path in one spelling for stores that tell upper from lower case, and for the others."""
    return normalize("NFC", path_of(location).casefold())


def text_key(location: str) -> str:
    """Equal for two locations that may be one file, as far as their text can tell.

    A host of files may be reached by many names, so that only buckets count as stores apart.
    """
    store = store_of(location)
    scheme = store.partition(":")[0]
    return f"{store if scheme in BUCKETS else scheme}|{comparable_path(location)}"


def is_within(location: str, folder: str) -> bool:
    """Whether a location is the folder or lies below it; `/t2` is not below `/t`."""
    store, outer = _folder(folder)
    if store_of(location) != store:
        return False
    inner = _cased(store, path_of(location))
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def is_surely_within(location: str, folder: str) -> bool:
    """Whether the location, as it is written, lies below the folder: a permission, not a doubt.

    Nothing of it may be cut off by a client, or lead out again.
    """
    inner, outer = bare_path(location), bare_path(folder).rstrip("/") + "/"
    if store_of(location) != store_of(folder) or not inner.startswith(outer):
        return False
    return not CUT_OFF & set(inner) and ".." not in inner.split("/")


@lru_cache(maxsize=4096)
def _folder(location: str) -> tuple[str, str]:
    """Folders are few and files are many: each folder is taken apart once."""
    store = store_of(location)
    return store, _cased(store, path_of(location))


def _cased(store: str, path: str) -> str:
    """A local folder may be found by its name in any case."""
    return path.casefold() if store.startswith("file:") else path
