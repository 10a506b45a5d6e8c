"""All jobs that were left without an end, settled as far as their tables tell it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from neve.model.errors import CatalogError, EngineNeeded, NeveError, TableNotFound, TableUnreadable
from neve.model.job import Job
from neve.service.ports import Engine
from neve.service.recover import settle_left_behind, settle_untraceable
from neve.service.services import Services


def settle_jobs(
    services: Services, lost: Sequence[Job], catalogs: Collection[str]
) -> dict[str, NeveError]:
    """Settle them table by table, without an engine; returns jobs that stay, with the reason."""

    def no_engine() -> Engine:
        raise EngineNeeded("Its rows can be compared by Spark alone")

    looking = replace(services, make_engine=no_engine)
    lost = settle_untraceable(looking, lost)
    left: dict[str, NeveError] = {}
    down: dict[str, NeveError] = {
        name: CatalogError(f"Catalog {name} is not configured any more.")
        for name in {job.table.catalog for job in lost} - set(catalogs)
    }
    for table in dict.fromkeys(job.table for job in lost):
        if table.catalog in down:
            # It is waited for once, and not for each of its tables.
            left |= {job.job_id: down[table.catalog] for job in lost if job.table == table}
            continue
        for job, why in settle_left_behind(looking, table):
            left[job.job_id] = why
            if isinstance(why, CatalogError) and not isinstance(
                why, TableNotFound | TableUnreadable
            ):
                down[table.catalog] = why
    return left
