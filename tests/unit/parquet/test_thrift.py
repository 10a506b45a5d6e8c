"""The compact protocol: what goes in comes out, and nonsense is refused by name."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neve.model.errors import ParquetCorrupt
from neve.parquet import thrift
from neve.parquet.thrift import Field, Items, Pairs, Struct


def whole_numbers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


SCALARS = {
    thrift.TRUE: st.booleans(),
    thrift.I8: whole_numbers(8),
    thrift.I16: whole_numbers(16),
    thrift.I32: whole_numbers(32),
    thrift.I64: whole_numbers(64),
    thrift.DOUBLE: st.floats(allow_nan=False),
    thrift.BINARY: st.binary(max_size=200),
    thrift.UUID: st.binary(min_size=16, max_size=16),
}


def pairs_of(kind: int, values: st.SearchStrategy) -> st.SearchStrategy[tuple[int, object]]:
    def fields(value: object) -> tuple[int, object]:
        if kind == thrift.TRUE:
            return (thrift.TRUE if value else thrift.FALSE), value
        return kind, value

    return values.map(fields)


def structs(values: st.SearchStrategy) -> st.SearchStrategy[Struct]:
    entries = st.lists(st.tuples(whole_numbers(16), values), max_size=5)
    return entries.map(lambda pairs: Struct(tuple(Field(i, k, v) for i, (k, v) in pairs)))


def lists(values: st.SearchStrategy) -> st.SearchStrategy[tuple[int, Items]]:
    scalars = [
        st.lists(strategy, max_size=20).map(lambda v, kind=kind: Items(kind, tuple(v)))
        for kind, strategy in SCALARS.items()
    ]
    nested = st.lists(structs(values), max_size=3).map(lambda v: Items(thrift.STRUCT, tuple(v)))
    return st.tuples(st.sampled_from([thrift.LIST, thrift.SET]), st.one_of(*scalars, nested))


MAPS = st.lists(st.tuples(SCALARS[thrift.BINARY], SCALARS[thrift.I64]), max_size=4).map(
    lambda v: (thrift.MAP, Pairs(thrift.BINARY, thrift.I64, tuple(v)) if v else Pairs(0, 0, ()))
)
VALUES = st.recursive(
    st.one_of(*(pairs_of(kind, strategy) for kind, strategy in SCALARS.items()), MAPS),
    lambda values: st.one_of(
        structs(values).map(lambda value: (thrift.STRUCT, value)), lists(values)
    ),
    max_leaves=8,
)


@given(structs(VALUES))
def test_a_struct_survives_encoding(value: Struct) -> None:
    encoded = thrift.encode_struct(value)

    assert thrift.decode_struct(encoded) == (value, len(encoded))


@given(st.binary(max_size=60))
@example(b"\x15" + b"\xff" * 20)
@example(b"\x19\xfc\xff\xff\xff\xff\x0f")
@example(b"\x1b\xff\xff\xff\xff\x0f\x55")
@example(b"\x18\xff\xff\xff\xff\x0f")
def test_any_bytes_are_a_struct_or_corrupt(data: bytes) -> None:
    try:
        value, end = thrift.decode_struct(data)
    except ParquetCorrupt:
        return
    encoded = thrift.encode_struct(value)
    # Compared as bytes, because a NaN is not equal to itself.
    assert thrift.encode_struct(thrift.decode_struct(encoded)[0]) == encoded
    assert end <= len(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "ends in the middle"),
        (b"\x15", "ends in the middle"),
        (b"\x18\x05abc", "ends in the middle"),
        (b"\x17\0\0\0", "ends in the middle"),
        (b"\x16" + b"\x80" * 10 + b"\x01\x00", "longer than 64 bits"),
        (b"\x15\x80\x80\x80\x80\x20\x00", "does not fit"),
        (b"\x19\xf5\xff\xff\x03\x00", "more than fit"),
        (b"\x1b\xff\xff\x03\x55\x00", "more than fit"),
        (b"\x19\x11\x07\x00", "neither true nor false"),
        (b"\x1e\x00", "does not know"),
        (b"\x10\x00", "does not know"),
        (b"\x05\xfe\xff\x07\x00\x00", "impossible id"),
        (b"\x1c" * 60 + b"\x00" * 61, "levels deep"),
        (b"\x19" * 60 + b"\x00" * 61, "levels deep"),
    ],
)
def test_nonsense_is_named(data: bytes, message: str) -> None:
    with pytest.raises(ParquetCorrupt, match=message):
        thrift.decode_struct(data)


def test_a_value_is_found_by_its_id() -> None:
    value = Struct((Field(4, thrift.I32, 7), Field(9, thrift.BINARY, b"x")))

    assert (value.get(9), value.get(5)) == (b"x", None)
