"""Overlaps as manifests tell them, of tables with real files."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from neve.catalog.connect import Catalogs
from neve.catalog.overlaps import column_overlaps
from neve.catalog.surveyor import CatalogSurveyor
from neve.model.table import TableRef
from neve.testing.facts import NOW
from neve.testing.local_lake import LocalLake

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "kind", StringType(), required=False),
)


@pytest.fixture
def overlaps(tmp_path):
    """Of a table of files, each with these ids and one kind of rows."""

    def of(*files):
        lake = LocalLake(tmp_path)
        table = lake.create("db.events", SCHEMA)
        for ids in files:
            kinds = pa.array(["a", *["b"] * (len(ids) - 1)], pa.large_string())
            table.append(pa.table({"id": pa.array(ids, pa.int64()), "kind": kinds}))
        catalogs = Catalogs({"lake": lake.properties})
        facts = CatalogSurveyor(catalogs, lambda: NOW).survey(TableRef("lake", ("db",), "events"))
        return column_overlaps(catalogs, facts)

    return of


def test_files_that_are_apart_in_one_column_and_not_in_the_other(overlaps):
    found = overlaps([1, 2], [3, 4], [5, 6], [7, 8])

    assert found == {"id": 0.0, "kind": 1.0}


def test_few_files_tell_nothing(overlaps):
    assert overlaps([1, 2], [3, 4]) == {}


def test_a_table_that_was_never_written_tells_nothing(overlaps):
    assert overlaps() == {}
