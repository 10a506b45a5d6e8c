"""What a request leaves behind for the audit log."""

from __future__ import annotations

from dataclasses import dataclass


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
