"""Spark, which means parquet-java, as oracle: it writes the sources and reads the splice."""

from __future__ import annotations

from pathlib import Path

import pytest

from neve.parquet.copy_local import splice_local
from neve.parquet.footer import Footer, read_footer
from neve.parquet.indexes import load_source
from neve.parquet.splice import plan_splice
from neve.storage.readers import LocalReader

ROWS = 5_000
COLUMNS = [
    "id",
    "concat('name-', id % 300) AS name",
    "cast(id / 8 AS decimal(9, 3)) AS small",
    "cast(id AS decimal(38, 2)) AS large",
    "timestamp_seconds(id) AS at",
    "if(id % 3 = 0, null, array(id, null, -id)) AS many",
    "map(cast(id AS string), id % 2 = 0) AS pairs",
    "named_struct('x', id, 'y', named_struct('z', cast(id AS float))) AS inner",
]
CONDITIONS = [
    "name = 'name-7'",
    "name = 'absent'",
    "name IN ('name-0', 'name-299') AND id > 6000",
    f"id BETWEEN {ROWS - 3} AND {ROWS + 3}",
    "id = 9999 OR name = 'name-1'",
    "small = 12.5",
    "large > 9990",
    "at < timestamp_seconds(20)",
    "inner.y.z > 9995",
    "many IS NULL AND id < 30",
]


@pytest.fixture(scope="module")
def folder(spark, tmp_path_factory) -> Path:
    """Two source files by Spark in `sources`, their splice in `spliced`."""
    folder = tmp_path_factory.mktemp("oracle")
    for number in range(2):
        frame = spark.range(number * ROWS, (number + 1) * ROWS, 1, 1).selectExpr(*COLUMNS)
        writer = frame.write.mode("append").option("parquet.bloom.filter.enabled#name", "true")
        writer = writer.option("parquet.bloom.filter.expected.ndv#name", "300")
        writer = writer.option("parquet.page.row.count.limit", "200")
        writer.option("parquet.block.size", str(64 * 1024)).parquet(str(folder / "sources"))
    sources = []
    for path in source_paths(folder):
        with LocalReader(path) as reader:
            sources.append(load_source(reader))
    (folder / "spliced").mkdir()
    splice_local(plan_splice(sources), folder / "spliced" / "one.parquet", verify="bytes")
    return folder


def source_paths(folder: Path) -> list[Path]:
    return sorted((folder / "sources").glob("*.parquet"))


def footer_of(path: Path) -> Footer:
    with LocalReader(path) as reader:
        return read_footer(reader)


def test_sources_have_what_the_test_is_about(folder: Path) -> None:
    footers = [footer_of(path) for path in source_paths(folder)]

    assert len(footers) == 2
    assert all(len(footer.row_groups) > 1 for footer in footers)
    assert all(footer.has_page_index and footer.has_bloom_filter for footer in footers)


@pytest.mark.conformance("row groups are merged as they are")
def test_the_splice_keeps_row_groups_indexes_and_filters(folder: Path) -> None:
    spliced = footer_of(folder / "spliced" / "one.parquet")
    sources = [footer_of(path) for path in source_paths(folder)]

    assert spliced.rows == 2 * ROWS
    assert len(spliced.row_groups) == sum(len(source.row_groups) for source in sources)
    assert spliced.has_page_index
    assert spliced.has_bloom_filter
    assert {source.created_by for source in sources} == {spliced.created_by}


def test_spark_reads_the_same_rows(spark, folder: Path) -> None:
    spliced, sources = (
        spark.read.parquet(str(folder / name)).orderBy("id") for name in ("spliced", "sources")
    )

    assert spliced.schema == sources.schema
    assert spliced.collect() == sources.collect()


@pytest.mark.parametrize("condition", CONDITIONS)
def test_spark_finds_the_same_rows(spark, folder: Path, condition: str) -> None:
    spliced, sources = (
        spark.read.parquet(str(folder / name)).where(condition).orderBy("id").select("id", "name")
        for name in ("spliced", "sources")
    )

    assert spliced.collect() == sources.collect()
