from __future__ import annotations

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType
from tests.unit.catalog.conftest import catalogs, lake

from neve.catalog.inspect import CatalogInspector
from neve.service.diagnose import Examination, diagnose
from neve.testing.lake import SilentReporter
from neve.testing.local_lake import FileEntry

__all__ = ["catalogs", "lake"]

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "day", StringType(), required=False),
)
DAILY = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"))


@pytest.fixture
def create(lake):
    """An empty table, by day unless told otherwise."""

    def make(spec=DAILY, **options):
        return lake.create("db.events", SCHEMA, spec, **options)

    return make


@pytest.fixture
def table(create):
    return create()


def no_opener():
    raise AssertionError("Spark was started")


@pytest.fixture
def look(catalogs):
    """The diagnosis of a table by its name."""

    def diagnosis(name="db.events", **how):
        table = catalogs.parse(name)
        inspector = CatalogInspector(catalogs)
        return diagnose(inspector, no_opener, table, Examination(**how), SilentReporter())

    return diagnosis


@pytest.fixture
def put(lake):
    """A file that is really there, as its manifest entry."""

    def make(name, day="mon", size_bytes=10, **fields):
        path = lake.folder / "files" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(size_bytes))
        return FileEntry(path.as_uri(), (day,), size_bytes=size_bytes, **fields)

    return make
