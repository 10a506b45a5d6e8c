"""Files that are no table's, wherever they lie: databases, and what a configuration names.

A table may lie in the folder that holds its catalog, the state or the configuration. No metadata
reaches them, and whoever deleted one would lose every table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection

from neve.planning.locations import bare_path, scheme_of
from neve.storage.resolved import NOWHERE, Sought

#: What a file of SQLite begins with.
MAGIC = b"SQLite format 3\0"
#: What SQLite keeps beside a database, and a rollback would need.
BESIDE = ("", "-wal", "-shm", "-journal")
_BESIDE = re.compile(r"-(?:wal|shm|journal)$")


def not_of_tables(paths: Collection[str], named: Collection[str]) -> set[str]:
    """Of the paths, named files by whatever name, databases, and what lies beside these."""
    found = Sought(paths).named_by(f"file:{file}{ending}" for file in named for ending in BESIDE)
    return found.union(path for path in paths if path not in found and _is_database(path))


def _is_database(path: str) -> bool:
    if scheme_of(path) != "file":
        return False
    here = bare_path(path)
    return any(_begins_with_magic(file) for file in {here, _BESIDE.sub("", here)})


def _begins_with_magic(file: str) -> bool:
    try:
        # Without waiting for whoever would write into a pipe.
        opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return os.read(opened, len(MAGIC)) == MAGIC
        finally:
            os.close(opened)
    except OSError as error:
        # What cannot be looked at may be one.
        return error.errno not in NOWHERE
    except ValueError:
        return False
