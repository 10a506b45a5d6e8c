"""Which rights a job needs, by what it would do."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from neve.access.rights import Right
from neve.model.job import OVERRIDES, ROLLBACK
from neve.model.operation import Operation

#: Brakes: whoever takes them off may as well delete.
BRAKES = ("guards.", "undo_window")


class Sensitive(StrEnum):
    """What a second person may have to agree to."""

    PURGE = "purge"
    ROLLBACK = "rollback"


def deletes_for_good(operation: str, arguments: Mapping[str, object]) -> bool:
    """Whether files go with the job. A sweep that says nothing does what the policy says."""
    if operation == Operation.EXPIRE_SNAPSHOTS:
        return True
    if operation != Operation.REMOVE_ORPHAN_FILES:
        return False
    by_policy = "quarantine" not in arguments
    return "restore" not in arguments and arguments.get("purge", by_policy) is not False


def rights_for(operation: str, arguments: Mapping[str, object]) -> frozenset[Right]:
    """All that a caller needs on the table."""
    said = arguments.get(OVERRIDES)
    takes_brakes_off = isinstance(said, Mapping) and any(
        str(key).startswith(BRAKES) for key in said
    )
    if deletes_for_good(operation, arguments) or takes_brakes_off:
        return frozenset((Right.OPERATE, Right.PURGE))
    return frozenset((Right.OPERATE,))


def sensitive(operation: str, arguments: Mapping[str, object]) -> Sensitive | None:
    """Whether a second person may have to agree, and under which name that is configured."""
    if operation == ROLLBACK:
        return Sensitive.ROLLBACK
    needs_purge = Right.PURGE in rights_for(operation, arguments)
    return Sensitive.PURGE if needs_purge else None
