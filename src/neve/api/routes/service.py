"""About the server itself: alive, ready, figures."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from neve.access.rights import Right
from neve.api.access import TheNeve, TheSettings, needs
from neve.api.metrics import exposition
from neve.guarding import Guarded

router = APIRouter(tags=["service"])
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Health(BaseModel):
    """This process answers."""

    status: str = "ok"


class ReadyCheck(BaseModel):
    """One thing that jobs need."""

    name: str
    is_ready: bool
    detail: str
    next_step: str | None


class Readiness(BaseModel):
    """Whether requests can be served."""

    status: str
    checks: list[ReadyCheck]


@router.get("/health", dependencies=[needs(Right.OPEN, asks_catalogs=False)])
async def health() -> Health:
    """Liveness: it asks nobody else."""
    return Health()


@router.get(
    "/ready",
    responses={503: {"model": Readiness, "description": "Not ready."}},
    dependencies=[needs(Right.OPEN, asks_catalogs=False)],
)
async def ready(
    neve: TheNeve,
    request: Request,
    response: Response,
    role: Annotated[
        Literal["api"] | None,
        Query(description="api: whether requests are answered, whoever runs the jobs."),
    ] = None,
) -> Readiness:
    """Readiness: state, catalogs, and a worker whose engine has started. It starts nothing."""
    sees_all = neve.caller.has_everywhere(Right.SERVICE)
    looks, with_engine = request.app.state.looks, role != "api"
    try:
        # Each hears what it may, and whoever hears the same is told by the same look.
        checks = await looks.answer((sees_all, with_engine), lambda: _checks(neve, with_engine))
    except TimeoutError:
        checks = [_unanswered()]
    is_ready = all(check.is_ready for check in checks)
    if not is_ready:
        response.status_code = 503
    return Readiness(status="ready" if is_ready else "not ready", checks=checks)


def _checks(neve: Guarded, with_engine: bool) -> list[ReadyCheck]:
    found = neve.readiness(with_engine=with_engine)
    return [
        ReadyCheck(name=c.name, is_ready=c.passed, detail=c.detail, next_step=c.fix) for c in found
    ]


def _unanswered() -> ReadyCheck:
    detail = "The state and the catalogs did not answer in time."
    step = "See that they run: neve doctor."
    return ReadyCheck(name="service", is_ready=False, detail=detail, next_step=step)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    dependencies=[needs(Right.SERVICE, asks_catalogs=False)],
)
def metrics(neve: TheNeve, settings: TheSettings) -> Response:
    """Figures for Prometheus, from the state."""
    figures = neve.figures(settings.max_table_gauges)
    return Response(exposition(figures), media_type=METRICS_TYPE)
