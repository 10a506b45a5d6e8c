"""One database operation in a process of its own, which is killed at a chosen point.

python -m tests.attack.database_child CONFIG POINT BODY
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from neve import Neve
from neve.catalog import appending, tenant_tables
from neve.database.bodies import REQUEST, Compact, CreateTable, Write
from neve.in_process import InProcessEngine
from neve.store.sqlite import SqliteStore
from neve.store.writes import SqliteWrites

#: Where a call is hit: its owner, its name, and whether it is hit before or after it.
POINTS: dict[str, tuple[Any, str, bool]] = {
    "namespace made": (tenant_tables, "_make_namespace", True),
    "table made": (tenant_tables.CatalogTables, "create", True),
    "rows staged": (appending.PyicebergTable, "stage", True),
    "before the commit": (appending, "send", False),
    "after the commit": (appending, "send", True),
    "before the count": (SqliteWrites, "record", False),
    "after the count": (SqliteWrites, "record", True),
    "files rewritten": (InProcessEngine, "run_tasks", True),
    "before the replacement": (InProcessEngine, "replace_files", False),
    "after the replacement": (InProcessEngine, "replace_files", True),
    "before the end of the job": (SqliteStore, "finish", False),
    "after the end of the job": (SqliteStore, "finish", True),
}


def killing(call: Callable[..., Any], *, after: bool) -> Callable[..., Any]:
    def hit(*arguments: Any, **named: Any) -> Any:
        if after:
            call(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    return hit


def main(config: str, point: str, body: str) -> None:
    owner, name, after = POINTS[point]
    request = REQUEST.validate_json(body)
    with (
        Neve.open(config) as neve,
        patch.object(owner, name, killing(getattr(owner, name), after=after)),
    ):
        match request:
            case CreateTable():
                neve.database.create_table(request)
            case Write():
                neve.database.write(request)
            case Compact():
                neve.database.compact_here(request)


if __name__ == "__main__":
    main(*sys.argv[1:])
