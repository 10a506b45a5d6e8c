"""Damaged and lying sources end in an error of Neve's, and never shift the rows of others."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import ParquetCorrupt, ParquetError, ParquetUnsupported
from neve.parquet import spans, thrift
from neve.parquet.assembly.decide import plan_assembly
from neve.parquet.assembly.levels import row_starts
from neve.parquet.assembly.plan import AssemblyLimits
from neve.parquet.assembly.source import load_assembly_source
from neve.parquet.assembly.wanted import wanted_schema
from neve.parquet.assembly.write import write_assembly

from .conftest import JOINS_ALL, ClosableMemory, assemble_files, number, write_file
from .tables import random_table

SCHEMA = number(
    pa.schema(
        [
            pa.field("id", pa.int64()),
            pa.field("text", pa.string()),
            pa.field("many", pa.list_(pa.field("element", pa.int32()))),
            pa.field("kind", pa.string()),
        ]
    )
)


def source(seed: int, version: str = "1.0", schema: pa.Schema = SCHEMA, rows: int = 60) -> bytes:
    return write_file(
        random_table(schema, rows, seed),
        use_dictionary=["kind"],
        data_page_version=version,
        data_page_size=100,
        write_batch_size=10,
        write_page_index=True,
        compression="none",
    )


def rows_of(data: bytes) -> list[dict[str, object]]:
    return pq.ParquetFile(io.BytesIO(data)).read().to_pylist()


@given(
    version=st.sampled_from(["1.0", "2.0"]),
    where=st.integers(0, 10**6),
    byte=st.integers(0, 255),
)
def test_damage_of_one_source_does_not_reach_the_rows_of_others(version, where, byte) -> None:
    good = [source(seed, version) for seed in (1, 2, 3)]
    bad = bytearray(good[1])
    bad[where % len(bad)] = byte

    try:
        assembled = assemble_files([good[0], bytes(bad), good[2]], SCHEMA)
    except ParquetError:
        return
    try:
        found = rows_of(assembled.data)
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return
    assert len(found) == 180
    assert found[:60] == rows_of(good[0])
    assert found[120:] == rows_of(good[2])


@pytest.mark.parametrize("kept", [0, 4, 100, -30, -1])
def test_a_truncated_file_is_corrupt(kept) -> None:
    data = source(1)

    with pytest.raises(ParquetCorrupt):
        assemble_files([source(2), data[:kept]], SCHEMA)


def test_a_file_that_changes_after_the_plan_is_noticed() -> None:
    files = {"a": source(1), "b": source(2)}
    sources = [load_assembly_source(ClosableMemory(data, path)) for path, data in files.items()]
    plan = plan_assembly(sources, wanted_schema(SCHEMA), JOINS_ALL)

    with pytest.raises(ParquetError, match="bytes, it had"):
        write_assembly(plan, lambda path: ClosableMemory(files[path][:-1], path), io.BytesIO())


def lie(data: bytes, field_id: int, inner_id: int, value: int, kind: int) -> bytes:
    """The first page of the first column with another number in its header, of the same length."""
    at = pq.read_metadata(io.BytesIO(data)).row_group(0).column(0).data_page_offset
    header = spans.open_struct(data, at, {kind: spans.FLAT})
    opened = header if field_id == 0 else header.child(field_id)
    assert opened is not None
    _, _, start, end = opened.fields[inner_id]
    encoded = thrift.encode_int(value)
    assert len(encoded) == end - start
    return data[:start] + encoded + data[end:]


LIES = [
    # Data page v1: number of values, encoding, size, type.
    ("1.0", 5, 1, 9, "values"),
    ("1.0", 5, 2, 8, "needs a dictionary"),
    ("1.0", 0, 1, 2, "page of type 2"),
    ("1.0", 0, 1, 1, "page of type 1"),
    # Data page v2: number of values, number of rows, encoding, lengths of the levels.
    ("2.0", 8, 1, 9, "rows"),
    ("2.0", 8, 3, 9, "claims 9 rows"),
    ("2.0", 8, 4, 8, "needs a dictionary"),
    ("2.0", 8, 5, -1, "negative"),
    ("2.0", 8, 6, -1, "negative"),
]


@pytest.mark.parametrize(("version", "field_id", "inner_id", "value", "message"), LIES)
def test_a_page_header_that_lies_is_corrupt(version, field_id, inner_id, value, message) -> None:
    flat = pa.schema([SCHEMA.field(0)])
    files = [source(seed, version, flat, rows=40) for seed in (1, 2)]
    header = 8 if version == "2.0" else 5
    liar = lie(files[1], field_id, inner_id, value, header)

    with pytest.raises(ParquetCorrupt, match=message):
        assemble_files([files[0], liar], flat)
    assert assemble_files(files, flat).result.rows == 80


def test_a_chunk_with_another_number_of_values_than_rows_is_corrupt() -> None:
    flat = pa.schema([SCHEMA.field(0)])
    data = source(1, schema=flat, rows=40)
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = thrift.decode_struct(data[-8 - length : -8])
    changed = thrift.encode_struct(_with_rows(footer, 41))
    liar = data[: -8 - length] + changed + len(changed).to_bytes(4, "little") + b"PAR1"

    with pytest.raises(ParquetCorrupt, match="40 values in 41 rows"):
        assemble_files([liar], flat)


def _with_rows(footer: thrift.Struct, rows: int) -> thrift.Struct:
    def change(struct: thrift.Struct, field_id: int, value: thrift.Value) -> thrift.Struct:
        return thrift.Struct(
            tuple(
                thrift.Field(one.id, one.kind, value if one.id == field_id else one.value)
                for one in struct.fields
            )
        )

    groups = footer.get(4)
    assert isinstance(groups, thrift.Items)
    (group,) = groups.values
    assert isinstance(group, thrift.Struct)
    changed = thrift.Items(groups.kind, (change(group, 3, rows),))
    return change(change(footer, 4, changed), 3, rows)


def test_keys_of_another_calendar_are_refused() -> None:
    table = random_table(SCHEMA, 3, 1).replace_schema_metadata(
        {"org.apache.spark.legacyDateTime": ""}
    )

    with pytest.raises(ParquetUnsupported, match="legacyDateTime"):
        assemble_files([write_file(table, store_schema=True)], SCHEMA)


def test_int96_is_refused() -> None:
    schema = number(pa.schema([pa.field("at", pa.timestamp("ns"))]))
    data = write_file(random_table(schema, 3, 1), use_deprecated_int96_timestamps=True)

    with pytest.raises(ParquetUnsupported, match="INT96"):
        assemble_files([data], schema, AssemblyLimits())


def packed(levels: list[int], width: int) -> bytes:
    groups = -(-len(levels) // 8)
    number = sum(level << (width * place) for place, level in enumerate(levels))
    return bytes([groups << 1 | 1]) + number.to_bytes(groups * width, "little")


@given(
    max_level=st.integers(1, 7),
    runs=st.lists(st.tuples(st.booleans(), st.integers(0, 7), st.integers(1, 5)), min_size=1),
)
def test_rows_are_counted_in_levels(max_level, runs) -> None:
    width = max_level.bit_length()
    levels: list[int] = []
    data = b""
    for is_packed, seed, length in runs[:12]:
        if is_packed:
            mixed = [(seed * 7 + place * 3) % (max_level + 1) for place in range(8 * length)]
            data += packed(mixed, width)
            levels += mixed
        else:
            data += bytes([length << 1, seed % (max_level + 1)])
            levels += [seed % (max_level + 1)] * length

    assert row_starts(data, max_level, len(levels)) == (levels.count(0), levels[0] == 0)
    # The last packed run may be padded: only the levels that are asked for count.
    some = max(1, len(levels) - 3)
    assert row_starts(data, max_level, some) == (levels[:some].count(0), levels[0] == 0)
    with pytest.raises(ParquetCorrupt):
        row_starts(data[:-1], max_level, len(levels))
