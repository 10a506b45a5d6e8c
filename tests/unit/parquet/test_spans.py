"""Opened structs: fields are found without decoding, and changed without losing the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet import spans, thrift
from neve.parquet.thrift import Field, Items, Pairs, Struct

EVERY_KIND = Struct(
    (
        Field(1, thrift.TRUE, True),
        Field(2, thrift.I8, -3),
        Field(3, thrift.I64, 1 << 40),
        Field(20, thrift.DOUBLE, 0.5),
        Field(21, thrift.BINARY, b"x" * 200),
        Field(22, thrift.LIST, Items(thrift.I32, (1, 300, -300))),
        Field(23, thrift.SET, Items(thrift.BINARY, (b"a", b"bc"))),
        Field(24, thrift.MAP, Pairs(thrift.I8, thrift.BINARY, ((1, b"y"), (2, b"z")))),
        Field(25, thrift.STRUCT, Struct((Field(-4, thrift.I16, 9),))),
        Field(26, thrift.UUID, bytes(range(16))),
        Field(27, thrift.LIST, Items(thrift.TRUE, (True, False))),
        Field(28, thrift.LIST, Items(thrift.STRUCT, (Struct((Field(1, thrift.I32, 4),)),))),
        Field(32_000, thrift.I32, 5),
    )
)
ENCODED = thrift.encode_struct(EVERY_KIND)


def test_every_kind_is_stepped_over() -> None:
    opened = spans.open_struct(ENCODED, 0)

    assert list(opened.fields) == [field.id for field in EVERY_KIND.fields]
    assert (opened.start, opened.end) == (0, len(ENCODED))


def test_numbers_and_byte_strings_are_read_in_place() -> None:
    opened = spans.open_struct(ENCODED, 0)

    assert opened.needed_integer(3) == 1 << 40
    assert opened.binary(21) == b"x" * 200
    assert (opened.integer(99), opened.binary(99), opened.raw(99)) == (None, None, None)


def test_a_shape_opens_structs_and_lists_of_structs() -> None:
    opened = spans.open_struct(ENCODED, 0, {25: spans.FLAT, 28: spans.Each(spans.FLAT)})
    inner = opened.child(25)

    assert inner is not None
    assert inner.integer(-4) == 9
    assert [element.integer(1) for element in opened.children[28]] == [4]


@given(st.sets(st.sampled_from([field.id for field in EVERY_KIND.fields])))
def test_fields_taken_out_leave_the_others_as_they_were(removed: set[int]) -> None:
    opened = spans.open_struct(ENCODED, 0)
    rewritten = b"".join(spans.rewrite(opened, dict.fromkeys(removed)))

    kept = Struct(tuple(field for field in EVERY_KIND.fields if field.id not in removed))
    assert rewritten == thrift.encode_struct(kept)


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.booleans())
def test_replaced_values_leave_the_others_as_they_were(number: int, also_remove: bool) -> None:
    changes: dict[int, bytes | None] = {3: thrift.encode_int(number), 32_000: b"\x02"}
    if also_remove:
        changes[21] = None
    rewritten = b"".join(spans.rewrite(spans.open_struct(ENCODED, 0), changes))

    new_values = {3: number, 32_000: 1}
    expected = Struct(
        tuple(
            Field(field.id, field.kind, new_values.get(field.id, field.value))
            for field in EVERY_KIND.fields
            if not (also_remove and field.id == 21)
        )
    )
    assert thrift.decode_struct(rewritten) == (expected, len(rewritten))


@pytest.mark.parametrize("field_id", [22, 27, 28])
def test_a_list_is_found_without_what_follows_it(field_id: int) -> None:
    raw = spans.open_struct(ENCODED, 0).raw(field_id)
    end = ENCODED.index(raw) + len(raw)

    assert spans.find_list(ENCODED[:end], field_id) == raw


@pytest.mark.parametrize("field_id", [3, 23, 29])
def test_what_is_no_list_is_not_found(field_id: int) -> None:
    with pytest.raises(ParquetCorrupt, match=f"Field {field_id} of the metadata should be a list"):
        spans.find_list(ENCODED, field_id)


@given(st.binary(max_size=60))
def test_lists_are_found_in_any_bytes_or_they_are_corrupt(data: bytes) -> None:
    try:
        found = spans.find_list(data, 2)
    except ParquetCorrupt:
        return
    assert found in data


@given(st.binary(max_size=60))
def test_any_bytes_open_or_are_corrupt(data: bytes) -> None:
    try:
        opened = spans.open_struct(data, 0, {1: spans.FLAT, 2: spans.Each(spans.FLAT)})
    except ParquetCorrupt:
        return
    assert opened.end <= len(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x15\x02\x05\x02\x04\x00", "twice"),
        (b"\x15", "ends in the middle"),
        (b"\x38\x90\x01abc\x00", "ends in the middle"),
        (b"\x38\x7fabc\x00", "ends in the middle"),
        (b"\x16" + b"\x80" * 10 + b"\x01\x00", "longer than 64 bits"),
        (b"\x3c" * 60 + b"\x00" * 61, "levels deep"),
        (b"\x39" * 60 + b"\x00" * 61, "levels deep"),
        (b"\x3b\x01\x5b" * 60 + b"\x00" * 61, "levels deep"),
        (b"\x3f\x00", "does not know"),
        (b"\x19\x1c\x00\x00", "where a struct should be"),
        (b"\x2c\x00\x00", "where a list should be"),
        (b"\x29\x15\x02\x00", "where structs should be"),
        (b"\x15\x02\x00", "number where a struct"),
    ],
)
def test_nonsense_is_named(data: bytes, message: str) -> None:
    with pytest.raises(ParquetCorrupt, match=message):
        spans.open_struct(data, 0, {1: spans.FLAT, 2: spans.Each(spans.FLAT)})


def test_a_field_of_another_kind_is_corrupt() -> None:
    opened = spans.open_struct(ENCODED, 0)

    with pytest.raises(ParquetCorrupt, match=r"Field 21 .* whole number"):
        opened.integer(21)
    with pytest.raises(ParquetCorrupt, match=r"Field 3 .* byte string"):
        opened.binary(3)
    with pytest.raises(ParquetCorrupt, match="Field 4, which the format requires"):
        opened.needed_integer(4)


def test_notes_on_fields_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "MAX_NOTED_FIELDS", 10)
    data = b"\x19\x6c" + b"\x15\x02\x00" * 6 + b"\x00"

    with pytest.raises(ParquetUnsupported, match="over 10 fields"):
        spans.open_struct(data, 0, {1: spans.Each(spans.FLAT)})
