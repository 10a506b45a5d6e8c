"""Trino reads files that were joined, copied or encoded as it reads their sources."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)
from tests.assembled_files import LIMITS, WRITERS, assemble, write_sources
from tests.system.engine_fixtures import House

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "name", StringType()),
    NestedField(3, "price", DecimalType(9, 2)),
    NestedField(4, "large", DecimalType(38, 4)),
    NestedField(5, "ratio", DoubleType()),
    NestedField(6, "single", FloatType()),
    NestedField(7, "moment", TimestamptzType()),
    NestedField(8, "day", DateType()),
    NestedField(9, "raw", BinaryType()),
    NestedField(10, "ok", BooleanType()),
    NestedField(
        11,
        "place",
        StructType(NestedField(13, "a", LongType()), NestedField(14, "b", StringType())),
    ),
    NestedField(12, "tags", ListType(15, StringType(), element_required=False)),
)
#: Trino tells a zero's sign and nested values best as text.
COLUMNS = (
    "id, name, price, large, CAST(ratio AS varchar), CAST(single AS varchar), moment, day, "
    "to_hex(raw), ok, place.a, place.b, json_format(CAST(tags AS json))"
)
CONDITIONS = (
    "id < 100",
    "id BETWEEN 390 AND 410",
    "name = 'a'",
    "name > 'é'",
    "price < 0",
    "ratio > 1",
    "is_nan(ratio)",
    "ok AND day < DATE '1970-01-01'",
    "place.b IS NULL",
    "moment >= TIMESTAMP '2024-02-01 00:00:00 UTC'",
)


@pytest.mark.conformance("readers besides Spark", engines=("rewrite",))
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("writer", WRITERS)
def test_trino_reads_what_its_sources_hold(
    house: House, tmp_path: Path, writer: str, limits: str
) -> None:
    arrow = SCHEMA.as_arrow()
    sources = write_sources(tmp_path, arrow, writer)
    assemble(sources, arrow, limits, tmp_path / "new.parquet")
    with closing(load_catalog("iceberg", **house.catalogs["iceberg"])) as catalog:
        for table, paths in (("before", sources), ("after", [tmp_path / "new.parquet"])):
            made = catalog.create_table((house.lake.schema, table), SCHEMA)
            assert isinstance(made.io, PyArrowFileIO)
            added = []
            for path in paths:
                location = f"{made.location()}/data/{path.name}"
                with made.io.new_output(location).create() as sink:
                    sink.write(path.read_bytes())
                added.append(location)
            made.add_files(added)
            assert pa.types.is_integer(made.scan().to_arrow()["id"].type)

    before, after = (house.rows("trino", table, columns=COLUMNS) for table in ("before", "after"))
    assert before.total() == 1200
    assert after == before
    for condition in CONDITIONS:
        found = [
            Counter(house.run("trino", f"SELECT id FROM {house.name(table)} WHERE {condition}"))
            for table in ("before", "after")
        ]
        assert found[0] == found[1], condition
