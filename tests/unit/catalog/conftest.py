from __future__ import annotations

import pytest

from neve.catalog.connect import Catalogs
from neve.catalog.surveyor import CatalogSurveyor
from neve.testing.facts import NOW
from neve.testing.local_lake import LocalLake


@pytest.fixture
def lake(tmp_path):
    return LocalLake(tmp_path / "lake")


@pytest.fixture
def catalogs(lake):
    return Catalogs({lake.name: lake.properties})


@pytest.fixture
def survey(catalogs):
    """The facts of a table by its name."""
    surveyor = CatalogSurveyor(catalogs, lambda: NOW)

    def look(name="db.events", **options):
        return surveyor.survey(catalogs.parse(name), **options)

    return look
