"""The part of a DB-API cursor that maintenance uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Rows = list[Sequence[Any]]
#: What the driver of a cursor raises.
Errors = tuple[type[Exception], ...]


class Cursor(Protocol):
    def execute(self, operation: str, params: Any = None, /) -> Any: ...

    def fetchall(self) -> Any: ...


def run(cursor: Cursor, statement: str, parameters: Sequence[Any] = ()) -> Rows:
    """Run a statement to its end and return its rows.

    Trino reports most failures while the rows are fetched, and it goes on working on a statement
    only as long as somebody fetches: a statement without rows is fetched too.
    """
    if parameters:
        cursor.execute(statement, list(parameters))
    else:
        cursor.execute(statement)
    return list(cursor.fetchall())
