"""Run the steps of a plan; what writers take of them is planned again at once."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from operator import attrgetter

from neve.model.errors import CommitConflict, ExecutionError
from neve.model.facts import (
    ENGINE_PROPERTY,
    EPOCH_PROPERTY,
    JOB_ID_PROPERTY,
    LAYOUT_PROPERTY,
    PLAN_PROPERTY,
    STEP_PROPERTY,
    TARGET_SIZE_PROPERTY,
    TableFacts,
)
from neve.model.groups import FileGroup, PlannedFile
from neve.model.job import JobState, Progress
from neve.model.metadata_change import UndoTag, another_table
from neve.model.outcome import EngineUse, LeftAlone
from neve.model.plan import CompactionPlan
from neve.model.policy import Engine
from neve.model.steps import RewriteDataFiles
from neve.planning.cadence import fits_before_next, seconds_to_wait, usual_gap
from neve.planning.engines import row_of
from neve.planning.packing import split_evenly
from neve.planning.planner import step_for_spark
from neve.planning.proof import Change
from neve.planning.staleness import paths_of
from neve.service.lease import HeldLease
from neve.service.left_alone import told, without_misread
from neve.service.services import Services
from neve.service.staged import run_staged
from neve.service.step_run import StepResult, StepRun, shared_out, use_of_spark
from neve.service.tasks import run_in_tasks
from neve.service.undo import keep_for_undo

#: Times that groups are planned in all, where writers take their files.
MAX_ROUNDS = 5
#: A large step is committed in parts, so that a writer can spoil one of them at most.
MAX_PARTS = 10
MIN_PART_BYTES = 1024**3
#: How long a rewrite takes from the head to its commit, until one was timed.
USUAL_WINDOW_SECONDS = 1.0
#: From this round on a group that is always taken is cut in two, and in four in the next.
FIRST_ROUND_OF_PIECES = 2
MIN_PIECE_BYTES = 16 * 1024**2
#: A writer who was faster is looked out for this often, so long, and this many of its gaps.
LOOK_SECONDS = 0.1
MAX_LOOKOUT_SECONDS = 30.0
LOOKOUT_GAPS = 2

Replan = Callable[[TableFacts], CompactionPlan]


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a plan, from its claim on the table to its outcome."""

    services: Services
    plan: CompactionPlan
    job_id: str
    held: HeldLease
    before: TableFacts
    started_at: datetime
    #: Plans the table again, for a run that may; None for a plan that is run as it is.
    replan: Replan | None = None
    #: Set with the first commit; None where the tag is there already.
    undo: UndoTag | None = None
    #: What the outcome should mention besides its figures.
    notes: list[str] = field(default_factory=list)
    #: Groups that a writer took; a list, because the run itself is a value.
    taken_by_writers: list[FileGroup] = field(default_factory=list)
    #: What the engine said when it refused a commit.
    refusals: list[str] = field(default_factory=list)
    windows: list[float] = field(default_factory=list)
    #: What each part took, by engine.
    uses: list[EngineUse] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)
    #: Groups that were committed, and the bytes that were written for them.
    committed: list[FileGroup] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    #: Files that engines inside tasks refused, and those that nobody rewrites.
    refused: set[str] = field(default_factory=set)
    left_alone: list[LeftAlone] = field(default_factory=list)

    @property
    def conflicts(self) -> int:
        return len(self.taken_by_writers)


@dataclass(frozen=True, slots=True)
class StepFailure:
    """The step whose engine raised, and what."""

    step: int
    error: ExecutionError


def run_rounds(run: Run) -> StepFailure | None:
    """Run the steps; an engine's error is kept, because the table decides what happened."""
    plan, base = run.plan, run.before
    for round_number in range(MAX_ROUNDS):
        failure, taken = _run_plan(run, plan, base, round_number)
        taken = [*run.taken_by_writers, *taken]
        run.taken_by_writers[:] = taken
        if failure is not None or not taken:
            return failure
        if run.replan is None or round_number == MAX_ROUNDS - 1:
            run.notes.append(
                f"{_groups(len(taken))} changed by writers meanwhile and left to the next run."
            )
            return None
        base = run.services.surveyor.survey(plan.table, where=run.plan.where)
        if base.table_uuid != run.before.table_uuid:
            conflict = CommitConflict(another_table(f"Compacting table {plan.table}"))
            return StepFailure(next(run.numbers), conflict)
        plan = only_partitions_of(run.replan(base), taken)
        run.taken_by_writers.clear()
        run.notes.append(f"{_groups(len(taken))} changed by writers meanwhile and planned again.")
        if plan.is_empty:
            return None
    return None


def _done(engine: Engine) -> str:
    return "rewritten in tasks" if row_of(engine).decodes else "copied"


def _groups(number: int) -> str:
    return f"{number} group was" if number == 1 else f"{number} groups were"


def _begun_again(number: int) -> str:
    tasks = "1 task was" if number == 1 else f"{number} tasks were"
    return f"{tasks} lost, failed or too slow, and begun again; what they left is not committed."


def _rebased(number: int) -> str:
    what = "a group" if number == 1 else f"{number} groups"
    return f"Writers deleted rows of {what} meanwhile; those stay deleted in the new files."


def only_partitions_of(plan: CompactionPlan, groups: list[FileGroup]) -> CompactionPlan:
    """The plan without partitions that are none of the groups'."""
    partitions = {(group.spec_id, group.partition) for group in groups}
    steps = (
        replace(
            step,
            groups=tuple(g for g in step.groups if (g.spec_id, g.partition) in partitions),
        )
        for step in plan.steps
    )
    return replace(plan, steps=tuple(step for step in steps if step.groups))


def _run_plan(
    run: Run, plan: CompactionPlan, base: TableFacts, round_number: int
) -> tuple[StepFailure | None, list[FileGroup]]:
    taken: list[FileGroup] = []
    parts = deque(part for step in plan.steps for part in _parts(step, round_number))
    while parts:
        part, number = parts.popleft(), next(run.numbers)
        run.held.check()
        run.held.enter(JobState.REWRITING)
        run.services.reporter(f"Compacting {len(part.groups)} file groups of {plan.table} …")
        try:
            result = _run_part(run, number, part, base, is_near=round_number > 0)
        except ExecutionError as error:
            return StepFailure(number, error), taken
        taken += result.conflicting
        _account(run, part, result)
        if result.conflict:
            run.refusals.append(result.conflict)
        if result.rebased:
            run.notes.append(_rebased(len(result.rebased)))
        if result.begun_again:
            run.notes.append(_begun_again(result.begun_again))
        if result.fell:
            run.notes.append(
                f"{result.fell[0]} files could not be copied and were rewritten: "
                f"{result.fell[1].rstrip('.')}."
            )
        if result.refused:
            groups = tuple(group for group, _ in result.refused)
            run.notes.append(
                f"{len(groups)} groups could not be {_done(part.engine)} and went to Spark: "
                f"{result.refused[0][1].rstrip('.')}."
            )
            run.refused.update(path for group in groups for path in paths_of(group))
            parts.appendleft(step_for_spark(base, part, groups))
    return None, taken


def account_for(run: Run, changes: Sequence[Change]) -> None:
    """Tell what the table shows to be done, which is more exact than what engines told."""
    removed = [file.size_bytes for change in changes for file in change.removed]
    written = sum(file.size_bytes for change in changes for file in change.added)
    run.services.progress(
        replace(
            _progress(run),
            files_processed=len(removed),
            bytes_read=sum(removed),
            bytes_written=written,
        )
    )


def _account(run: Run, part: RewriteDataFiles, result: StepResult) -> None:
    left = {id(group) for group in (*result.conflicting, *(group for group, _ in result.refused))}
    done = [group for group in part.groups if id(group) not in left]
    run.committed.extend(done)
    run.services.evidence.plan(run.plan.plan_id)
    run.services.evidence.files(file.path for group in done for file in group.files)
    run.written.append(sum(use.bytes for use in result.uses))
    run.services.progress(_progress(run))


def _progress(run: Run) -> Progress:
    """How far the run is; a partition is through when nothing of it is left."""
    waiting = _bytes_by_partition(run.plan.groups)
    waiting.subtract(_bytes_by_partition(run.committed))
    return Progress(
        partitions_completed=sum(size <= 0 for size in waiting.values()),
        partitions_total=len(waiting),
        files_processed=sum(len(group.files) for group in run.committed),
        bytes_read=sum(group.input_bytes for group in run.committed),
        bytes_written=sum(run.written),
        bytes_total=sum(group.input_bytes for group in run.plan.groups),
    )


def _bytes_by_partition(groups: Iterable[FileGroup]) -> Counter[object]:
    sizes = Counter[object]()
    for group in groups:
        sizes[(group.spec_id, group.partition)] += group.input_bytes
    return sizes


def _parts(step: RewriteDataFiles, round_number: int) -> Iterator[RewriteDataFiles]:
    """Commits of the step; what writers took before is cut smaller, to fit into their gaps."""
    if row_of(step.engine).runs_in_task or step.strategy.orders_rows:
        yield step
        return
    size_of = attrgetter("input_bytes")
    cut = split_evenly(step.groups, parts=MAX_PARTS, at_least=MIN_PART_BYTES, size_of=size_of)
    if round_number > 0:
        pieces = 2 ** max(0, round_number - FIRST_ROUND_OF_PIECES + 1)
        cut = [[piece] for group in step.groups for piece in pieces_of(group, pieces)]
    for groups in cut:
        yield replace(step, groups=tuple(groups))


def pieces_of(group: FileGroup, number: int) -> list[FileGroup]:
    """The group in up to this many parts, each with work of its own."""
    most = min(number, len(group.files) // 2, group.input_bytes // MIN_PIECE_BYTES)
    if most < 2:
        return [group]
    step = math.ceil(len(group.files) / most)
    chosen = [group.files[start : start + step] for start in range(0, len(group.files), step)]
    return [_piece(group, files) for files in chosen]


def _piece(group: FileGroup, files: tuple[PlannedFile, ...]) -> FileGroup:
    size = sum(file.size_bytes for file in files)
    outputs = math.ceil(group.expected_output_files * size / max(1, group.input_bytes))
    return replace(
        group,
        files=files,
        input_bytes=size,
        records=sum(file.record_count for file in files),
        expected_output_files=max(1, outputs),
    )


def _run_part(
    run: Run, number: int, part: RewriteDataFiles, base: TableFacts, *, is_near: bool
) -> StepResult:
    """`is_near` is true after a writer was faster."""
    properties = properties_of(run, number, part)
    if row_of(part.engine).runs_in_task:
        return _timed(run, lambda: run_in_tasks(_step_run(run, number, part, base, properties)))
    kept, left = without_misread(run.services, base, part, run.refused)
    if left:
        run.left_alone.extend(left)
        run.notes.append(told(left))
    if kept is None:
        return StepResult()
    part = kept
    properties = {**properties, ENGINE_PROPERTY: str(part.engine)}
    if part.strategy.orders_rows:
        if run.undo is not None:
            # Planned again by another policy: Iceberg's action commits without the tag.
            now = run.services.surveyor.outline(run.plan.table)
            keep_for_undo(run.services, now, run.job_id, run.plan.undo_window_seconds)
        return _timed(run, lambda: _order_rows(run, part, base, properties))
    if is_near:
        _look_out_for_writers(run)
    has_waited = not is_near and _wait_for_writers(run, base)
    is_fresh = number == 0 and base is run.before and not has_waited
    started = run.services.clock()

    def rewrite() -> StepResult:
        # One look more where time has passed, and a window that is shorter for writers.
        head = base if is_fresh else run.services.surveyor.survey(run.plan.table)
        return run_staged(_step_run(run, number, part, head, properties))

    result = _timed(run, rewrite)
    run.windows.append((run.services.clock() - started).total_seconds())
    return result


def _timed(run: Run, work: Callable[[], StepResult]) -> StepResult:
    """Keep what the work took, for learning how fast engines are."""
    started = run.services.clock()
    result = work()
    seconds = (run.services.clock() - started).total_seconds()
    run.uses.extend(shared_out(result.uses, seconds))
    return result


def _step_run(
    run: Run, number: int, part: RewriteDataFiles, base: TableFacts, properties: dict[str, str]
) -> StepRun:
    return StepRun(
        run.services,
        run.plan.table,
        part,
        base,
        run.job_id,
        number,
        run.held,
        properties,
        run.plan.min_row_group_bytes,
        run.undo,
        run.plan.verify,
    )


def _order_rows(
    run: Run, part: RewriteDataFiles, base: TableFacts, properties: dict[str, str]
) -> StepResult:
    """Iceberg's action plans and commits by itself: all groups at once, or one after the other."""
    table, engine = run.plan.table, run.services.engine
    try:
        engine.rewrite(table, part, properties, run.services.reporter)
    except CommitConflict as conflict:
        if len(part.groups) == 1:
            return StepResult(conflicting=part.groups, conflict=conflict.message)
    else:
        return StepResult(uses=use_of_spark(part.groups))
    results = []
    for group in part.groups:
        run.held.check()
        alone = step_for_spark(base, part, (group,))
        results.append(_order_rows(run, alone, base, properties))
    return StepResult(
        conflicting=tuple(group for result in results for group in result.conflicting),
        conflict=next((result.conflict for result in results if result.conflict), None),
        uses=tuple(use for result in results for use in result.uses),
    )


def _wait_for_writers(run: Run, facts: TableFacts) -> bool:
    """Begin between two commits of a writer with a rhythm; True where that took time."""
    others = _commits_of_others(facts)
    window = max(run.windows, default=USUAL_WINDOW_SECONDS)
    seconds = seconds_to_wait(others, run.services.clock(), window_seconds=window)
    if seconds > 0:
        run.services.sleep(seconds)
    return seconds > 0


def _look_out_for_writers(run: Run) -> None:
    """Begin right after the next commit of a writer: then the whole gap is free."""
    look = run.services.surveyor.outline
    facts = look(run.plan.table)
    others = _commits_of_others(facts)
    gap = usual_gap(others, run.services.clock())
    # The last window is that of a part like this one.
    window = run.windows[-1] if run.windows else USUAL_WINDOW_SECONDS
    if gap is None or fits_before_next(others, run.services.clock(), gap, window_seconds=window):
        return
    for _ in range(math.ceil(min(LOOKOUT_GAPS * gap, MAX_LOOKOUT_SECONDS) / LOOK_SECONDS)):
        run.services.sleep(LOOK_SECONDS)
        if look(run.plan.table).snapshot_id != facts.snapshot_id:
            return


def _commits_of_others(facts: TableFacts) -> list[datetime]:
    return [s.committed_at for s in facts.ancestry() if s.job_id is None]


def properties_of(run: Run, number: int, step: RewriteDataFiles) -> dict[str, str]:
    return {
        STEP_PROPERTY: str(number),
        JOB_ID_PROPERTY: run.job_id,
        PLAN_PROPERTY: run.plan.plan_id,
        EPOCH_PROPERTY: str(run.held.lease.epoch),
        TARGET_SIZE_PROPERTY: str(run.plan.target_file_size_bytes),
        LAYOUT_PROPERTY: step.layout,
    }
