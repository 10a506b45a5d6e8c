"""What a request leaves behind for the audit log."""

from __future__ import annotations

from dataclasses import dataclass

from neve.model.errors import NotWrittenDown, StoreError


@dataclass(slots=True)
class Notes:
    """What is written down about a request while it is worked on."""

    who: str = "nobody"
    tenant: str = ""
    #: Which one it was, where a route has several.
    operation: str = ""
    table: str = ""
    job_id: str = ""
    detail: str = ""
    #: Whether a row of the audit log is made of it.
    is_kept: bool = True


#: It leaves nothing behind, and may be asked for again.
LOOKS = "QUERY"


def unrecorded(error: StoreError, notes: Notes, status: int) -> StoreError:
    """What to answer where the row of an answer could not be written.

    An answer that tells of something done must not become one that asks for it once more.
    """
    if status >= 400 or notes.operation == LOOKS:
        return error
    return NotWrittenDown(
        f"It was done, and could not be written into the audit log: {error.message}",
        next_step="Look before you send it again; with the same idempotency key it counts once.",
    )
