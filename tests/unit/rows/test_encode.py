from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from tests.unit.rows.tables import table, tables

from neve.model.errors import RowsUnsupported
from neve.rows.arrow import arrow_schema
from neve.rows.encode import (
    WriterOptions,
    dictionaries_of,
    dictionary_columns,
    leaf_paths,
    rows_per_row_group,
    writer_options,
)
from neve.rows.schema import LIST, MAP, STRUCT, Field, Schema, Type


def written(found: Any, options: WriterOptions) -> Any:
    target = io.BytesIO()
    with pq.ParquetWriter(target, found.schema, **options.arrow_options()) as writer:
        writer.write_table(found)
    return pq.ParquetFile(io.BytesIO(target.getvalue()))


PROPERTIES = {
    "write.parquet.compression-codec": "ZSTD",
    "write.parquet.compression-level": "7",
    "write.parquet.row-group-size-bytes": "1000",
    "write.parquet.page-size-bytes": "2000",
    "write.parquet.page-row-limit": "30",
    "write.parquet.dict-size-bytes": "4000",
    "write.parquet.page-version": "v2",
}


def test_properties_become_options():
    assert writer_options(PROPERTIES, ["b", "a"]) == WriterOptions(
        "zstd", 7, 1000, 2000, 30, 4000, "2.0", ("a", "b")
    )
    assert writer_options({}) == WriterOptions()


def test_what_is_asked_for_is_written():
    schema = Schema((Field(1, "a", False, Type("string")), Field(2, "b", False, Type("string"))))
    found = pa.table({"a": ["x"] * 100, "b": ["x"] * 100}).cast(arrow_schema(schema))

    metadata = written(found, writer_options(PROPERTIES, ["b"])).metadata

    group = metadata.row_group(0)
    assert [group.column(at).has_dictionary_page for at in range(2)] == [False, True]
    assert {group.column(at).compression for at in range(2)} == {"ZSTD"}
    assert all(group.column(at).has_offset_index for at in range(2))
    assert dictionaries_of(metadata) == {1: False, 2: True}


@pytest.mark.parametrize(
    "properties",
    [
        {"write.parquet.bloom-filter-enabled.column.a": "true"},
        {"write.parquet.compression-codec": "lzo"},
        {"write.parquet.row-group-size-bytes": "0"},
        {"write.parquet.page-row-limit": "many"},
        {"write.parquet.page-version": "v3"},
        {"write.parquet.compression-codec": "zstd", "write.parquet.compression-level": "high"},
    ],
)
def test_what_cannot_be_done_is_refused(properties: dict[str, str]):
    with pytest.raises(RowsUnsupported):
        writer_options(properties)


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"])
def test_every_codec_is_one_of_arrows(codec: str):
    options = writer_options({"write.parquet.compression-codec": codec})

    column = written(pa.table({"a": [1]}), options).metadata.row_group(0).column(0)

    assert column.compression.lower() == codec


@given(tables())
def test_paths_are_those_of_the_file(drawn: Any):
    schema, rows = drawn

    file = written(table(schema, rows), WriterOptions())

    columns = [file.schema.column(at).path for at in range(len(file.schema))]
    assert sorted(leaf_paths(schema).values()) == sorted(columns)
    assert set(dictionaries_of(file.metadata)) == set(leaf_paths(schema))


def test_a_column_gets_a_dictionary_where_every_input_had_one():
    many = Type(LIST, (Field(4, "element", False, Type("string")),))
    pair = Type(MAP, (Field(6, "key", True, Type("string")), Field(7, "value", False, Type("int"))))
    fields = (
        Field(1, "a", False, Type("string")),
        Field(2, "s", False, Type(STRUCT, (Field(3, "l", False, many),))),
        Field(5, "m", False, pair),
        Field(8, "new", False, Type("string")),
    )
    inputs = [{1: True, 4: True, 6: True}, {1: False, 4: True, 9: True}]

    found = dictionary_columns(Schema(fields), inputs)

    assert found == ("m.key_value.key", "s.l.list.element")


def test_rows_of_a_row_group_come_from_their_size():
    options = WriterOptions(row_group_bytes=1000)

    assert rows_per_row_group(options, 10_000, 500) == 50
    assert rows_per_row_group(options, 10_000_000, 5) == 1
    assert rows_per_row_group(options, 0, 0) > 10**6
