"""How often a catalog is asked for a table: each time costs a request and the whole metadata."""

from __future__ import annotations

from collections import Counter

import pytest

from neve.catalog.connect import Catalogs
from neve.catalog.metadata_commit import CatalogMetadataWriter
from neve.model.job import JobRequest
from neve.model.maintenance import MaintainRequest
from neve.model.outcome import Status
from neve.model.policy import CompactionPolicy
from neve.planning.planner import PlanRequest
from neve.service.maintain import maintain_tables
from neve.service.run_job import run


@pytest.fixture
def loads(monkeypatch):
    """Tables that pyiceberg's side loaded, counted by name."""
    counted: Counter[str] = Counter()
    load = Catalogs.load

    def counting(self, table):
        counted[table.name] += 1
        return load(self, table)

    look = CatalogMetadataWriter._look

    def looking(self, catalog, change):
        counted[change.table.name] += 1
        return look(self, catalog, change)

    monkeypatch.setattr(Catalogs, "load", counting)
    monkeypatch.setattr(CatalogMetadataWriter, "_look", looking)
    return counted


def test_a_rewrite_loads_its_table_to_plan_to_tag_to_begin_and_to_read_back(lake, loads):
    table = lake.create()
    lake.fill(table)
    lake.app.maintenance.engine.warm_up()
    loads.clear()

    outcome = run(lake.app.maintenance, JobRequest(table, "rewrite_data_files"))

    assert outcome.status is Status.SUCCEEDED
    assert loads["events"] == 4, loads


def test_a_table_without_work_is_loaded_once(lake, loads):
    table = lake.create()
    lake.fill(table, files=1)
    lake.app.maintenance.compact(table, PlanRequest(), where=None, policy=CompactionPolicy())
    loads.clear()

    (report,) = maintain_tables(lake.app.maintenance, [table], MaintainRequest())

    assert report.is_good
    assert loads["events"] == 1, loads
