"""Which engine rewrites a file group, and why; and which ones it falls back to."""

from __future__ import annotations

from dataclasses import dataclass

from neve.model.policy import Engine, RewriteMode
from neve.planning.engines import EngineRow, allowed
from neve.planning.refusals import GroupFacts

ON_DISK = "objects pass over the executors' disks"
KEEPS_ORDER = "each keeps its order, and the new file claims no sort order"


@dataclass(frozen=True, slots=True)
class Route:
    """The engine for a group, and the reason."""

    engine: Engine
    reason: str


def route(group: GroupFacts, mode: RewriteMode) -> Route:
    """The best engine that takes the group; where it is the last one, why the others do not."""
    why: str | None = None
    for row in allowed(mode):
        refusal = row.refuses(group)
        if refusal is None:
            return Route(row.engine, _reason(row, group, why, mode) + _whole(row, group))
        why = refusal
    raise AssertionError("The last engine refuses nothing.")


def _reason(row: EngineRow, group: GroupFacts, why: str | None, mode: RewriteMode) -> str:
    if row.decodes:
        told = why if why is not None else "asked for" if mode.value == row.engine else row.does
        return f"{told}; {ON_DISK}" if row.runs_in_task and group.is_in_store else told
    does = row.does
    if group.is_through_arrow:
        does += f" through Arrow's client for {group.files[0].path.partition(':')[0]}:"
    return f"{does}; {KEEPS_ORDER}" if group.table.sort_order_id != 0 else does


def _whole(row: EngineRow, group: GroupFacts) -> str:
    """What a task makes of large files: a source is never shared out over two outputs."""
    if not row.runs_in_task or not (large := group.files_above_target):
        return ""
    files = "1 file" if large == 1 else f"{large} files"
    return f"; {files} above the target size {'stays' if large == 1 else 'stay'} in one piece"


def task_ladder(group: GroupFacts, engine: Engine) -> tuple[Engine, ...]:
    """The engine and those after it that take the group inside a task, best first."""
    return tuple(
        row.engine
        for row in allowed(RewriteMode(engine.value))
        if row.runs_in_task and (row.engine is engine or row.refuses(group) is None)
    )
