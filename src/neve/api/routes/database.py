"""POST /database: CREATE_TABLE, WRITE, QUERY and COMPACT for tenants."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import monotonic
from typing import Annotated

from fastapi import APIRouter, Body, Header, Response
from fastapi import Request as HttpRequest
from fastapi.concurrency import run_in_threadpool

from neve.access.rights import Right
from neve.api.access import KEY_TEXT, TheNeve, TheSettings, asking, needs
from neve.api.shares import Shares
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
from neve.database.compacting import still_running
from neve.database.keys import key_of
from neve.database.service import write_answer
from neve.guarding import Guarded
from neve.model.errors import QueryLimit, TooMuch

router = APIRouter(tags=["database"])
WriteKey = Annotated[
    str | None,
    Header(**KEY_TEXT, description="Of WRITE: the same records count once, however often sent."),
]
Answer = CreateTableAnswer | WriteAnswer | QueryAnswer | CompactAnswer


@router.post(
    "/database",
    responses={202: {"model": CompactAnswer, "description": "COMPACT whose jobs still run."}},
    # Each operation asks for more on its own table, and takes its part of a share by itself.
    dependencies=[needs(Right.VIEW, asks_catalogs=False)],
)
async def database(
    body: Annotated[Request, Body()],
    neve: TheNeve,
    settings: TheSettings,
    request: HttpRequest,
    response: Response,
    key: WriteKey = None,
) -> Answer:
    """One operation on one table of a tenant. WRITE is answered after its commit."""
    # What answers is made by the first request, which takes longer than a loop may wait.
    await run_in_threadpool(lambda: neve.database_rules)
    key = key_of(body, key)
    match body:
        case CreateTable():
            async with asking(request):
                return await run_in_threadpool(neve.create_table, body)
        case Query():
            return await _query(neve, body, request.app.state.queries)
        case Write():
            # No thread waits for the commit: as many writes as arrive are gathered.
            return write_answer(await asyncio.wrap_future(neve.begin_write(body, key)))
        case Compact():
            return await _compact(neve, body, request, response, settings.poll_seconds)


async def _query(neve: Guarded, body: Query, shares: Shares) -> QueryAnswer:
    patience = neve.database_rules.query.max_seconds
    try:
        async with shares.share(neve.share_of(body), patience):
            return await run_in_threadpool(neve.query, body)
    except TimeoutError:
        raise QueryLimit(
            "Too many queries of this tenant run at once.", next_step="Ask again in a while."
        ) from None


async def _compact(
    neve: Guarded, body: Compact, request: HttpRequest, response: Response, poll_seconds: float
) -> CompactAnswer:
    """Queue its jobs and wait for their end, as long as the configuration and the server say."""
    async with asking(request):
        begun = await run_in_threadpool(neve.begin_compact, body)
    ends_at = monotonic() + neve.database_rules.compact_wait_seconds
    while True:
        found = None
        # Its jobs are queued: where others take the share, their end is looked for once more.
        with suppress(TooMuch):
            async with asking(request):
                found = await run_in_threadpool(neve.compaction, begun)
        if found is not None:
            return found
        if monotonic() >= ends_at or request.app.state.is_ending:
            response.status_code = 202
            return still_running(begun)
        await asyncio.sleep(poll_seconds)
