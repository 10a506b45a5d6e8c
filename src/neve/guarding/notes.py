"""What a request leaves behind for the audit log."""

from __future__ import annotations

from dataclasses import dataclass

from neve.model.errors import NotWrittenDown, StoreError
from neve.neve import Access


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


def write_down(access: Access, notes: Notes, action: str, status: int) -> None:
    """Append the row of an answer to the audit log; what is raised is to be answered instead."""
    try:
        access.record(
            notes.who,
            f"{action} {notes.operation}".strip(),
            str(status),
            tenant=notes.tenant,
            table=notes.table,
            job_id=notes.job_id,
            detail=notes.detail,
        )
    except StoreError as error:
        raise _unrecorded(error, notes, status) from error


def _unrecorded(error: StoreError, notes: Notes, status: int) -> StoreError:
    """An answer that tells of something done must not become one that asks for it once more."""
    if status >= 400 or notes.operation == LOOKS:
        return error
    return NotWrittenDown(
        f"It was done, and could not be written into the audit log: {error.message}",
        next_step="Look before you send it again; with the same idempotency key it counts once.",
    )
