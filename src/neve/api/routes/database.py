"""POST /database: CREATE_TABLE, WRITE, QUERY and COMPACT for tenants."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Annotated

from fastapi import APIRouter, Body, Response
from fastapi.concurrency import run_in_threadpool

from neve.access.rights import Right
from neve.api.access import (
    IdempotencyKey,
    TheCaller,
    TheNeve,
    TheSettings,
    allowed_tenant,
    needs,
)
from neve.database.bodies import (
    Compact,
    CompactAnswer,
    CreateTable,
    CreateTableAnswer,
    Query,
    QueryAnswer,
    Request,
    Write,
    WriteAnswer,
)
from neve.database.service import Database, write_answer

router = APIRouter(tags=["database"])
Answer = CreateTableAnswer | WriteAnswer | QueryAnswer | CompactAnswer


@router.post(
    "/database",
    responses={202: {"model": CompactAnswer, "description": "COMPACT whose jobs still run."}},
    dependencies=[needs(Right.OPERATE)],
)
async def database(
    body: Annotated[Request, Body()],
    neve: TheNeve,
    caller: TheCaller,
    settings: TheSettings,
    response: Response,
    key: IdempotencyKey = None,
) -> Answer:
    """One operation on one table of a tenant. WRITE is answered after its commit."""
    allowed_tenant(caller, body.tenant_id)
    operations = await run_in_threadpool(lambda: neve.database)
    match body:
        case CreateTable():
            return await run_in_threadpool(operations.create_table, body)
        case Query():
            return await run_in_threadpool(operations.query, body)
        case Write():
            # No thread waits for the commit: as many writes as arrive are gathered.
            return write_answer(await asyncio.wrap_future(operations.begin_write(body, key)))
        case Compact():
            return await _compact(operations, body, response, settings.poll_seconds)


async def _compact(
    operations: Database, body: Compact, response: Response, poll_seconds: float
) -> CompactAnswer:
    """Queue its jobs and wait for their end, as long as the configuration says."""
    begun = await run_in_threadpool(operations.begin_compact, body)
    ends_at = monotonic() + operations.rules.compact_wait_seconds
    while True:
        found = await run_in_threadpool(operations.compaction, begun)
        if found is not None:
            return found
        if monotonic() >= ends_at:
            response.status_code = 202
            return operations.still_running(begun)
        await asyncio.sleep(poll_seconds)
