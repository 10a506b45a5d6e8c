"""How often a catalog is asked for a table: each time costs a request and the whole metadata."""

from __future__ import annotations

from collections import Counter

import pytest

from neve.catalog.connect import Catalogs
from neve.catalog.metadata_commit import CatalogMetadataWriter
from neve.model.job import JobRequest
from neve.model.maintenance import MaintainRequest
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.service.maintain import maintain_tables
from neve.service.run_job import run, run_job, submit


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


COPIED = {"rewrite_data_files.min_row_group_size": 1}
ROUTES = {
    "copy": COPIED,
    "rewrite": {},
    "spark": {"rewrite_data_files.engine": "spark"},
    "sort": {"rewrite_data_files.sort_order": "id"},
    "of a filter": {"rewrite_data_files.where": "kind = 'k0'"},
    "of a filter, by spark": {
        "rewrite_data_files.where": "kind = 'k0'",
        "rewrite_data_files.engine": "spark",
    },
}


@pytest.mark.parametrize("said", ROUTES.values(), ids=ROUTES)
@pytest.mark.parametrize("is_queued", [False, True], ids=["now", "queued"])
def test_a_rewrite_loads_its_table_to_plan_to_begin_and_to_read_back(
    lake, loads, monkeypatch, said, is_queued
):
    table = lake.create(by="kind")
    lake.fill(table)
    services = lake.app.maintenance
    services.engine.warm_up()
    rows = lake.rows(table)
    request = JobRequest(table, "rewrite_data_files", {"overrides": said})
    queued = submit(services, request) if is_queued else None
    # As after the start of an engine.
    monkeypatch.setattr(type(services.engine), "warm_up", lambda self: True)
    loads.clear()

    if queued:
        lease = services.store.claim_job(queued.job_id, services.lease_seconds)
        outcome = run_job(services, lease)
    else:
        outcome = run(services, request)

    assert outcome.status is Status.SUCCEEDED
    assert loads["events"] <= 3, loads
    assert lake.rows(table) == rows
    (first,) = [s for s in lake.facts(table).ancestry() if s.job_id == outcome.job_id]
    refs = {ref.name: ref.snapshot_id for ref in lake.facts(table).refs}
    assert refs[UNDO_TAG_PREFIX + outcome.job_id] == first.parent_id


def test_a_plan_that_was_kept_is_no_further_load(lake, loads):
    table = lake.create()
    lake.fill(table)
    plan = lake.plan(table)
    loads.clear()

    assert lake.app.maintenance.apply(plan).status is Status.SUCCEEDED

    assert loads["events"] == 3, loads


def test_a_table_without_work_is_loaded_once(lake, loads):
    table = lake.create()
    lake.fill(table, files=1)
    lake.app.maintenance.compact(table, RewriteDataFilesArguments(), policy=CompactionPolicy())
    loads.clear()

    (report,) = maintain_tables(lake.app.maintenance, [table], MaintainRequest())

    assert report.is_good
    assert loads["events"] == 1, loads
