"""When delete files are dropped: no data file needs them any more."""

from __future__ import annotations

from datetime import datetime

from neve.model.counts import many, verb
from neve.model.facts import TableFacts
from neve.model.operation import Operation
from neve.model.plan import Plan
from neve.model.steps import RemoveDanglingDeletes
from neve.planning.deletes import dangling_deletes
from neve.planning.operations.intent import operation_plan


def plan_remove_dangling_deletes(facts: TableFacts, now: datetime) -> Plan[RemoveDanglingDeletes]:
    """Find the delete files that apply to no live data file."""
    dangling = dangling_deletes(facts.delete_files, facts.data_files, facts.specs)
    count = len(facts.delete_files)
    if not dangling:
        reason = (
            f"Each of its {many(count, 'delete file')} applies to a data file."
            if count
            else "The table has no delete files."
        )
        return operation_plan(Operation.REMOVE_DANGLING_DELETES, facts, now, (), reason)
    return operation_plan(
        Operation.REMOVE_DANGLING_DELETES,
        facts,
        now,
        [RemoveDanglingDeletes(tuple(dict.fromkeys(delete.path for delete in dangling)))],
        f"{len(dangling)} of {many(count, 'delete file')} "
        f"{verb(len(dangling), 'applies', 'apply')} to no data file.",
    )
