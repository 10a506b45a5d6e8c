"""Random tables of every Iceberg type."""

from __future__ import annotations

import random
import struct
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

DECIMALS = ((4, 2), (9, 0), (18, 6), (19, 3), (38, 10))

PRIMITIVES: list[pa.DataType] = [
    pa.bool_(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.binary(),
    pa.binary(5),
    pa.binary(16),
    pa.date32(),
    pa.time64("us"),
    pa.timestamp("us"),
    pa.timestamp("us", tz="UTC"),
    pa.timestamp("ns"),
    *(pa.decimal128(precision, scale) for precision, scale in DECIMALS),
]


def _nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    return st.one_of(
        st.builds(lambda of, null: pa.list_(pa.field("element", of, null)), inner, st.booleans()),
        st.builds(
            lambda of, null: pa.map_(
                pa.field("key", pa.string(), False), pa.field("value", of, null)
            ),
            inner,
            st.booleans(),
        ),
        st.builds(
            lambda fields: pa.struct(
                [pa.field(f"c{index}", of, null) for index, (of, null) in enumerate(fields)]
            ),
            st.lists(st.tuples(inner, st.booleans()), min_size=1, max_size=3),
        ),
    )


#: pyarrow makes no nested values of extension types.
TYPES = st.one_of(
    st.just(pa.uuid()), st.recursive(st.sampled_from(PRIMITIVES), _nested, max_leaves=4)
)
SCHEMAS = st.lists(st.tuples(TYPES, st.booleans()), min_size=1, max_size=4).map(
    lambda fields: pa.schema(
        [pa.field(f"col{index}", of, null) for index, (of, null) in enumerate(fields)]
    )
)


def random_table(schema: pa.Schema, rows: int, seed: int) -> pa.Table:
    chance = random.Random(seed)
    arrays = [
        pa.array([_value(field, chance) for _ in range(rows)], field.type) for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _value(field: pa.Field, chance: random.Random) -> Any:
    if field.nullable and chance.random() < 0.2:
        return None
    of = field.type
    if pa.types.is_struct(of):
        return {child.name: _value(child, chance) for child in of}
    if pa.types.is_map(of):
        keys = {f"k{chance.randrange(9)}" for _ in range(chance.choice((0, 1, 3)))}
        return [(key, _value(of.item_field, chance)) for key in sorted(keys)]
    if pa.types.is_list(of):
        return [_value(of.value_field, chance) for _ in range(chance.choice((0, 0, 1, 4)))]
    return _primitive(of, chance)


def _primitive(of: pa.DataType, chance: random.Random) -> Any:
    # Half of the values are from a small set, so that dictionaries have something to do.
    number = chance.randrange(-3, 4) if chance.random() < 0.5 else chance.randrange(-(2**31), 2**31)
    if of == pa.uuid() or pa.types.is_fixed_size_binary(of):
        size = 16 if of == pa.uuid() else of.byte_width
        return struct.pack(">q", number)[-size:].rjust(size, b"\x80")
    if pa.types.is_decimal(of):
        digits = abs(number) % 10 ** min(of.precision, 9)
        return Decimal(digits if number > 0 else -digits).scaleb(-of.scale)
    if pa.types.is_floating(of):
        return chance.choice((float(number % 1000), -0.0, 0.0, 1.5, float("inf")))
    return {
        pa.bool_(): lambda: number % 2 == 0,
        pa.int32(): lambda: number,
        pa.int64(): lambda: number << 20,
        pa.string(): lambda: f"é{number}" * (number % 3),
        pa.binary(): lambda: struct.pack(">q", number)[number % 5 :],
        pa.date32(): lambda: date(1970, 1, 1) + timedelta(days=number % 90_000 - 45_000),
        pa.time64("us"): lambda: time(number % 24, number % 60, microsecond=number % 999_999),
        pa.timestamp("us"): lambda: datetime(1970, 1, 1) + timedelta(microseconds=number),
        pa.timestamp("us", tz="UTC"): lambda: datetime(1970, 1, 1) + timedelta(seconds=number),
        pa.timestamp("ns"): lambda: number,
    }[of]()
