"""A plan that is kept until somebody applies it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from neve.model.table import TableRef

#: So many are kept, the newest; each is data of one moment and ages with its table.
MAX_KEPT_PLANS = 200
MAX_PLAN_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """A plan as it was made, and who agreed to it. The plan itself never changes."""

    plan_id: str
    table: TableRef
    created_at: datetime
    #: The plan as JSON text; empty in lists.
    document: str
    requested_by: str = ""
    approved_at: datetime | None = None
    approved_by: str = ""
