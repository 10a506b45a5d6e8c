"""Random predicates on a table of any schema: no reader may leave out a row that one of them finds.

Readers skip files, row groups and pages by their statistics, so that a wrong one hides rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
from pyiceberg.types import (
    DecimalType,
    FloatType,
    NestedField,
    PrimitiveType,
    StructType,
)
from tests.fuzz.world import World
from tests.random_files import DUCKDB, SPARK, Column
from tests.random_questions import SQL_TYPES, Question, draw_question

QUESTIONS = 5
Ids = list[int]


def draw_questions(world: World, rows: pa.Table, choose: random.Random) -> list[Question]:
    columns, found = list(_columns(world, rows)), rows.to_pylist()
    if not columns or not found:
        return []
    return [draw_question(choose, columns, found) for _ in range(QUESTIONS)]


def _columns(world: World, rows: pa.Table) -> Iterator[Column]:
    """Columns that can be asked for, also those of structs, with values that they have."""
    found = rows.to_pylist()
    for name, field in _named(world):
        assert isinstance(field.field_type, PrimitiveType)
        column = Column(name, field.field_type, pa.null(), ())
        values = [value for row in found if _is_asked(value := column.value(row))]
        if values:
            yield replace(column, values=tuple(values))


def _named(world: World) -> Iterator[tuple[str, NestedField]]:
    for field in world.loaded().schema().fields:
        if isinstance(field.field_type, StructType):
            for child in field.field_type.fields:
                if _is_comparable(child):
                    yield f"{field.name}.{child.name}", child
        elif _is_comparable(field):
            yield field.name, field


def _is_comparable(field: NestedField) -> bool:
    of = field.field_type
    if isinstance(of, FloatType):
        # Spark compares it as a double, others as it is.
        return False
    return isinstance(of, DecimalType) or type(of) in SQL_TYPES


def _is_asked(value: Any) -> bool:
    """Not for null, NaN and zeros, in which readers differ."""
    is_zero = isinstance(value, float) and value == 0
    return value is not None and value == value and not is_zero


def truth(question: Question, rows: pa.Table) -> Ids:
    return sorted(row["id"] for row in rows.to_pylist() if question.holds(row))


def by_spark(world: World, questions: Sequence[Question]) -> list[Ids]:
    parts = [
        f"SELECT {number} AS question, id FROM {{t}} WHERE {_escaped(question.sql(SPARK))}"
        for number, question in enumerate(questions)
    ]
    found: list[Ids] = [[] for _ in questions]
    for row in world.sql(" UNION ALL ".join(parts)).collect():
        found[row.question].append(row.id)
    return [sorted(ids) for ids in found]


def _escaped(condition: str) -> str:
    return condition.replace("{", "{{").replace("}", "}}")


def by_pyiceberg(world: World, question: Question) -> Ids:
    scan = world.loaded().scan(row_filter=question.iceberg(), selected_fields=("id",))
    return sorted(scan.to_arrow()["id"].to_pylist())


def by_duckdb(paths: Sequence[str], question: Question) -> Ids:
    query = (
        f"SELECT id FROM read_parquet($1, hive_partitioning = false) WHERE {question.sql(DUCKDB)}"
    )
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        return sorted(row[0] for row in db.execute(query, [list(paths)]).fetchall())
