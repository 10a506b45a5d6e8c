"""The idempotency key of a request, wherever it stands."""

from __future__ import annotations

from neve.database.bodies import Compact, CreateTable, Query, Write
from neve.model.errors import InputError


def key_of(request: CreateTable | Write | Query | Compact, header: str | None) -> str | None:
    """The key that a WRITE came with; nothing is accepted and ignored."""
    if not isinstance(request, Write):
        if header is not None:
            raise InputError(
                f"Idempotency-Key is for WRITE, not for {request.operation}.",
                next_step="Leave it out: what was done already is not done again, only told.",
            )
        return None
    said = request.idempotency_key
    if header is not None and said is not None and header != said:
        raise InputError(
            "The header Idempotency-Key and idempotency_key of the body differ.",
            next_step="Send one of them.",
        )
    return header or said
