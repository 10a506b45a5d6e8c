"""What a route is given: Neve, the settings, a key that makes a request safe to repeat."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Request

from neve.api.settings import ApiSettings
from neve.neve import Neve


# Asynchronous, because FastAPI would send them through a thread otherwise.
async def _neve(request: Request) -> Neve:
    neve: Neve = request.app.state.neve
    return neve


async def _settings(request: Request) -> ApiSettings:
    settings: ApiSettings = request.app.state.settings
    return settings


def allowed_tenant(caller: object, tenant_id: str) -> None:
    """Refuse a caller who may not speak for the tenant. Nobody is asked who they are so far."""


TheNeve = Annotated[Neve, Depends(_neve)]
TheSettings = Annotated[ApiSettings, Depends(_settings)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[!-~]+$",
        description="A second request with the same key is the same job.",
    ),
]
