"""Whatever the schema and the writer, the rows of the new file are those of its sources."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from neve.parquet.assembly.encode import EncodeOptions
from neve.parquet.assembly.plan import AssemblyLimits

from .conftest import JOINS_ALL, assemble_files, in_new_order, number, write_file
from .tables import SCHEMAS, random_table

#: Another engine takes its time with each.
A_FEW = settings().max_examples // 3

WRITERS = st.fixed_dictionaries(
    {
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "use_dictionary": st.booleans(),
        "compression": st.sampled_from(["none", "snappy", "zstd", "gzip", "lz4"]),
        "data_page_size": st.sampled_from([40, 200, 1 << 20]),
        "write_batch_size": st.sampled_from([3, 7, 1024]),
        "write_page_index": st.booleans(),
        "row_group_size": st.sampled_from([13, 1000]),
        "write_statistics": st.booleans(),
    }
)
FILES = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 10**6), WRITERS), min_size=1, max_size=5
)
LIMITS = st.sampled_from(
    [
        JOINS_ALL,
        AssemblyLimits(min_page_bytes=1, max_plain_share=1.0),
        AssemblyLimits(min_page_bytes=1, target_row_group_bytes=2_000),
        AssemblyLimits(min_page_bytes=1, only_codec="zstd"),
        AssemblyLimits(),
    ]
)


def build(schema: pa.Schema, files: list[tuple[int, int, dict[str, Any]]]) -> Any:
    numbered = number(schema)
    tables = [random_table(numbered, rows, seed) for rows, seed, _ in files]
    data = [
        write_file(table, **options) for table, (_, _, options) in zip(tables, files, strict=True)
    ]
    assume(all(map(is_readable, data, tables)))
    return numbered, tables, data


def is_readable(data: bytes, table: pa.Table) -> bool:
    """With tiny pages pyarrow writes some lists so that it cannot read them itself."""
    try:
        return bool(pq.ParquetFile(io.BytesIO(data)).read().num_rows == table.num_rows)
    except (OSError, pa.ArrowException):
        return False


#: All columns at once, or each on its own, whatever fits into memory.
DECODED_BYTES = st.sampled_from([1, 500, 1 << 30])


@given(schema=SCHEMAS, files=FILES, limits=LIMITS, decoded=DECODED_BYTES)
def test_rows_are_those_of_the_sources(schema, files, limits, decoded) -> None:
    files = [(max(1, files[0][0]), *files[0][1:]), *files[1:]]
    numbered, tables, data = build(schema, files)

    options = EncodeOptions(decoded_bytes=decoded)
    assembled = assemble_files(data, numbered, limits, options=options)

    sources = [pq.ParquetFile(io.BytesIO(one)).read() for one in data]
    assert [one.num_rows for one in sources] == [one.num_rows for one in tables]
    assert assembled.table.equals(in_new_order(assembled, sources))
    assert assembled.table.schema.equals(sources[0].schema, check_metadata=False)
    assert assembled.result.rows == sum(table.num_rows for table in tables)


@settings(max_examples=A_FEW)
@given(schema=SCHEMAS, files=FILES)
def test_duckdb_reads_the_same_rows(schema, files, tmp_path_factory) -> None:
    files = [(max(1, files[0][0]), *files[0][1:]), *files[1:]]
    numbered, tables, data = build(schema, files)
    folder = tmp_path_factory.mktemp("duck")
    for index, one in enumerate(data):
        (folder / f"f{index}.parquet").write_bytes(one)

    assembled = assemble_files(data, numbered)

    (folder / "new.parquet").write_bytes(assembled.data)
    kept = [f"{folder}/f{index}.parquet" for index, table in enumerate(tables) if table.num_rows]
    with duckdb.connect() as engine:
        columns = ", ".join(f"CAST({name} AS VARCHAR)" for name in numbered.names)
        query = f"SELECT {columns} FROM read_parquet($files) ORDER BY ALL"
        expected = engine.execute(query, {"files": kept}).fetchall()
        found = engine.execute(query, {"files": [f"{folder}/new.parquet"]}).fetchall()
    assert found == expected


NUMBERED = number(
    pa.schema(
        [
            pa.field("id", pa.int64()),
            pa.field("name", pa.string()),
            pa.field("price", pa.decimal128(9, 2)),
            pa.field("ratio", pa.float64()),
        ]
    )
)
CONDITIONS = (
    "id < -100",
    "id BETWEEN -3000000 AND 3000000",
    "name = 'é1'",
    "name >= 'é2'",
    "price > 1",
    "price < -1000",
    "ratio = 0",
    "ratio > 900",
    "id IS NULL AND name IS NOT NULL",
)


@settings(max_examples=A_FEW)
@given(seeds=st.lists(st.integers(0, 10**6), min_size=2, max_size=4), writer=WRITERS)
def test_no_row_is_lost_by_a_filter(seeds, writer, tmp_path_factory) -> None:
    folder: Path = tmp_path_factory.mktemp("filters")
    data = []
    for index, seed in enumerate(seeds):
        data.append(write_file(random_table(NUMBERED, 200, seed), **writer))
        (folder / f"f{index}.parquet").write_bytes(data[-1])
    (folder / "new.parquet").write_bytes(assemble_files(data, NUMBERED).data)

    with duckdb.connect() as engine:
        for condition in CONDITIONS:
            query = f"SELECT count(*) FROM read_parquet($files) WHERE {condition}"
            expected = engine.execute(query, {"files": [f"{folder}/f*.parquet"]}).fetchall()
            found = engine.execute(query, {"files": [f"{folder}/new.parquet"]}).fetchall()
            assert (condition, found) == (condition, expected)


@pytest.mark.parametrize("parquet_version", ["V1", "V2"])
def test_files_by_duckdb(tmp_path, parquet_version) -> None:
    with duckdb.connect() as engine:
        for part in range(3):
            engine.execute(
                f"COPY (SELECT i + {part * 5000} AS id, hash(i)::VARCHAR AS name,"
                " [i, NULL] AS many,"
                f" {{'x': i, 'y': CASE WHEN i % 3 = 0 THEN NULL ELSE 's' || i END}} AS inner_"
                f" FROM range(5000) t(i)) TO '{tmp_path}/f{part}.parquet'"
                f" (PARQUET_VERSION {parquet_version}, ROW_GROUP_SIZE 2048,"
                " DICTIONARY_SIZE_LIMIT 1,"
                " FIELD_IDS {id: 1, name: 2, many: {__duckdb_field_id: 3, element: 4},"
                " inner_: {__duckdb_field_id: 5, x: 6, y: 7}})"
            )
    data = [(tmp_path / f"f{part}.parquet").read_bytes() for part in range(3)]
    sources = [pq.ParquetFile(io.BytesIO(one)).read() for one in data]

    assembled = assemble_files(data, sources[0].schema)

    assert assembled.table.equals(in_new_order(assembled, sources))
    assert "joined" in assembled.kinds().values()
