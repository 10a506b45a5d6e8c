"""Statements on Arrow tables, by a DuckDB that reaches nothing else.

It lives in memory, for one statement: no file, no network, no extension, no setting that could be
changed, and no variable of this process. What it is given was checked before; this is the second
lock on the same door.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import duckdb
from duckdb.sqltypes import DuckDBPyType

from neve.model.database import Column, QueryLimits, QueryResult
from neve.model.errors import QueryLimit, QueryRefused

if TYPE_CHECKING:
    import pyarrow as pa

MB = 1024 * 1024
INTERRUPT_SECONDS = 0.02
#: What Arrow is given of these is another value, or DuckDB's own bytes.
UNTOLD = frozenset(
    ("bignum", "bit", "geometry", "time with time zone", "uhugeint", "union", "variant")
)
NESTED = frozenset(("array", "list", "map", "struct"))
SETTINGS: dict[str, str | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_unsigned_extensions": False,
    "python_enable_replacements": False,
    "max_temp_directory_size": "0KB",
    "temp_directory": "",
}


class DuckQueries:
    """One closed-off database for each statement."""

    def run(
        self, statement: str, relations: Mapping[str, object], limits: QueryLimits, seconds: float
    ) -> QueryResult:
        """The rows of the statement, or QueryLimit where it takes too long or too much."""
        with _opened(limits) as connection:
            for name, rows in relations.items():
                connection.register(name, rows)
            connection.execute("SET lock_configuration = true")
            table = _run(connection, statement, limits, seconds)
        return _result(table, limits)


def _opened(limits: QueryLimits) -> duckdb.DuckDBPyConnection:
    own: dict[str, str | int | float | list[str]] = {
        "memory_limit": f"{limits.memory_bytes // MB}MB",
        "threads": limits.threads,
    }
    return duckdb.connect(":memory:", config={**SETTINGS, **own})


def _run(
    connection: duckdb.DuckDBPyConnection, statement: str, limits: QueryLimits, seconds: float
) -> pa.Table:
    done = threading.Event()
    watch = threading.Thread(target=_interrupt, args=(connection, seconds, done), daemon=True)
    watch.start()
    try:
        answer = connection.sql(statement)
        _refuse_untold(answer)
        # One row more than is told, to know whether there are more.
        return answer.limit(limits.max_rows + 1).to_arrow_table()
    except duckdb.InterruptException:
        raise QueryLimit(
            f"The query took longer than {limits.max_seconds:g} seconds.",
            next_step="Ask for less, or ask another engine.",
        ) from None
    except duckdb.OutOfMemoryException:
        raise QueryLimit(
            f"The query needs more than {limits.memory_bytes // MB} MB of memory.",
            next_step="Ask for less, or ask another engine.",
        ) from None
    except duckdb.Error as error:
        line = str(error).splitlines()[0]
        raise QueryRefused(f"The statement cannot be run: {line[:300]}") from None
    finally:
        done.set()
        watch.join()


def _refuse_untold(answer: duckdb.DuckDBPyRelation) -> None:
    for name, kind in zip(answer.columns, answer.types, strict=True):
        if found := next((part for part in _parts(kind) if part.id in UNTOLD), None):
            raise QueryRefused(
                f"Column {name[:80]!r} is or holds a {found}, which an answer cannot tell.",
                next_step="Ask for it as a text: CAST(column AS VARCHAR).",
            )


def _parts(kind: DuckDBPyType) -> Iterator[DuckDBPyType]:
    """A type, and those of what its values hold."""
    yield kind
    if kind.id in NESTED:
        for _, part in kind.children:
            if isinstance(part, DuckDBPyType):
                yield from _parts(part)


def _interrupt(
    connection: duckdb.DuckDBPyConnection, seconds: float, done: threading.Event
) -> None:
    """Again and again, since a statement that has not begun does not hear it."""
    if not done.wait(max(seconds, 0.0)):
        while not done.wait(INTERRUPT_SECONDS):
            connection.interrupt()


def _result(table: pa.Table, limits: QueryLimits) -> QueryResult:
    is_truncated = table.num_rows > limits.max_rows
    table = table.slice(0, limits.max_rows)
    if table.nbytes > limits.max_result_bytes:
        raise QueryLimit(
            f"The answer takes more than {limits.max_result_bytes // MB} MB.",
            next_step="Ask for fewer rows or columns.",
        )
    columns = tuple(Column(field.name, str(field.type), False) for field in table.schema)
    kinds = {field.name: field.type for field in table.schema}
    rows = [
        {name: to_json(as_object(value, kinds[name])) for name, value in row.items()}
        for row in _values(table)
    ]
    return QueryResult(columns, rows, is_truncated)


def _values(table: pa.Table) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = table.to_pylist()
        return found
    except (OverflowError, ValueError):
        raise QueryRefused(
            "The answer holds a moment outside of the years 1 to 9999, or finer than microseconds.",
            next_step="Ask for it as a text: CAST(column AS VARCHAR).",
        ) from None


def as_object(value: Any, kind: pa.DataType) -> Any:
    """Maps with texts for keys as objects, however deep they lie; other maps as lists of pairs."""
    # Arrow came with the table.
    import pyarrow.types as types

    if value is None or not types.is_nested(kind):
        return value
    if types.is_map(kind):
        pairs = [(as_object(k, kind.key_type), as_object(v, kind.item_type)) for k, v in value]
        return dict(pairs) if types.is_string(kind.key_type) else pairs
    if types.is_struct(kind):
        return {field.name: as_object(value[field.name], field.type) for field in kind}
    return [as_object(item, kind.value_type) for item in value]


def to_json(value: Any) -> object:
    """A value as JSON holds it exactly: fractions and moments as texts, bytes in hexadecimal."""
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal) and value.as_tuple().exponent == 0:
        return int(value)
    if isinstance(value, Decimal | UUID | timedelta):
        return str(value)
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return str(value)
    return value
