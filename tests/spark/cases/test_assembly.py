"""Spark, which means parquet-java, writes the sources of an assembly and reads what came of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from neve.parquet.assembly.decide import plan_assembly
from neve.parquet.assembly.files import assemble_local
from neve.parquet.assembly.plan import AssemblyLimits, AssemblyPlan, Kind
from neve.parquet.assembly.source import load_assembly_source
from neve.parquet.assembly.wanted import wanted_schema
from neve.parquet.footer import read_footer
from neve.storage.readers import LocalReader

ROWS = 3_000
FILES = 4
COLUMNS = [
    "id",
    "concat('name-', uuid()) AS name",
    "concat('kind-', id % 7) AS kind",
    "cast(id / 8 AS decimal(9, 3)) AS small",
    "cast(id AS decimal(38, 2)) AS large",
    "timestamp_micros(id * 1000003) AS at",
    "cast(id % 97 AS double) / 7 AS ratio",
    "if(id % 3 = 0, null, array(id, null, -id)) AS many",
    "map(cast(id AS string), id % 2 = 0) AS pairs",
    "named_struct('x', id, 'y', named_struct('z', cast(id AS float))) AS inner",
    "if(id < 5000, null, id) AS late",
]
CONDITIONS = [
    "kind = 'kind-3'",
    "kind = 'absent'",
    "name > 'name-c' AND id > 6000",
    f"id BETWEEN {ROWS - 3} AND {ROWS + 3}",
    "id = 9999 OR kind = 'kind-1' AND id < 100",
    "small = 12.5",
    "large > 9990",
    "at < timestamp_micros(20000000)",
    "ratio > 13",
    "inner.y.z > 9995",
    "many IS NULL AND id < 30",
    "late IS NULL",
    "late > 11000",
]


@pytest.fixture(scope="module", params=["PARQUET_1_0", "PARQUET_2_0"])
def folder(spark, tmp_path_factory, request) -> Path:
    """Four source tables by Iceberg's writer in `sources`, and `new` made of them."""
    folder = tmp_path_factory.mktemp("assembly")
    version = {"PARQUET_1_0": "v1", "PARQUET_2_0": "v2"}[request.param]
    name = f"lake.assembly_{version}.t"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.assembly_{version}")
    for number in range(FILES):
        frame = spark.range(number * ROWS, (number + 1) * ROWS, 1, 1).selectExpr(*COLUMNS)
        if number == 0:
            frame.limit(0).writeTo(name).tableProperty(
                "write.parquet.page-row-limit", "500"
            ).tableProperty("write.parquet.page-version", version).create()
        frame.writeTo(name).append()
    paths = [row[0] for row in spark.sql(f"SELECT file_path FROM {name}.files").collect()]
    (folder / "sources").mkdir()
    for number, path in enumerate(paths):
        local = Path(path.removeprefix("file:"))
        (folder / "sources" / f"{number}.parquet").write_bytes(local.read_bytes())
    (folder / "new").mkdir()
    plan = planned(folder)
    assemble_local(plan, folder / "new" / "one.parquet")
    spark.sql(f"DROP TABLE {name}")
    return folder


def planned(folder: Path) -> AssemblyPlan:
    paths = sorted((folder / "sources").glob("*.parquet"))
    sources = []
    for path in paths:
        with LocalReader(path) as reader:
            sources.append(load_assembly_source(reader))
    wanted = wanted_schema(pq.ParquetFile(paths[0], arrow_extensions_enabled=True).schema_arrow)
    return plan_assembly(sources, wanted, AssemblyLimits(min_page_bytes=1))


def test_pages_are_joined_and_dictionaries_encoded(folder: Path) -> None:
    plan = planned(folder)
    (group,) = plan.groups
    kinds = {
        column.name: chunk.kind
        for column, chunk in zip(plan.wanted.columns, group.chunks, strict=True)
    }

    assert kinds["name"] is Kind.JOINED
    assert kinds["many.list.element"] is Kind.JOINED
    assert kinds["kind"] is Kind.ENCODED


@pytest.mark.conformance("readers besides Spark")
@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_spark_reads_the_same_rows(spark, folder: Path, vectorised: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorised)
    session.conf.set("spark.sql.parquet.enableNestedColumnVectorizedReader", vectorised)
    columns = "id, name, kind, small, large, at, ratio, many, map_entries(pairs), inner, late"

    def rows(name: str) -> list[object]:
        frame = session.read.parquet(str(folder / name)).selectExpr(*columns.split(", "))
        return frame.orderBy("id").collect()

    assert rows("new") == rows("sources")


@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_filters_lose_no_row(spark, folder: Path, vectorised: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorised)
    for condition in CONDITIONS:
        counts = [
            session.read.parquet(str(folder / name)).where(condition).count()
            for name in ("sources", "new")
        ]
        assert counts[0] == counts[1], condition


def test_page_indexes_cover_the_joined_pages(folder: Path) -> None:
    with LocalReader(folder / "new" / "one.parquet") as reader:
        footer = read_footer(reader)
        new = load_assembly_source(reader)
    assert footer.rows == ROWS * FILES
    (group,) = new.groups
    for chunk in group.chunks:
        assert chunk.offset_index is not None
        assert chunk.column_index is not None
