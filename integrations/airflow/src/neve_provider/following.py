"""Jobs of a server, followed to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from neve_provider import routes
from neve_provider.errors import NeveError
from neve_provider.server import NeveServer, may_pass

SUCCEEDED = "succeeded"
FINAL = frozenset({SUCCEEDED, "failed", "cancelled"})
#: How long a server may be away: it is restarted, or moved.
PATIENCE_SECONDS = 600.0
Job = Mapping[str, Any]


def is_over(job: Job) -> bool:
    return job["status"] in FINAL


def is_lost(job: Job) -> bool:
    """Whether the job has ended without doing what was asked for."""
    return is_over(job) and job["status"] != SUCCEEDED


async def follow(
    server: NeveServer,
    job_ids: Sequence[str],
    *,
    poll_seconds: float,
    patience_seconds: float = PATIENCE_SECONDS,
) -> None:
    """Return when all jobs are over; raise where the server does not tell for too long."""
    clock = asyncio.get_running_loop().time
    waiting, heard_at = list(job_ids), clock()
    while waiting:
        try:
            job = await server.asend(routes.job(waiting[0]))
        except NeveError as error:
            if not may_pass(error) or clock() - heard_at >= patience_seconds:
                raise
        else:
            heard_at = clock()
            if is_over(job):
                waiting.pop(0)
                continue
        await asyncio.sleep(poll_seconds)
