"""Rows of any schema, full of values at which writers and readers stumble; and rows as text."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

FLOATS = (math.nan, -0.0, 0.0, math.inf, -math.inf, 1.5, -2.25, 1e-30, 3e30)
TEXTS = ("", "a", "ab", "é", "\U0001f600", "￮", "z" * 40, "abcdefghijklmnopqrstuvwxyz", "k/=%20 b")
BYTES = (b"", b"\x00", b"a", b"\x80", b"\xff", b"\xff" * 20, b"ab" * 20)
MOMENTS = (
    datetime(1900, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(1970, 1, 1),
    datetime(2025, 3, 30, 2, 30),
    datetime(9999, 12, 31, 23, 59, 59, 999_999),
)
NULLS = 0.15
#: More digits than any decimal has.
EXACT = Context(prec=80)


def rows_of(choose: random.Random, schema: pa.Schema, first_id: int, count: int) -> pa.Table:
    """So many rows with ids from this one on. Some columns are all null, and some repeat."""
    columns = []
    for field in schema:
        if field.name == "id":
            columns.append(pa.array(range(first_id, first_id + count), pa.int64()))
            continue
        share = choose.choice((NULLS, NULLS, NULLS, 0.0, 1.0)) if field.nullable else 0.0
        few = [value(choose, field.type) for _ in range(3)] if choose.random() < 0.4 else None
        drawn = [_drawn(choose, field.type, share, few) for _ in range(count)]
        columns.append(pa.array(drawn, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _drawn(choose: random.Random, of: pa.DataType, nulls: float, few: list[Any] | None) -> Any:
    if choose.random() < nulls:
        return None
    return choose.choice(few) if few is not None else value(choose, of)


def value(choose: random.Random, of: pa.DataType) -> Any:
    """A value of the type; null inside of nested ones now and then."""
    if pa.types.is_struct(of):
        return {child.name: _child(choose, child) for child in of}
    if pa.types.is_map(of):
        keys = {value(choose, of.key_type): None for _ in range(choose.randint(0, 3))}
        return [(key, _child(choose, of.item_field)) for key in keys]
    if pa.types.is_list(of) or pa.types.is_large_list(of):
        return [_child(choose, of.value_field) for _ in range(choose.choice((0, 1, 2, 5)))]
    return _scalar(choose, of)


def _child(choose: random.Random, field: pa.Field) -> Any:
    if field.nullable and choose.random() < NULLS:
        return None
    return value(choose, field.type)


def _scalar(choose: random.Random, of: pa.DataType) -> Any:
    if pa.types.is_boolean(of):
        return choose.random() < 0.5
    if pa.types.is_integer(of):
        top = 2 ** (of.bit_width - 1)
        return choose.choice((0, -1, 7, -top, top - 1, choose.randrange(-50, 50)))
    if pa.types.is_floating(of):
        drawn = choose.choice((*FLOATS, choose.randrange(-50, 50) / 4))
        # What a float of this width holds, so that it is read as it was written.
        return pa.scalar(drawn, of).as_py()
    if pa.types.is_decimal(of):
        top = 10**of.precision - 1
        unscaled = choose.choice((0, 1, -1, -128, 127, 255, top, -top, choose.randrange(-top, top)))
        return Decimal(unscaled).scaleb(-of.scale, EXACT)
    if pa.types.is_date(of):
        return choose.choice((*(m.date() for m in MOMENTS), date(2024, 2, choose.randint(1, 29))))
    if pa.types.is_timestamp(of):
        drawn = choose.choice((*MOMENTS, datetime(2024, 2, 1, choose.randint(0, 23))))
        return drawn.replace(tzinfo=UTC) if of.tz else drawn
    if pa.types.is_binary(of) or pa.types.is_large_binary(of):
        return choose.choice((*BYTES, choose.randbytes(choose.randint(1, 9))))
    return choose.choice((*TEXTS, f"t{choose.randrange(1000)}"))


def texts(table: pa.Table) -> list[str]:
    """Each row as a text that tells NaN, -0.0 and types apart, whoever read it."""
    names = sorted(table.schema.names)
    columns = [
        [_text(each, table.schema.field(name).type) for each in table.column(name).to_pylist()]
        for name in names
    ]
    return [
        " ".join(f"{name}={cell}" for name, cell in zip(names, row, strict=True))
        for row in zip(*columns, strict=True)
    ]


def _text(given: Any, of: pa.DataType) -> str:
    if given is None:
        return "null"
    if pa.types.is_struct(of):
        fields: Iterable[pa.Field] = sorted(of, key=lambda field: field.name)
        return "{" + ",".join(f"{f.name}:{_text(given[f.name], f.type)}" for f in fields) + "}"
    if pa.types.is_map(of):
        pairs = [f"{_text(k, of.key_type)}:{_text(v, of.item_type)}" for k, v in given]
        return "<" + ",".join(sorted(pairs)) + ">"
    if pa.types.is_list(of) or pa.types.is_large_list(of):
        return "[" + ",".join(_text(each, of.value_type) for each in given) + "]"
    if isinstance(given, datetime) and given.tzinfo is not None:
        return repr(given.astimezone(UTC).replace(tzinfo=None)) + "Z"
    if isinstance(given, timedelta | memoryview):
        raise TypeError(f"no table here has {type(given)}")
    return repr(given)
