"""About the server itself: alive, ready, figures."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from neve.access.rights import Right
from neve.api.access import TheNeve, TheSettings, needs
from neve.api.metrics import exposition

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


@router.get("/health", dependencies=[needs(Right.OPEN)])
async def health() -> Health:
    """Liveness: it asks nobody else."""
    return Health()


@router.get(
    "/ready",
    responses={503: {"model": Readiness, "description": "Not ready."}},
    dependencies=[needs(Right.OPEN)],
)
def ready(
    neve: TheNeve,
    response: Response,
    role: Annotated[
        Literal["api"] | None,
        Query(description="api: whether requests are answered, whoever runs the jobs."),
    ] = None,
) -> Readiness:
    """Readiness: state, catalogs, and a worker whose engine has started. It starts nothing."""
    found = neve.readiness(with_engine=role != "api")
    checks = [
        ReadyCheck(name=c.name, is_ready=c.passed, detail=c.detail, next_step=c.fix) for c in found
    ]
    is_ready = all(check.is_ready for check in checks)
    if not is_ready:
        response.status_code = 503
    return Readiness(status="ready" if is_ready else "not ready", checks=checks)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    dependencies=[needs(Right.SERVICE)],
)
def metrics(neve: TheNeve, settings: TheSettings) -> Response:
    """Figures for Prometheus, from the state."""
    figures = neve.figures(settings.max_table_gauges)
    return Response(exposition(figures), media_type=METRICS_TYPE)
