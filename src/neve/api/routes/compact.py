"""POST /compact: one table, one job."""

from __future__ import annotations

from fastapi import APIRouter, Response

from neve.access.rights import Right
from neve.api.access import IdempotencyKey, TheNeve, needs
from neve.api.bodies import QueuedJob, queued_job
from neve.api.strategies import CompactOptions, StrategyName
from neve.api.submitting import job_path, queue
from neve.api.values import Asking, Name
from neve.model.operation import Operation
from neve.model.table import quote_part

router = APIRouter(tags=["compaction"])


class CompactRequest(Asking):
    """Which table to compact, and how."""

    catalog: Name | None = None
    namespace: Name | None = None
    table: Name
    strategy: StrategyName | None = None
    options: CompactOptions = CompactOptions()

    def table_name(self) -> str:
        """The name as a whole; without a namespace, `table` is one.

        A namespace may have several levels, a catalog and a table not.
        """
        parts = [self.namespace, quote_part(self.table)] if self.namespace else [self.table]
        return ".".join([quote_part(self.catalog), *parts] if self.catalog else parts)


@router.post("/compact", status_code=202, dependencies=[needs(Right.OPERATE)])
def compact(
    body: CompactRequest, neve: TheNeve, response: Response, key: IdempotencyKey = None
) -> QueuedJob:
    """Queue a compaction. It is planned on the way, so that what cannot be done is refused."""
    table = neve.table(body.table_name())
    overrides = body.options.overrides(body.strategy)
    job = queue(neve, table, Operation.REWRITE_DATA_FILES, body, key, overrides=overrides)
    response.headers["Location"] = job_path(job.job_id)
    return queued_job(job)
