"""Readers that know nothing of Neve read assembled files as they read their sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.assembled_files import LIMITS, WRITERS, assemble, write_sources
from tests.fuzz.values import texts
from tests.unit.parquet.assembly.conftest import number

SCHEMA = number(
    pa.schema(
        [
            pa.field("id", pa.int64()),
            pa.field("name", pa.string()),
            pa.field("price", pa.decimal128(9, 2)),
            pa.field("large", pa.decimal128(38, 4)),
            pa.field("ratio", pa.float64()),
            pa.field("single", pa.float32()),
            pa.field("moment", pa.timestamp("us", "UTC")),
            pa.field("day", pa.date32()),
            pa.field("raw", pa.binary()),
            pa.field("ok", pa.bool_()),
            pa.field("place", pa.struct([("a", pa.int32()), ("b", pa.string())])),
            pa.field("tags", pa.list_(pa.string())),
            pa.field("many", pa.list_(pa.struct([("x", pa.float32()), ("y", pa.int64())]))),
        ]
    )
)


def by_pyarrow(paths: Sequence[Path]) -> pa.Table:
    return pa.concat_tables([pq.ParquetFile(path).read() for path in paths])


def by_duckdb(paths: Sequence[Path]) -> pa.Table:
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        found = db.sql("FROM read_parquet($1)", params=[[str(path) for path in paths]])
        return found.to_arrow_table()


def by_polars(paths: Sequence[Path]) -> pa.Table:
    return polars.read_parquet(list(paths), glob=False).to_arrow()


@pytest.mark.conformance("readers besides Spark", engines=("rewrite",))
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("read", [by_pyarrow, by_duckdb, by_polars])
def test_a_reader_sees_the_rows_of_the_sources(
    tmp_path: Path, read: Callable[[Sequence[Path]], pa.Table], writer: str, limits: str
) -> None:
    sources = write_sources(tmp_path, SCHEMA, writer, files=2, rows=150)
    target = tmp_path / "new.parquet"

    assemble(sources, SCHEMA, limits, target)

    assert Counter(texts(read([target]))) == Counter(texts(by_pyarrow(sources)))
