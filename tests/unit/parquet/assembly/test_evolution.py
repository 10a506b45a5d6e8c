"""Columns that are new, gone, renamed, moved or of another type; rows that are removed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.errors import ParquetUnsupported
from neve.parquet.assembly.encode import EncodeOptions
from neve.parquet.assembly.plan import AssemblyLimits, Kind
from neve.parquet.assembly.provide import SourceRows

from .conftest import assemble_files, number, write_file

ID, NAME, PRICE = (
    pa.field(name, of, metadata={b"PARQUET:field_id": str(field_id).encode()})
    for name, of, field_id in (
        ("id", pa.int64(), 1),
        ("name", pa.string(), 2),
        ("price", pa.decimal128(9, 2), 3),
    )
)
OLD = pa.schema([ID, NAME, PRICE])


def field(name: str, of: pa.DataType, field_id: int, *, nullable: bool = True) -> pa.Field:
    return pa.field(name, of, nullable, metadata={b"PARQUET:field_id": str(field_id).encode()})


def old_file(first: int, rows: int = 40, **options: Any) -> bytes:
    numbers = range(first, first + rows)
    prices = pa.array([n % 1000 for n in numbers], pa.int64()).cast(pa.decimal128(38, 2))
    table = pa.table(
        [pa.array(numbers), [f"n{n}" for n in numbers], prices.cast(pa.decimal128(9, 2))],
        names=["id", "name", "price"],
    )
    return write_file(table.cast(OLD), **{"use_dictionary": False, **options})


def ids(table: pa.Table) -> list[int]:
    return table["id"].to_pylist()


@pytest.mark.parametrize("files", [1, 3])
def test_renamed_and_moved_columns_are_not_decoded_and_dropped_ones_stay_behind(files) -> None:
    wanted = pa.schema([NAME.with_name("label"), ID.with_name("key")])
    data = [old_file(100 * part) for part in range(files)]

    assembled = assemble_files(data, wanted)

    numbers = [n for part in range(files) for n in range(100 * part, 100 * part + 40)]
    assert assembled.table.to_pydict() == {"label": [f"n{n}" for n in numbers], "key": numbers}
    assert assembled.result.bytes_by_kind[Kind.ENCODED] == 0
    assert assembled.result.bytes_by_kind[Kind.LEFT_OUT] > 0
    for one in data:
        price = pq.read_metadata(io.BytesIO(one)).row_group(0).column(2)
        start = price.data_page_offset
        assert one[start : start + price.total_compressed_size] not in assembled.data


@pytest.mark.parametrize("files", [1, 3])
def test_an_added_column_is_a_small_encoded_chunk_of_nulls(files) -> None:
    added = field("added", pa.string(), 9)
    wanted = pa.schema([ID, added, NAME, PRICE])

    assembled = assemble_files([old_file(100 * part) for part in range(files)], wanted)

    assert assembled.table["added"].null_count == 40 * files
    assert {name for name, kind in assembled.kinds().items() if kind == "encoded"} == {"added"}


def test_an_added_column_that_is_required_is_refused() -> None:
    wanted = pa.schema([ID, field("added", pa.string(), 9, nullable=False)])

    with pytest.raises(ParquetUnsupported, match="added is required"):
        assemble_files([old_file(0)], wanted)


def test_a_wider_decimal_of_the_same_storage_is_copied_and_a_narrower_one_is_not() -> None:
    def source(precision: int) -> bytes:
        schema = pa.schema([field("price", pa.decimal128(precision, 2), 3)])
        return write_file(pa.table([[None, None]], schema=schema), use_dictionary=False)

    wide = pa.schema([field("price", pa.decimal128(9, 2), 3)])

    assert assemble_files([source(4)], wide).kinds() == {"price": "copied"}
    narrow = pa.schema([field("price", pa.decimal128(3, 2), 3)])
    with pytest.raises(ParquetUnsupported, match="nobody provides"):
        assemble_files([source(4)], narrow)


OTHER_TYPES = [
    (pa.int32(), pa.int64()),
    (pa.float32(), pa.float64()),
    (pa.decimal128(9, 2), pa.decimal128(10, 2)),
    (pa.decimal128(9, 2), pa.decimal128(9, 3)),
    (pa.timestamp("ms"), pa.timestamp("us")),
    (pa.timestamp("us"), pa.timestamp("us", tz="UTC")),
    (pa.timestamp("us"), pa.int64()),
    (pa.date32(), pa.int32()),
    (pa.uint32(), pa.int32()),
    (pa.string(), pa.binary()),
    (pa.binary(), pa.string()),
    (pa.binary(4), pa.binary(5)),
    (pa.uuid(), pa.binary(16)),
    (pa.list_(pa.int32()), pa.list_(pa.int64())),
]


@pytest.mark.parametrize(("stored", "asked"), OTHER_TYPES)
def test_values_of_another_type_are_never_copied(stored, asked) -> None:
    source, wanted = (number(pa.schema([pa.field("c", of)])) for of in (stored, asked))
    data = write_file(pa.Table.from_arrays([pa.nulls(3, source.field(0).type)], schema=source))

    with pytest.raises(ParquetUnsupported, match="nobody provides"):
        assemble_files([data], wanted)


def test_a_column_that_became_optional_is_not_copied() -> None:
    stored = pa.schema([field("id", pa.int64(), 1, nullable=False)])
    data = write_file(pa.table([[1, 2]], schema=stored), use_dictionary=False)

    with pytest.raises(ParquetUnsupported, match="nobody provides"):
        assemble_files([data], pa.schema([ID]))


class WithoutRows:
    """Reads row groups without some of their rows, by id."""

    def __init__(self, removed: set[int]) -> None:
        self.removed = removed
        self.asked: list[tuple[str, int, tuple[int, ...]]] = []

    def columns(self, parts: Sequence[SourceRows], field_ids: Sequence[int]) -> pa.Table:
        (part,) = parts
        self.asked.append((part.path, part.ordinal, tuple(field_ids)))
        table = part.open().read_row_group(part.ordinal)
        kept = [row not in self.removed for row in table["id"].to_pylist()]
        return table.filter(pa.array(kept)).select([OLD.names[id_ - 1] for id_ in field_ids])


@pytest.mark.parametrize("dictionary", [False, ["name"]])
def test_row_groups_with_removed_rows_are_encoded_and_the_others_are_not(dictionary) -> None:
    files = [old_file(100 * part, use_dictionary=dictionary) for part in range(5)]
    provider = WithoutRows({200, 205, 239})

    assembled = assemble_files(files, OLD, changed={2: frozenset({0})}, provider=provider)

    expected = [n for part in range(5) for n in range(100 * part, 100 * part + 40)]
    expected = [n for n in expected if n not in provider.removed]
    assert ids(assembled.table) == expected
    assert assembled.table["name"].to_pylist() == [f"n{n}" for n in expected]
    assert provider.asked == [("f2", 0, (1, 2, 3))]
    assert assembled.kinds()["id"] == "joined"
    ranges = [(one.first_output_row, one.output_rows) for one in assembled.result.ranges]
    assert ranges == [(0, 40), (40, 40), (80, 37), (117, 40), (157, 40)]


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip"])
def test_what_is_encoded_keeps_the_codec_that_nobody_asked_to_change(codec) -> None:
    files = [old_file(100 * part, compression=codec, use_dictionary=["name"]) for part in range(3)]
    wanted = pa.schema([*OLD, field("added", pa.string(), 9)])

    for asked, expected in ((None, codec), ("zstd", "zstd")):
        assembled = assemble_files(files, wanted, AssemblyLimits(only_codec=asked))
        group = pq.ParquetFile(io.BytesIO(assembled.data)).metadata.row_group(0)
        codecs = {group.column(number).compression for number in range(group.num_columns)}
        assert codecs == {expected.upper()}


def test_columns_that_are_encoded_one_by_one_lose_the_same_rows() -> None:
    files = [old_file(100 * part) for part in range(3)]
    options = EncodeOptions(decoded_bytes=1)

    changed = {1: frozenset({0})}
    provider = WithoutRows({103, 139})
    assembled = assemble_files(files, OLD, changed=changed, provider=provider, options=options)

    expected = [n for part in range(3) for n in range(100 * part, 100 * part + 40)]
    expected = [n for n in expected if n not in provider.removed]
    assert ids(assembled.table) == expected
    assert assembled.table["name"].to_pylist() == [f"n{n}" for n in expected]
    assert len(provider.asked) == len(OLD)


def test_a_row_group_of_which_nothing_is_left_leaves_nothing() -> None:
    files = [old_file(0), old_file(100)]
    provider = WithoutRows(set(range(100)))

    assembled = assemble_files(files, OLD, changed={0: frozenset({0})}, provider=provider)

    assert ids(assembled.table) == list(range(100, 140))
    with pytest.raises(ParquetUnsupported, match="No rows are left"):
        assemble_files(files[:1], OLD, changed={0: frozenset({0})}, provider=provider)


class LosesRows:
    def columns(self, parts: Sequence[SourceRows], field_ids: Sequence[int]) -> pa.Table:
        return pa.table({"added": pa.nulls(1, pa.string())})


def test_a_provider_that_loses_rows_of_an_unchanged_row_group_is_stopped() -> None:
    wanted = pa.schema([ID, field("added", pa.string(), 9)])

    with pytest.raises(Exception, match="1 rows were provided where f0 has 40"):
        assemble_files([old_file(0)], wanted, provider=LosesRows())


def test_files_without_ids_are_refused_or_mapped() -> None:
    table = pq.read_table(io.BytesIO(old_file(0))).replace_schema_metadata()
    plain = pa.schema([pa.field(one.name, one.type) for one in table.schema])
    data = write_file(table.cast(plain), use_dictionary=False)

    with pytest.raises(ParquetUnsupported, match="column id has no field id"):
        assemble_files([data], OLD)
    mapped = assemble_files([data], OLD, mapped_ids={("id",): 1, ("name",): 2, ("price",): 3})
    assert mapped.table.equals(table.cast(OLD))
    assert set(mapped.kinds().values()) == {"copied"}


def test_tiny_pages_are_encoded_and_large_enough_ones_joined() -> None:
    files = [old_file(0), old_file(100)]

    tiny = assemble_files(files, OLD, AssemblyLimits(min_page_bytes=100_000))

    assert set(tiny.kinds().values()) == {"encoded"}
    assert set(assemble_files(files, OLD).kinds().values()) == {"joined"}


def test_bloom_filters_that_are_wanted_are_a_refusal() -> None:
    with pytest.raises(ParquetUnsupported, match="bloom"):
        assemble_files([old_file(0)], OLD, AssemblyLimits(needs_bloom_filters=True))


def test_one_leaf_of_a_struct_is_copied_and_the_other_encoded_where_one_codec_is_wanted() -> None:
    schema = number(pa.schema([pa.field("s", pa.struct([("x", pa.int64()), ("y", pa.string())]))]))
    table = pa.table([[{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}]], schema=schema)
    data = write_file(table, compression={"s.x": "zstd", "s.y": "snappy"})

    assembled = assemble_files([data], schema, AssemblyLimits(only_codec="zstd"))

    assert assembled.kinds() == {"s.x": "copied", "s.y": "encoded"}
    assert assembled.table.equals(table)
