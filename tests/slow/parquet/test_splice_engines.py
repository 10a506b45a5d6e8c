"""Other engines as oracle: filters, page indexes and statistics still lead to the right rows."""

from __future__ import annotations

import io
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from neve.parquet import spans, thrift
from neve.parquet.chunks import open_chunks
from neve.parquet.footer import read_footer
from neve.parquet.indexes import column_index_span, offset_index_span
from neve.storage.readers import MemoryReader

COUNT = 6_000


@pytest.fixture(scope="module")
def engine():
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def duck_files(engine, tmp_path_factory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("duck_files")
    query = "SELECT i + {0} AS a, 's' || (i % 50 + {0}) AS b, [i, NULL] AS l FROM range({1}) t(i)"
    for part in range(3):
        engine.execute(
            f"COPY ({query.format(part * 100_000, COUNT)}) TO '{folder}/{part}.parquet' "
            "(ROW_GROUP_SIZE 2048)"
        )
    return [(folder / f"{part}.parquet").read_bytes() for part in range(3)]


def arrow_file(write, first: int, **options) -> bytes:
    numbers = range(first, first + COUNT)
    table = pa.table({"a": list(numbers), "b": [f"s{number * 37 % 500}" for number in numbers]})
    return write(
        table,
        row_group_size=2_500,
        max_rows_per_page=500,
        write_page_index=True,
        bloom_filter_options={"b": True},
        **options,
    )


def test_footers_encode_to_the_bytes_that_other_writers_chose(write, duck_files) -> None:
    for data in (duck_files[0], arrow_file(write, 0)):
        footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
        decoded, end = thrift.decode_struct(footer)

        assert end == len(footer)
        assert thrift.encode_struct(decoded) == footer


def test_duckdb_files_are_read_back_by_both(engine, tmp_path, splice, duck_files) -> None:
    (tmp_path / "spliced.parquet").write_bytes(splice(*duck_files))

    rows = engine.execute(f"SELECT * FROM '{tmp_path}/spliced.parquet'").fetchall()
    assert [row[0] for row in rows] == [i + p * 100_000 for p in range(3) for i in range(COUNT)]
    spliced = pq.read_table(tmp_path / "spliced.parquet")
    assert spliced.equals(pa.concat_tables(pq.read_table(io.BytesIO(d)) for d in duck_files))


def test_bloom_filters_skip_what_they_skipped_before(engine, tmp_path, splice, duck_files) -> None:
    (tmp_path / "spliced.parquet").write_bytes(splice(*duck_files))
    probe = f"SELECT * FROM parquet_bloom_probe('{tmp_path}/spliced.parquet', 'b', ?)"

    groups = read_footer(MemoryReader(duck_files[0])).row_groups
    for part in range(3):
        excluded = [row[2] for row in engine.execute(probe, [f"s{part * 100_000}"]).fetchall()]
        inside = range(part * len(groups), (part + 1) * len(groups))
        assert not any(excluded[number] for number in inside)
        assert sum(excluded) == 2 * len(groups)


@pytest.mark.parametrize("value", ["s7", "s499", "absent"])
def test_filters_find_the_same_rows(engine, tmp_path, write, splice, value: str) -> None:
    files = [arrow_file(write, 0), arrow_file(write, COUNT)]
    (tmp_path / "spliced.parquet").write_bytes(splice(*files))

    found = engine.execute(
        f"SELECT a FROM '{tmp_path}/spliced.parquet' WHERE b = ? ORDER BY a", [value]
    ).fetchall()
    assert [row[0] for row in found] == [
        number for number in range(2 * COUNT) if f"s{number * 37 % 500}" == value
    ]


def test_arrow_prunes_by_statistics_as_before(tmp_path: Path, write, splice) -> None:
    files = [arrow_file(write, 0), arrow_file(write, COUNT)]
    (tmp_path / "spliced.parquet").write_bytes(splice(*files))
    wanted = (ds.field("a") >= COUNT - 3) & (ds.field("a") < COUNT + 3)

    found = ds.dataset(tmp_path / "spliced.parquet").to_table(filter=wanted)
    assert found["a"].to_pylist() == list(range(COUNT - 3, COUNT + 3))


def test_statistics_are_those_of_the_sources(write, splice, metadata) -> None:
    files = [arrow_file(write, 0), arrow_file(write, COUNT)]
    before = [
        metadata(data).row_group(i).column(j).statistics.to_dict()
        for data in files
        for i in range(3)
        for j in range(2)
    ]
    after = metadata(splice(*files))

    assert [
        after.row_group(i).column(j).statistics.to_dict() for i in range(6) for j in range(2)
    ] == before


def test_page_indexes_point_at_the_same_pages(write, splice) -> None:
    files = [arrow_file(write, 0), arrow_file(write, COUNT)]

    before = [page for data in files for page in pages(data)]
    assert pages(splice(*files)) == before
    assert len(before) == 2 * 2 * (5 + 5 + 2)


def pages(data: bytes) -> list[tuple[bytes, bytes, int | None]]:
    """Each page that an offset index names: its bytes, its chunk's column index, its first row."""
    footer = read_footer(MemoryReader(data))
    found = []
    for group in footer.row_groups:
        for chunk in open_chunks(footer.open_row_group(group)):
            offsets, columns = offset_index_span(chunk, footer), column_index_span(chunk, footer)
            index = spans.open_struct(data, offsets.offset, {1: spans.Each(spans.FLAT)})
            column_index = data[columns.offset : columns.offset + columns.length]
            for page in index.children[1]:
                start, length = page.integer(1), page.integer(2)
                found.append((data[start : start + length], column_index, page.integer(3)))
    return found
