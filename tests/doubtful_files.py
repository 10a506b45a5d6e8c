"""Files whose manifests tell doubtful things about them, and what must be found in them."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg import expressions as iceberg
from pyiceberg.expressions import BooleanExpression

from neve.model.rewrite import ColumnMetrics, FileDetails


def field(name: str, of: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, of, metadata={"PARQUET:field_id": str(field_id)})


SCHEMA = pa.schema(
    [
        field("id", pa.int64(), 1),
        field("d", pa.float64(), 2),
        field("f", pa.float32(), 3),
        field("s", pa.string(), 4),
        field("b", pa.binary(), 5),
        field("n", pa.int64(), 6),
        field("q", pa.decimal128(12, 2), 7),
        field("t", pa.timestamp("us"), 8),
        field("st", pa.struct([field("x", pa.float64(), 10)]), 9),
    ]
)
#: As Spark makes such a table; Iceberg numbers the columns in this order, and nested ones last.
COLUMNS = (
    "id BIGINT, d DOUBLE, f FLOAT, s STRING, b BINARY, n BIGINT, q DECIMAL(12, 2), "
    "t TIMESTAMP_NTZ, st STRUCT<x: DOUBLE>"
)
SMILEY, WIDE = "\U0001f600", "\uffee"
#: Ends of the second file; those of the first and of the third are near them.
ROWS = [
    {
        "id": [1, 2, 3, 4],
        "d": [1.0, math.nan, 2.0, None],
        "f": [1.0, 2.0, -0.0, 0.0],
        "s": [SMILEY, WIDE, SMILEY, WIDE],
        "b": [b"\x01", b"\xff", b"\x01", None],
        "n": [1, None, 2, None],
        "q": [Decimal("-1.28"), Decimal("1.27"), None, Decimal("0.00")],
        "t": [datetime(1960, 1, 1), datetime(1970, 1, 1), None, datetime(1960, 1, 1)],
        "st": [{"x": 1.0}, {"x": math.nan}, None, {"x": None}],
    },
    {
        "id": [5, 6, 7, 8],
        "d": [5.0, 6.0, 7.0, 8.0],
        "f": [5.0, 6.0, 7.0, 8.0],
        "s": ["a", "b", "c", "d"],
        "b": [b"a", b"b", b"c", b"d"],
        "n": [5, 6, 7, 8],
        "q": [Decimal("300.00"), Decimal("301.00"), None, None],
        "t": [datetime(2020, 1, 1)] * 4,
        "st": [{"x": 5.0}, {"x": 6.0}, {"x": 7.0}, {"x": 8.0}],
    },
]


def _double(value: float) -> bytes:
    return struct.pack("<d", value)


def _float(value: float) -> bytes:
    return struct.pack("<f", value)


def _long(value: int) -> bytes:
    return struct.pack("<q", value)


def _micros(year: int) -> bytes:
    return _long(int((datetime(year, 1, 1) - datetime(1970, 1, 1)).total_seconds() * 10**6))


_ALL = dict.fromkeys((1, 2, 3, 4, 5, 6, 7, 8, 10), 4)
_NULLS = [
    {1: 0, 2: 1, 3: 0, 4: 0, 5: 1, 6: 2, 7: 1, 8: 1, 10: 2},
    # The second writer did not count the nulls of `n`.
    {1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 7: 2, 8: 0, 10: 0},
]
METRICS = [
    ColumnMetrics(
        value_counts=_ALL,
        null_value_counts=_NULLS[0],
        lower_bounds={
            1: _long(1),
            2: _double(math.nan),
            3: _float(2.0),
            4: SMILEY.encode(),
            5: b"\xff",
            6: _long(1),
            7: (-128).to_bytes(16, "big", signed=True),
            8: _micros(1960),
            10: _double(math.nan),
        },
        upper_bounds={
            1: _long(4),
            2: _double(math.nan),
            3: _float(-0.0),
            4: WIDE.encode(),
            5: b"\x01",
            6: _long(2),
            7: b"\x7f",
            8: _micros(1970),
            10: _double(math.nan),
        },
    ),
    ColumnMetrics(
        value_counts=_ALL,
        null_value_counts=_NULLS[1],
        lower_bounds={
            1: _long(5),
            2: _double(5),
            3: _float(5),
            4: b"a",
            5: b"a",
            6: _long(5),
            7: (30000).to_bytes(2, "big"),
            8: _micros(2020),
            10: _double(5),
        },
        upper_bounds={
            1: _long(8),
            2: _double(8),
            3: _float(8),
            4: b"d",
            5: b"d",
            6: _long(8),
            7: (30100).to_bytes(2, "big"),
            8: _micros(2020),
            10: _double(8),
        },
    ),
]


@dataclass(frozen=True)
class Question:
    """One predicate, as Spark, DuckDB and pyiceberg spell it."""

    sql: str
    expression: str | BooleanExpression
    duckdb: str = ""


QUESTIONS = [
    *(
        Question(text, text)
        for text in (
            "d = 1.0",
            "d < 3.0",
            "d = 6.0",
            "d IN (1.0, 8.0)",
            "d IS NULL",
            "f = 1.0",
            "f <= 1.0",
            "f IN (2.0, 5.0)",
            f"s = '{SMILEY}'",
            f"s >= '{WIDE}'",
            "s < 'b'",
            "n IS NULL",
            "n = 2",
            "n >= 5",
            "q = -1.28",
            "q >= 300",
            "q IS NULL",
            "id > 3 AND id < 6",
        )
    ),
    Question("b = X'FF'", iceberg.EqualTo("b", b"\xff"), "b = '\\xFF'::BLOB"),
    Question("b = X'01'", iceberg.EqualTo("b", b"\x01"), "b = '\\x01'::BLOB"),
    Question(
        "t < TIMESTAMP_NTZ '1961-01-01 00:00:00'",
        "t < '1961-01-01T00:00:00'",
        "t < TIMESTAMP '1961-01-01 00:00:00'",
    ),
    Question("st.x = 1.0", iceberg.EqualTo("st.x", 1.0)),
    Question("st.x < 6.0", iceberg.LessThan("st.x", 6.0)),
]


def write(folder: Path, scheme: str = "file://") -> list[FileDetails]:
    """Write the files, with statistics of their own that are right."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for number, (rows, metrics) in enumerate(zip(ROWS, METRICS, strict=True)):
        path = folder / f"doubtful-{number}.parquet"
        table = pa.table(rows, SCHEMA)
        pq.write_table(table, path, compression="zstd", store_decimal_as_integer=True)
        found.append(FileDetails(f"{scheme}{path}", 0, (), path.stat().st_size, 4, metrics))
    return found


def in_files(files: list[FileDetails], question: Question) -> set[int]:
    """What DuckDB finds, which knows the files and not their manifests."""
    paths = [file.path.removeprefix("file://").removeprefix("file:") for file in files]
    with duckdb.connect() as db:
        predicate = question.duckdb or question.sql
        query = f"SELECT id FROM read_parquet($1) WHERE {predicate}"
        return {row[0] for row in db.execute(query, [paths]).fetchall()}
