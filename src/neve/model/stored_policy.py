"""A policy that was set while Neve runs, and is kept in its state."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

MAX_POLICIES = 1000
MAX_POLICY_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """One of them, as it was given."""

    name: str
    #: The policy as JSON text, as a file would hold it.
    document: str
    #: Grows with every change of any of them, so that no two states of one have the same.
    revision: int
    updated_at: datetime
    updated_by: str = ""
