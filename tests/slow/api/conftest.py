from __future__ import annotations

from tests.edges.api.conftest import (
    address,
    api,
    events,
    lake,
    neve,
    queued,
    run_next,
    shared_api,
    shared_neve,
    state,
    store,
)

__all__ = [
    "address",
    "api",
    "events",
    "lake",
    "neve",
    "queued",
    "run_next",
    "shared_api",
    "shared_neve",
    "state",
    "store",
]
