from __future__ import annotations

import io
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.rewrite import LeafColumn, SpliceRequirements
from neve.parquet.footer import read_footer
from neve.parquet.requirements import refusal
from neve.storage.readers import MemoryReader

COLUMNS = (LeafColumn(1, "long"), LeafColumn(2, "string"))


def field(name, of, field_id):
    metadata = {"PARQUET:field_id": str(field_id)} if field_id else None
    return pa.field(name, of, metadata=metadata)


def footer_of(*fields, values=((1, 2), ("a", "b")), **options):
    columns = [pa.array(column, item.type) for column, item in zip(values, fields, strict=False)]
    sink = io.BytesIO()
    table = pa.table(columns, schema=pa.schema(fields))
    pq.write_table(table, sink, **{"compression": "zstd", **options})
    return read_footer(MemoryReader(sink.getvalue(), "f"))


def good(**options):
    return footer_of(field("id", pa.int64(), 1), field("s", pa.string(), 2), **options)


def wanted(**changes):
    values = {
        "columns": COLUMNS,
        "codec": None,
        "needs_bloom_filters": False,
        "min_row_group_bytes": 1,
    }
    return SpliceRequirements(**{**values, **changes})


def test_files_of_the_current_schema_are_copied():
    assert refusal([good(), good()], wanted()) is None


@pytest.mark.parametrize(
    ("footer", "reason"),
    [
        (footer_of(field("id", pa.int64(), None), field("s", pa.string(), 2)), "no field id"),
        (footer_of(field("id", pa.int32(), 1), field("s", pa.string(), 2)), "not stored as long"),
        (footer_of(field("id", pa.int64(), 1)), "field id 2 is not in the file"),
        (
            footer_of(
                field("id", pa.int64(), 1),
                field("s", pa.string(), 2),
                field("old", pa.int64(), 3),
                values=((1,), ("a",), (2,)),
            ),
            "column old is not in the current schema",
        ),
    ],
)
def test_other_schemas_are_refused(footer, reason):
    assert reason in refusal([good(), footer], wanted())


@pytest.mark.parametrize(
    ("of", "stored", "fits"),
    [
        ("decimal(9, 2)", pa.decimal128(9, 2), True),
        ("decimal(9, 2)", pa.decimal128(12, 2), False),
        ("decimal(12, 2)", pa.decimal128(9, 2), False),
        ("decimal(38, 10)", pa.decimal128(38, 10), True),
    ],
)
def test_decimals_must_have_precision_and_scale(of, stored, fits):
    footer = footer_of(field("d", stored, 1), values=((Decimal("1.00"),),))

    assert (refusal([footer], wanted(columns=(LeafColumn(1, of),))) is None) == fits


@pytest.mark.parametrize(
    ("of", "length", "fits"), [("fixed[4]", 4, True), ("fixed[8]", 4, False), ("uuid", 16, True)]
)
def test_fixed_lengths_must_agree(of, length, fits):
    footer = footer_of(field("x", pa.binary(length), 1), values=((b"x" * length,),))

    assert (refusal([footer], wanted(columns=(LeafColumn(1, of),))) is None) == fits


@pytest.mark.parametrize("of", ["variant", "geometry", "timestamp_ns", "unknown"])
def test_types_that_are_not_known_are_left_to_spark(of):
    assert refusal([footer_of(field("x", pa.int64(), 1))], wanted(columns=(LeafColumn(1, of),)))


@pytest.mark.parametrize(
    ("codec", "written", "fits"),
    [("zstd", "zstd", True), ("ZSTD", "zstd", True), ("gzip", "zstd", False), ("lz4", "lz4", True)],
)
def test_the_codec_is_the_one_that_the_table_wants(codec, written, fits):
    assert (refusal([good(compression=written)], wanted(codec=codec)) is None) == fits


def test_bloom_filters_that_are_wanted_must_be_there():
    assert "bloom filters" in refusal([good()], wanted(needs_bloom_filters=True))


def test_small_row_groups_are_not_kept():
    assert "too small to keep" in refusal([good()], wanted(min_row_group_bytes=10**6))


def test_files_without_rows_have_no_small_row_groups():
    empty = good(values=((), ()))

    assert refusal([empty], wanted(min_row_group_bytes=10**6)) is None
