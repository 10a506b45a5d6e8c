"""What a file's `created_by` tells its readers, and what a spliced file should tell them.

Readers decide by the writer's name and version whether statistics and encodings can be trusted
(PARQUET-251, PARQUET-246, PARQUET-816). A spliced file holds pages of several writers under one
name, so that name must not earn any of them more trust than its own did.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from typing import Final

from neve.model.errors import ParquetUnsupported

_CREATED_BY: Final = re.compile(rb"^(.*?)\s+version\s+v?(\d+)\.(\d+)(?:\.(\d+))?")

#: Before these versions, readers distrust statistics of byte strings.
TRUSTED_SINCE: Final = {b"parquet-mr": (1, 10, 0), b"parquet-cpp": (1, 3, 0)}
#: Before this version, chunk sizes leave out the dictionary page's header, so ends are unknown.
_SIZES_RIGHT_SINCE: Final = {b"parquet-cpp": (1, 2, 9)}


@dataclass(frozen=True, slots=True)
class Writer:
    """The application and version in a `created_by`."""

    application: bytes
    version: tuple[int, int, int]

    def is_before(self, since: dict[bytes, tuple[int, int, int]]) -> bool:
        """Whether this writer is listed and older than its entry."""
        return self.version < since.get(self.application, (0, 0, 0))


# Thousands of files have a few writers between them.
@lru_cache(maxsize=256)
def parse(created_by: bytes | None) -> Writer | None:
    """The writer, if its name has the usual form."""
    match = _CREATED_BY.match(created_by or b"")
    if match is None:
        return None
    major, minor, patch = (int(part[:9]) for part in (match[2], match[3], match[4] or b"0"))
    return Writer(match[1], (major, minor, patch))


def check_sizes_are_right(created_by: bytes | None) -> None:
    """Refuse files of writers that misstate where their column chunks end."""
    writer = parse(created_by)
    if writer is not None and writer.is_before(_SIZES_RIGHT_SINCE):
        raise ParquetUnsupported("Its writer is known to misstate the size of column chunks.")


def common_name(names: Sequence[bytes | None], *, has_int96: bool) -> bytes | None:
    """The `created_by` of a file with pages of all these writers."""
    if len(set(names)) == 1:
        return names[0]
    writers = [(parse(name), name) for name in names]
    known = [(writer, name) for writer, name in writers if writer is not None]
    if len(known) < len(writers) or any(writer.is_before(TRUSTED_SINCE) for writer, _ in known):
        raise ParquetUnsupported(
            "Its writers differ, and readers distrust the statistics of some but not of others."
        )
    if len({writer.application for writer, _ in known}) == 1:
        return min(known, key=lambda pair: pair[0].version)[1]
    if has_int96:
        raise ParquetUnsupported(
            "Its writers differ, and the meaning of INT96 timestamps depends on the writer."
        )
    return own_name()


@cache
def own_name() -> bytes:
    """What Neve calls itself where several applications wrote the pages."""
    try:
        version = metadata.version("neve")
    except metadata.PackageNotFoundError:
        version = "0.0.0"
    return f"neve version {version} (build splice)".encode()
