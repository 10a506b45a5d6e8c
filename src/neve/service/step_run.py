"""One step of a run, and the commit that yields to writers; both ways of rewriting share it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from neve.model.errors import CommitConflict
from neve.model.facts import TableFacts
from neve.model.groups import FileGroup
from neve.model.job import JobState
from neve.model.metadata_change import MadeOn, UndoTag
from neve.model.outcome import EngineUse
from neve.model.policy import Engine, Verify
from neve.model.steps import RewriteDataFiles
from neve.model.table import TableRef
from neve.planning.staleness import changed_files, paths_of
from neve.service.lease import HeldLease
from neve.service.services import Services

#: Times that a commit is tried: each time without the groups that writers took.
MAX_COMMITS = 4


@dataclass(frozen=True, slots=True)
class StepRun:
    """One step, or a part of it, with what it needs from the run around it."""

    services: Services
    table: TableRef
    step: RewriteDataFiles
    #: The table when the step began; what the commit is validated from.
    base: TableFacts
    job_id: str
    #: Of the step within its job.
    number: int
    held: HeldLease
    properties: Mapping[str, str]
    min_row_group_bytes: int
    #: Set with the job's first commit, on the state that it is made on.
    undo: UndoTag | None = None
    #: What was asked for; None leaves it to the way of rewriting.
    verify: Verify | None = None

    @property
    def made_on(self) -> MadeOn:
        assert self.base.snapshot_id is not None
        return MadeOn(self.base.table_uuid, self.base.snapshot_id)

    def remember_leftovers(self, paths: Sequence[str]) -> None:
        """Files that will not be committed; deleting them is for the sweeper, not for this run."""
        if paths:
            self.services.store.add_uncommitted_files(self.job_id, self.table, list(paths))


@dataclass(frozen=True, slots=True)
class StepResult:
    """Groups that were not committed: refused by their footers, or taken by a writer."""

    refused: tuple[tuple[FileGroup, str], ...] = ()
    conflicting: tuple[FileGroup, ...] = ()
    #: Groups that were committed with deletes that writers had made meanwhile.
    rebased: tuple[FileGroup, ...] = ()
    #: What the engine said of the last commit that it refused.
    conflict: str | None = None
    #: What engines worked on, committed or not.
    uses: tuple[EngineUse, ...] = ()
    #: How many new files another engine than the planned one made, and why the first of them.
    fell: tuple[int, str] | None = None
    #: Tasks that were begun again, because they failed or their executor was lost.
    begun_again: int = 0


@dataclass(frozen=True, slots=True)
class Written:
    """Groups whose rows are in new files that are not committed yet."""

    groups: tuple[FileGroup, ...]
    outputs: tuple[str, ...]

    @property
    def sources(self) -> list[str]:
        return [path for group in self.groups for path in paths_of(group)]


def commit_untouched(
    run: StepRun,
    written: Mapping[int, Written],
    commit: Callable[[Sequence[int]], None],
) -> StepResult:
    """Commit everything; where a writer won, commit what it left untouched."""
    waiting = list(written)
    taken: list[int] = []
    said: str | None = None
    for _ in range(MAX_COMMITS):
        if not waiting:
            break
        try:
            # The last thing before the commit: a job that lost the table must not write to it.
            run.held.check()
            run.held.enter(JobState.COMMITTING)
            commit(waiting)
            waiting = []
        except CommitConflict as conflict:
            said = conflict.message
            guilty = _guilty(run, written, waiting)
            taken += guilty
            waiting = [key for key in waiting if key not in guilty]
    # Nothing explains why the rest is refused. Planning it again will tell.
    taken += waiting
    run.remember_leftovers([path for key in taken for path in written[key].outputs])
    return StepResult(
        conflicting=tuple(group for key in taken for group in written[key].groups), conflict=said
    )


def _guilty(run: StepRun, written: Mapping[int, Written], keys: Sequence[int]) -> list[int]:
    """Those of which a writer removed a file, or put a delete on one, since the base."""
    now = run.services.surveyor.survey(run.table)
    sources = [path for key in keys for path in written[key].sources]
    changed = changed_files(run.base, now, sources)
    return [key for key in keys if not changed.isdisjoint(written[key].sources)]


def use_of_spark(groups: Sequence[FileGroup]) -> tuple[EngineUse, ...]:
    """Iceberg's own reader and writer read these groups whole."""
    files, size = sum(len(g.files) for g in groups), sum(g.input_bytes for g in groups)
    return (EngineUse(Engine.SPARK.value, files, size),) if groups else ()


def shared_out(uses: Sequence[EngineUse], seconds: float) -> list[EngineUse]:
    """The same with their time: a part of a run is shared by bytes."""
    total = sum(use.bytes for use in uses)
    return [replace(use, seconds=seconds * use.bytes / max(1, total)) for use in uses]


def merged(uses: Sequence[EngineUse]) -> tuple[EngineUse, ...]:
    """One entry for each engine."""
    engines = dict.fromkeys(use.engine for use in uses)
    own = {engine: [use for use in uses if use.engine == engine] for engine in engines}
    return tuple(
        EngineUse(
            engine,
            sum(use.files for use in chosen),
            sum(use.bytes for use in chosen),
            math.fsum(use.seconds for use in chosen),
        )
        for engine, chosen in own.items()
    )
