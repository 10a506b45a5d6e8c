"""Whose metadata a file is, by its first bytes: they tell a table's id or a view's.

A table whose commits nobody cleans up after has thousands of old metadata files, so that of each
no more is read than the id needs, which every writer puts in front.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pyiceberg.io import FileIO

from neve.catalog.checked_avro import Damaged, damage_explained, read_text, require_file
from neve.model.errors import TableUnreadable
from neve.model.orphans import MetadataOwner

HEAD_BYTES = 4096
#: Of packed ones, what is unpacked of the head.
UNPACKED_BYTES = 65_536
READ_AT_ONCE = 16
_GZIP = b"\x1f\x8b"
#: A quote within a text is escaped, so that no value can look like this key.
_ID = re.compile(rb'"(table|view)-uuid"\s*:\s*"([^"\\]+)"')


def metadata_owners(io: FileIO, paths: Collection[str]) -> list[MetadataOwner]:
    """Of those that are still there; one that does not tell whose it is is an error."""
    with ThreadPoolExecutor(READ_AT_ONCE, thread_name_prefix="neve-metadata") as threads:
        return [owner for owner in threads.map(partial(_owner, io), sorted(paths)) if owner]


def _owner(io: FileIO, path: str) -> MetadataOwner | None:
    try:
        with damage_explained():
            head = _head(io, path)
            if not head:
                # Its writer ended before it began, and nobody reads a table from that.
                return None
            kind, uuid = _told_by_head(head) or _told_by_all(read_text(io, path))
    except Damaged as error:
        raise TableUnreadable(
            f"{path} may be metadata of another table, and does not tell: {error}.",
            next_step="Delete that file if nobody needs it.",
        ) from error
    return MetadataOwner(path, kind, uuid)


def _head(io: FileIO, path: str) -> bytes:
    """The first bytes; none of a file that is empty, or gone since it was listed."""
    try:
        require_file(path)
        with io.new_input(path).open() as stream:
            head = stream.read(HEAD_BYTES)
    except FileNotFoundError:
        return b""
    if head.startswith(_GZIP):
        return zlib.decompressobj(wbits=31).decompress(head, UNPACKED_BYTES)
    return bytes(head)


def _told_by_head(head: bytes) -> tuple[str, str] | None:
    found = _ID.search(head)
    return (found[1].decode(), found[2].decode("utf-8", "replace")) if found else None


def _told_by_all(text: str) -> tuple[str, str]:
    document = json.loads(text)
    for kind in ("table", "view"):
        if isinstance(uuid := document.get(f"{kind}-uuid"), str):
            return kind, uuid
    raise ValueError("it holds neither a table-uuid nor a view-uuid")
