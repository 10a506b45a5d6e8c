"""Spliced files hold the rows of their sources, whatever the types, codecs and pages."""

from __future__ import annotations

import datetime as dt
import decimal
import io

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

CODECS = [
    codec
    for codec in ("none", "snappy", "zstd", "gzip", "lz4", "brotli")
    if codec == "none" or pa.Codec.is_available(codec)
]


def numbers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    bound = 10**precision - 1
    context = decimal.Context(prec=76)
    return st.integers(-bound, bound).map(
        lambda number: context.scaleb(decimal.Decimal(number), -scale)
    )


MOMENTS = st.datetimes(
    dt.datetime.fromisoformat("1900-01-01"), dt.datetime.fromisoformat("2200-01-01")
)
PRIMITIVES: list[tuple[pa.DataType, st.SearchStrategy]] = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), numbers(8)),
    (pa.int16(), numbers(16)),
    (pa.int32(), numbers(32)),
    (pa.int64(), numbers(64)),
    (pa.uint32(), st.integers(0, (1 << 32) - 1)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.string(), st.text(st.characters(codec="utf-8"), max_size=12)),
    (pa.binary(), st.binary(max_size=12)),
    (pa.binary(7), st.binary(min_size=7, max_size=7)),
    (pa.date32(), st.dates()),
    (pa.time64("us"), st.times()),
    (pa.timestamp("ms"), MOMENTS.map(lambda moment: moment.replace(microsecond=0))),
    (pa.timestamp("us", tz="UTC"), MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.UTC))),
    *((pa.decimal128(p, p // 3), decimals(p, p // 3)) for p in (1, 5, 9, 10, 18, 19, 28, 38)),
]


def nested(inner: st.SearchStrategy) -> st.SearchStrategy:
    def as_list(pair):
        return pa.list_(pair[0]), st.lists(st.none() | pair[1], max_size=3)

    def as_struct(pairs):
        names = [f"f{number}" for number in range(len(pairs))]
        fields = [pa.field(name, kind) for name, (kind, _) in zip(names, pairs, strict=True)]
        values = {name: st.none() | s for name, (_, s) in zip(names, pairs, strict=True)}
        return pa.struct(fields), st.fixed_dictionaries(values)

    def as_map(pair):
        keys = st.text("abc", min_size=1, max_size=3)
        values = st.dictionaries(keys, st.none() | pair[1], max_size=3)
        return pa.map_(pa.string(), pair[0]), values.map(lambda value: list(value.items()))

    return st.one_of(
        inner.map(as_list),
        st.lists(inner, min_size=1, max_size=3).map(as_struct),
        inner.map(as_map),
    )


TYPES = st.recursive(st.sampled_from(PRIMITIVES), nested, max_leaves=4)


@st.composite
def tables(draw) -> list[pa.Table]:
    columns = draw(st.lists(TYPES, min_size=1, max_size=3))
    schema = pa.schema([pa.field(f"c{i}", kind) for i, (kind, _) in enumerate(columns)])
    made = []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.sampled_from([0, 1, 3, 7]))
        arrays = [
            pa.array(draw(st.lists(st.none() | values, min_size=size, max_size=size)), kind)
            for kind, values in columns
        ]
        made.append(pa.table(arrays, schema=schema))
    return made


OPTIONS = st.fixed_dictionaries(
    {
        "compression": st.sampled_from(CODECS),
        "use_dictionary": st.booleans(),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "write_page_index": st.booleans(),
        "row_group_size": st.sampled_from([2, 3, 100]),
        "store_decimal_as_integer": st.booleans(),
        "max_rows_per_page": st.sampled_from([1, 2, 20_000]),
        "write_page_checksum": st.booleans(),
    }
)


@given(sources=tables(), options=OPTIONS)
def test_rows_are_those_of_the_sources(write, splice, sources, options) -> None:
    files = [write(table, **options) for table in sources]
    spliced = splice(*files)

    checked = pq.ParquetFile(io.BytesIO(spliced), page_checksum_verification=True)
    assert checked.read().equals(pa.concat_tables(sources))
    groups = (-(-table.num_rows // options["row_group_size"]) for table in sources)
    assert checked.metadata.num_row_groups == sum(groups)


@given(sources=tables(), options=OPTIONS)
def test_another_engine_reads_the_same(tmp_path_factory, write, splice, sources, options) -> None:
    folder = tmp_path_factory.mktemp("duck")
    files = [write(table, **options) for table in sources]
    (folder / "spliced.parquet").write_bytes(splice(*files))
    for number, data in enumerate(files):
        (folder / f"{number}.source").write_bytes(data)

    with duckdb.connect() as engine:
        expected = [
            row
            for number in range(len(files))
            for row in rows(engine, str(folder / f"{number}.source"))
        ]
        assert rows(engine, str(folder / "spliced.parquet")) == expected


def rows(engine: duckdb.DuckDBPyConnection, path: str) -> list[tuple]:
    return engine.execute("SELECT COLUMNS(*)::VARCHAR FROM read_parquet(?)", [path]).fetchall()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_splice_can_be_spliced_again(write, read, splice, count: int) -> None:
    table = pa.table({"a": list(range(10)), "b": ["x", None] * 5})
    options = {"write_page_index": True, "bloom_filter_options": {"a": True}}
    once = splice(*[write(table, row_group_size=4, **options)] * count)

    twice = splice(once, once)

    assert read(twice).equals(pa.concat_tables([table] * (2 * count)))
    assert splice(once) == once
