"""Random data files, and what manifests may say of them: the truth, half of it, or none.

Everything comes from a seeded source of choices, so that what fails can be made again.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg import types
from pyiceberg.conversions import to_bytes
from pyiceberg.schema import Schema

from neve.model.rewrite import ColumnMetrics

Row = dict[str, Any]
Choices = random.Random
FLOATING = (types.FloatType, types.DoubleType)
TEXTUAL = (types.StringType, types.BinaryType, types.FixedType)
NAN = math.nan
SMILEY, WIDE = "\U0001f600", "\uffee"
_SIGNED = bytes(byte ^ 0x80 for byte in range(256))


@dataclass(frozen=True)
class Column:
    """A column that holds values, and the values that are tried in it."""

    name: str
    of: types.IcebergType
    arrow: pa.DataType
    values: tuple[Any, ...]
    field_id: int = 0

    @property
    def is_floating(self) -> bool:
        return isinstance(self.of, FLOATING)

    def value(self, row: Row) -> Any:
        """Of a nested column, null where its parent is."""
        parent, _, child = self.name.partition(".")
        found = row[parent]
        return found[child] if child and found is not None else found


FLOATS = (-math.inf, -1.5, -1.0, -0.0, 0.0, 1.0, 2.5, 4.0, 8.0, math.inf, NAN, NAN)
TEXTS = (
    "",
    "a",
    "ab",
    "b",
    "é",
    WIDE,
    SMILEY,
    SMILEY + "b",
    "abcdefghijklmnopqrstuvwxyz",
    "z" * 40,
)
BYTES = (b"", b"\x00", b"a", b"ab", b"\x7f", b"\x80", b"\xff", b"\xff\x01", b"\xff" * 20)
MOMENTS = (
    datetime(1900, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(1970, 1, 1),
    datetime(2025, 3, 30, 2, 30),
    datetime(9999, 12, 31, 23, 59, 59, 999_999),
)
PARTITION, KEY = "part", "id"
SPARK, PYICEBERG, PYARROW, DUCKDB = "Spark", "pyiceberg", "pyarrow", "DuckDB"
PARENT = "st"
COLUMNS = (
    Column("i", types.IntegerType(), pa.int32(), (-(2**31), -5, 0, 3, 2**31 - 1)),
    Column("n", types.LongType(), pa.int64(), (-(2**63), -5, 0, 3, 2**40)),
    Column("f", types.FloatType(), pa.float32(), FLOATS),
    Column("d", types.DoubleType(), pa.float64(), FLOATS),
    Column("ok", types.BooleanType(), pa.bool_(), (False, True)),
    Column("s", types.StringType(), pa.string(), TEXTS),
    Column("b", types.BinaryType(), pa.binary(), BYTES),
    Column(
        "q9",
        types.DecimalType(9, 2),
        pa.decimal128(9, 2),
        tuple(map(Decimal, ("-9999999.99", "-1.28", "0.00", "1.27", "1.28", "300.00"))),
    ),
    Column(
        "q18",
        types.DecimalType(18, 4),
        pa.decimal128(18, 4),
        tuple(map(Decimal, ("-3.2768", "0.0000", "0.0127", "0.0255", "99999999999999.9999"))),
    ),
    Column(
        "q38",
        types.DecimalType(38, 3),
        pa.decimal128(38, 3),
        tuple(map(Decimal, ("-1.280", "0.000", "0.127", f"{10**34}.125", f"-{10**34}.125"))),
    ),
    Column("day", types.DateType(), pa.date32(), tuple(moment.date() for moment in MOMENTS)),
    Column("t", types.TimestampType(), pa.timestamp("us"), MOMENTS),
    Column(
        "tz",
        types.TimestamptzType(),
        pa.timestamp("us", "UTC"),
        tuple(moment.replace(tzinfo=UTC) for moment in MOMENTS),
    ),
    Column("st.x", types.DoubleType(), pa.float64(), FLOATS),
    Column("st.s", types.StringType(), pa.string(), TEXTS),
    Column(
        "u",
        types.UUIDType(),
        pa.uuid(),
        tuple(UUID(int=n) for n in (0, 5, 1 << 63, 7 << 100, 1 << 127, (1 << 127) + 9)),
    ),
    Column(
        "x",
        types.FixedType(4),
        pa.binary(4),
        (b"\x00\x00\x00\x00", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff"),
    ),
)


def columns_of(writer: str) -> tuple[Column, ...]:
    """The columns that a writer can write, numbered as catalogs do it: nested ones last."""
    able = [c for c in COLUMNS if writer != DUCKDB or not isinstance(c.of, types.FixedType)]
    top = [PARTITION, KEY, *(c.name for c in able if "." not in c.name), PARENT]
    names = [*top, *(c.name for c in able if "." in c.name)]
    return tuple(replace(column, field_id=names.index(column.name) + 1) for column in able)


def iceberg_schema(columns: Sequence[Column]) -> Schema:
    def field(column: Column) -> types.NestedField:
        name = column.name.rpartition(".")[2]
        return types.NestedField(column.field_id, name, column.of, required=False)

    top = [field(column) for column in columns if "." not in column.name]
    nested = [field(column) for column in columns if "." in column.name]
    parent = types.NestedField(len(top) + 3, PARENT, types.StructType(*nested), required=False)
    return Schema(
        types.NestedField(1, PARTITION, types.IntegerType(), required=False),
        types.NestedField(2, KEY, types.LongType(), required=False),
        *top,
        parent,
    )


def draw_rows(
    choose: Choices, columns: Sequence[Column], part: int, keys: Sequence[int]
) -> list[Row]:
    """Each column of a file takes a few of its values, or nothing but nulls or NaNs."""
    palettes = {}
    for column in columns:
        palette = choose.sample(column.values, choose.randint(1, min(3, len(column.values))))
        nulls = choose.choice(([], [], [None], [None, None]))
        palettes[column.name] = choose.choice(([*palette, *nulls],) * 9 + ([None],))
    rows = []
    for key in keys:
        row: Row = {PARTITION: part, KEY: key, PARENT: {}}
        for column in columns:
            parent, _, child = column.name.partition(".")
            holder = row[parent] if child else row
            holder[child or parent] = choose.choice(palettes[column.name])
        if choose.random() < 0.15:
            row[PARENT] = None
        rows.append(row)
    return rows


# What a manifest says of a column: counts of values, nulls and NaNs, lower and upper bound.
Told = tuple[int | None, int | None, int | None, bytes | None, bytes | None]
Style = Callable[[Choices, Column, list[Any]], Told]


def present(values: Sequence[Any]) -> list[Any]:
    """Those that a bound speaks of."""
    return [value for value in values if value is not None and value == value]


def _ends(column: Column, values: list[Any], key: Callable[[Any], Any] | None = None) -> list[Any]:
    found = present(values)
    ends = [min(found, key=key), max(found, key=key)] if found else [None, None]
    if column.is_floating and found:
        # As the format asks: a zero may be either one.
        ends = [-0.0 if ends[0] == 0 else ends[0], 0.0 if ends[1] == 0 else ends[1]]
    return ends


def _counts(column: Column, values: list[Any]) -> tuple[int, int, int | None]:
    nans = sum(value != value for value in values) if column.is_floating else None
    return len(values), values.count(None), nans


def _encoded(column: Column, value: Any) -> bytes | None:
    return None if value is None else to_bytes(column.of, value)


def exact(choose: Choices, column: Column, values: list[Any]) -> Told:
    low, high = _ends(column, values)
    return (*_counts(column, values), _encoded(column, low), _encoded(column, high))


def truncated(choose: Choices, column: Column, values: list[Any]) -> Told:
    """Texts and bytes cut short, the upper ones counted up; one that cannot be is left out."""
    low, high = _ends(column, values)
    length = choose.choice((1, 2, 16))
    if not isinstance(column.of, TEXTUAL) or low is None:
        return exact(choose, column, values)
    cut = high[:length]
    if len(high) > length:
        cut = _counted_up(cut)
    return (
        *_counts(column, values),
        _truncated_bytes(low[:length]),
        None if cut is None else _truncated_bytes(cut),
    )


def _truncated_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _counted_up(value: Any) -> Any:
    for end in range(len(value), 0, -1):
        last = ord(value[end - 1 : end])
        if isinstance(value, bytes) and last < 0xFF:
            return value[: end - 1] + bytes([last + 1])
        if isinstance(value, str) and last < 0x10FFFF:
            # Surrogates are no characters.
            return value[: end - 1] + chr(0xE000 if last == 0xD7FF else last + 1)
    return None


def wide(choose: Choices, column: Column, values: list[Any]) -> Told:
    """Bounds that hold more than the values: true, but not sharp."""
    picked = choose.sample(column.values, 2)
    low, high = _ends(column, [*values, *picked]) if present(values) else (None, None)
    return (*_counts(column, values), _encoded(column, low), _encoded(column, high))


def padded(choose: Choices, column: Column, values: list[Any]) -> Told:
    """Decimals in sixteen bytes, whatever the number."""
    *counts, low, high = exact(choose, column, values)
    if isinstance(column.of, types.DecimalType):
        low, high = (None if b is None else _sixteen_bytes(b) for b in (low, high))
    return (*counts, low, high)  # type: ignore[return-value]


def _sixteen_bytes(bound: bytes) -> bytes:
    return int.from_bytes(bound, "big", signed=True).to_bytes(16, "big", signed=True)


def half(choose: Choices, column: Column, values: list[Any]) -> Told:
    count, nulls, nans, low, high = exact(choose, column, values)
    return choose.choice(
        (
            (count, nulls, nans, low, None),
            (count, nulls, nans, None, high),
            (count, nulls, nans, None, None),
            (count, None, nans, low, high),
            (count, nulls, None, low, high),
            (None, None, None, low, high),
            (None, None, None, None, None),
        )
    )


def of_nan(choose: Choices, column: Column, values: list[Any]) -> Told:
    """Bounds of NaN, as old writers wrote them."""
    count, nulls, nans, low, high = exact(choose, column, values)
    if not column.is_floating:
        return inverted(choose, column, values)
    nan = _encoded(column, NAN)
    low, high = choose.choice(((nan, nan), (nan, high), (nan, nan)))
    return count, nulls, choose.choice((None, nans, nans)), low, high


def inverted(choose: Choices, column: Column, values: list[Any]) -> Told:
    count, nulls, nans, low, high = exact(choose, column, values)
    return count, nulls, nans, high, low


def signed(choose: Choices, column: Column, values: list[Any]) -> Told:
    """By another order: two signed longs, signed bytes, UTF-16 units."""
    orders: dict[type, Callable[[Any], Any]] = {
        types.UUIDType: lambda value: struct.unpack(">qq", value.bytes),
        types.StringType: lambda value: value.encode("utf-16-be"),
        types.BinaryType: lambda value: value.translate(_SIGNED),
        types.FixedType: lambda value: value.translate(_SIGNED),
    }
    low, high = _ends(column, values, orders.get(type(column.of)))
    return (*_counts(column, values), _encoded(column, low), _encoded(column, high))


def a_lie(choose: Choices, column: Column, values: list[Any]) -> Told:
    """Bounds and counts without any relation to the values."""
    low, high = (_encoded(column, choose.choice((None, *column.values))) for _ in range(2))
    counts = [choose.choice((None, 0, 1, len(values), len(values) + 3)) for _ in range(3)]
    return counts[0], counts[1], counts[2] if column.is_floating else None, low, high


HONEST: tuple[Style, ...] = (exact, truncated, wide, padded, half)
#: Wrong, and to be seen as such from one file alone.
DOUBTFUL: tuple[Style, ...] = (of_nan, of_nan, inverted, signed)
LYING: tuple[Style, ...] = (*DOUBTFUL, a_lie, a_lie, a_lie)


#: What a column of a file holds where its bounds are to be nasty; others take what they get.
PALETTES: dict[type, tuple[Any, ...]] = {
    types.FloatType: (NAN, -0.0, 0.0, 2.5),
    types.DoubleType: (NAN, -0.0, 0.0, 2.5),
    types.StringType: (SMILEY, WIDE, "abcdefghijklmnopqrstuvwxyz", "z" * 40),
    types.BinaryType: (b"ab" * 20, b"\xff\x01", b"\xff" * 20),
}


def nasty_rows(columns: Sequence[Column], part: int, keys: Sequence[int]) -> list[Row]:
    """Rows whose columns take all of a palette in turn, so that every bound has two ends."""
    rows = []
    for place, key in enumerate(keys):
        row: Row = {PARTITION: part, KEY: key, PARENT: {}}
        for column in columns:
            palette = PALETTES.get(type(column.of), column.values)
            parent, _, child = column.name.partition(".")
            (row[parent] if child else row)[child or parent] = palette[place % len(palette)]
        rows.append(row)
    return rows


def told_by(
    choose: Choices, columns: Sequence[Column], rows: list[Row], style: Style
) -> ColumnMetrics:
    """What one style tells of every column."""
    return _metrics({c.field_id: style(choose, c, [c.value(row) for row in rows]) for c in columns})


def draw_styles(
    choose: Choices, columns: Sequence[Column], styles: Sequence[Style]
) -> dict[str, Style]:
    """How a case's files differ from exact ones, column by column."""
    return {column.name: choose.choice(styles) for column in columns}


def draw_metrics(
    choose: Choices, columns: Sequence[Column], rows: list[Row], styles: dict[str, Style]
) -> ColumnMetrics:
    """Mostly exact: where every file is doubtful, nothing wrong could be made of them."""
    told: dict[int, Told] = {}
    for column in columns:
        style = choose.choice((exact, exact, styles[column.name]))
        told[column.field_id] = style(choose, column, [column.value(row) for row in rows])
    return _metrics(told)


def _metrics(told: dict[int, Told]) -> ColumnMetrics:
    parts: list[Any] = [
        {key: each[place] for key, each in told.items() if each[place] is not None}
        for place in range(5)
    ]
    return ColumnMetrics(None, *parts)
