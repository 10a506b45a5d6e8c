"""Approval by a second person: asked for, given once, used once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from neve.access.rights import Caller
from neve.model.errors import AccessDenied, ApprovalGone, TooMuch
from neve.model.table import TableRef

#: How long an approval may wait to be given, and then to be used, all together.
VALID_SECONDS = 24 * 3600
#: So many may be asked for by a tenant within that time; what was used does not count.
MAX_OF_A_TENANT = 100
#: After how long an approval is forgotten. What came of it is in the audit log.
KEPT_SECONDS = 90 * 24 * 3600
#: After how long it is worth asking again where a tenant asked for too many.
WAIT_SECONDS = 600


class ApprovalState(StrEnum):
    """Where an approval stands; the last two are final."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    USED = "used"


@dataclass(frozen=True, slots=True)
class Approval:
    """What somebody wants to do, and who agreed."""

    approval_id: str
    #: Of all that was asked for, by whom: an approval is for exactly that.
    digest: str
    table: TableRef
    operation: str
    #: The arguments, as JSON text, so that whoever agrees knows to what.
    arguments: str
    requested_by: str
    person: str
    tenant: str
    created_at: datetime
    state: ApprovalState = ApprovalState.PENDING
    decided_by: str = ""

    def read_arguments(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.arguments)
        return found

    def is_valid(self, now: datetime) -> bool:
        return now < self.created_at + timedelta(seconds=VALID_SECONDS)


def request_digest(
    caller: Caller,
    tenant: str,
    table: TableRef,
    operation: str,
    arguments: Mapping[str, object],
    state: tuple[str, ...],
) -> str:
    """The same for the same request of the same person, on the same table, and for no other.

    By a table's name there may be another one tomorrow, so what was there is part of the request.
    """
    said = [caller.person, tenant, str(table), operation, dict(arguments), *state]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def too_many() -> TooMuch:
    """Nobody could look through more of them, and lists end somewhere."""
    return TooMuch(
        f"{MAX_OF_A_TENANT} unused approvals were asked for by this tenant within a day.",
        next_step="Use those that were given, and let a second person decide on the others.",
        retry_after_seconds=WAIT_SECONDS,
    )


def check_decision(approval: Approval, caller: Caller, now: datetime) -> None:
    """Raise where this caller may not decide, or nobody may any more."""
    if caller.person == approval.person or caller.name == approval.requested_by:
        raise AccessDenied(
            "Whoever asked for it cannot agree to it.", next_step="Ask a second person."
        )
    if approval.state is not ApprovalState.PENDING or not approval.is_valid(now):
        state = approval.state if approval.is_valid(now) else "too old"
        raise ApprovalGone(
            f"Approval {approval.approval_id} cannot be decided: it is {state}.",
            next_step="Send the request again, and let somebody agree to that.",
        )
