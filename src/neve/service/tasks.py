"""Rewrite inside Spark tasks: write new files, prove them, commit once, yield to writers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from neve.model.errors import ExecutionError, JobCancelled, JobRefused, ProofFailed
from neve.model.facts import ENGINE_PROPERTY, PROOF_PROPERTY, DataFileFacts, DeleteFileFacts
from neve.model.groups import FileGroup
from neve.model.outcome import EngineUse
from neve.model.policy import Engine, Verify
from neve.model.rewrite import (
    ColumnMetrics,
    CopyInputs,
    FileDetails,
    TaskResult,
    WrittenFile,
)
from neve.planning.delete_reach import reach_in_doubt
from neve.planning.deletes import applicable_deletes
from neve.planning.engines import row_of
from neve.planning.metrics import as_wide_as_sources, merge_metrics, with_columns
from neve.planning.refusals import GroupFacts
from neve.planning.routing import task_ladder
from neve.planning.staleness import paths_of
from neve.planning.written import STRENGTH, check_result
from neve.service.move_order import Replacement
from neve.service.rebase import commit_replacements
from neve.service.step_run import StepResult, StepRun
from neve.service.task_orders import ATTEMPTS, TaskMaker, requirements


def run_in_tasks(run: StepRun) -> StepResult:
    """Rewrite all groups of the step and commit those that can be."""
    known = {file.path: file for file in run.base.data_files}
    files = [[known[path] for path in paths_of(group)] for group in run.step.groups]
    ladders = [_ladder(run, *item) for item in zip(run.step.groups, files, strict=True)]
    deletes = [_deletes(run, *item) for item in zip(run.step.groups, files, strict=True)]
    inputs = _inputs(run, files, ladders, deletes)
    asked = TaskMaker(run, inputs)
    doubts = _doubts(run.step.groups, files, deletes, inputs)
    tasks = [
        asked.task(*item)
        for item in zip(run.step.groups, files, deletes, ladders, inputs.locations, strict=True)
        if item[0].group_id not in doubts
    ]
    try:
        wanted = requirements(run, inputs)
        results = [TaskResult(group_id, refused=why) for group_id, why in doubts.items()]
        if tasks:
            engine, reporter = run.services.engine, run.services.reporter
            results += engine.run_tasks(run.table, tasks, wanted, reporter)
    except (ExecutionError, JobCancelled):
        # Nobody reported what was written, and any attempt may have been.
        run.remember_leftovers([n for task in tasks for names in task.outputs for n in names])
        raise
    groups = {group.group_id: group for group in run.step.groups}
    run.remember_leftovers([path for result in results for path in result.leftovers])
    written = {result.group_id: result for result in results if result.refused is None}
    refused = tuple((groups[r.group_id], r.refused) for r in results if r.refused is not None)
    try:
        for result in written.values():
            check_result(groups[result.group_id], result, run.verify or Verify.FULL)
        done = commit_replacements(run, _replacements(inputs, groups, written), _described)
    except (ProofFailed, JobRefused):
        # Nothing was committed. After an unknown commit nothing is called a leftover.
        run.remember_leftovers([file.path for r in written.values() for file in r.files])
        raise
    return replace(
        done,
        refused=refused,
        uses=_uses(groups, written.values()),
        fell=_fell(run.step.engine, [f for r in written.values() for f in r.files]),
        begun_again=sum(result.attempt > 0 for result in results),
    )


def _fell(planned: Engine, files: Sequence[WrittenFile]) -> tuple[int, str] | None:
    """Files that a later engine of the ladder made because those before it decode nothing."""
    fallen = [f for f in files if row_of(f.engine).decodes and not row_of(planned).decodes]
    return (len(fallen), fallen[0].notes[0]) if fallen and fallen[0].notes else None


def _ladder(run: StepRun, group: FileGroup, files: Sequence[DataFileFacts]) -> tuple[Engine, ...]:
    facts = GroupFacts(
        run.base, files, group.delete_files, run.step.strategy, run.min_row_group_bytes
    )
    return task_ladder(facts, run.step.engine)


def _deletes(
    run: StepRun, group: FileGroup, files: Sequence[DataFileFacts]
) -> tuple[DeleteFileFacts, ...]:
    if not group.delete_files:
        return ()
    return applicable_deletes(run.base.delete_files, files, run.base.specs)


def _doubts(
    groups: Sequence[FileGroup],
    files: Sequence[Sequence[DataFileFacts]],
    deletes: Sequence[Sequence[DeleteFileFacts]],
    inputs: CopyInputs,
) -> dict[int, str]:
    """Groups of which only Iceberg's reader knows the rows, each with the reason."""
    data = {file.path: file for file in inputs.files}
    told = {(each.path, each.referenced_path): each for each in inputs.deletes}
    found = {}
    for group, own, applied in zip(groups, files, deletes, strict=True):
        details = [told[delete.path, delete.referenced_path] for delete in applied]
        if why := reach_in_doubt(details, [data[file.path] for file in own], inputs.columns):
            found[group.group_id] = why
    return found


def _inputs(
    run: StepRun,
    files: Sequence[Sequence[DataFileFacts]],
    ladders: Sequence[tuple[Engine, ...]],
    deletes: Sequence[Sequence[DeleteFileFacts]],
) -> CopyInputs:
    """What the catalog knows, with the locations of all names that tasks may write."""
    epoch = run.held.lease.epoch
    asked = [
        (
            own[0].partition,
            [
                # Each step of each attempt at a job needs names of its own: a worker that wakes
                # up late must not write into what the next one committed.
                f"{index:05d}-{group.group_id}-{run.job_id}-{epoch}-{run.number}-{name}.parquet"
                for name in range(group.expected_output_files * ATTEMPTS * len(ladder))
            ],
        )
        for index, (group, own, ladder) in enumerate(
            zip(run.step.groups, files, ladders, strict=True)
        )
    ]
    assert run.base.snapshot_id is not None
    paths = [path for group in run.step.groups for path in paths_of(group)]
    keys = {(delete.path, delete.referenced_path) for own in deletes for delete in own}
    return run.services.surveyor.copy_inputs(run.table, run.base.snapshot_id, paths, asked, keys)


def _uses(groups: Mapping[int, FileGroup], results: Iterable[TaskResult]) -> tuple[EngineUse, ...]:
    """Input files by the engine that did most of a new one, input bytes by what each laid down.

    Plans know what they will read, so that speeds are learned from that.
    """
    files, sizes = Counter[Engine](), Counter[Engine]()
    for result in results:
        sources = groups[result.group_id].files
        laid = Counter[Engine]()
        for file in result.files:
            files[file.engine] += len(file.inputs)
            laid.update(file.segments)
        taken = {number for file in result.files for number in file.inputs}
        size, total = sum(sources[number].size_bytes for number in taken), max(1, laid.total())
        sizes.update({engine: size * part // total for engine, part in laid.items()})
    return tuple(EngineUse(e.value, files[e], sizes[e]) for e in Engine if sizes[e])


def _replacements(
    inputs: CopyInputs, groups: Mapping[int, FileGroup], written: Mapping[int, TaskResult]
) -> dict[int, Replacement]:
    details = {file.path: file for file in inputs.files}
    found = {}
    for number, result in written.items():
        sources = tuple(details[file.path] for file in groups[number].files)
        added = tuple(_details(file, sources, inputs) for file in result.files)
        found[number] = Replacement(groups[number], result.files, sources, added)
    return found


def _described(files: Sequence[WrittenFile]) -> dict[str, str]:
    """What the snapshot says of its new files."""
    return {ENGINE_PROPERTY: _engine(files), PROOF_PROPERTY: proof_text(files)}


def _details(file: WrittenFile, sources: Sequence[FileDetails], inputs: CopyInputs) -> FileDetails:
    own = [sources[number] for number in file.inputs]
    return replace(
        own[0],
        path=file.path,
        size_bytes=file.size_bytes,
        record_count=file.rows_out,
        split_offsets=file.split_offsets,
        # Row groups keep their order, but the file as a whole has none.
        sort_order_id=0,
        metrics=_metrics(file, own, inputs),
    )


def _metrics(file: WrittenFile, own: Sequence[FileDetails], inputs: CopyInputs) -> ColumnMetrics:
    if file.metrics is None:
        return merge_metrics(own, inputs.columns)
    measured = as_wide_as_sources(file.metrics, own, inputs.columns)
    if not file.unmeasured:
        return measured
    return with_columns(measured, merge_metrics(own, inputs.columns), file.unmeasured)


def _engine(files: Sequence[WrittenFile]) -> str:
    """Outputs by the engine that made them, for reading back what happened."""
    counts = Counter(file.engine.value for file in files)
    return ",".join(f"{name}={count}" for name, count in sorted(counts.items()))


def proof_text(files: Sequence[WrittenFile]) -> str:
    """What was proven, in one line of JSON; the weakest proof gives the level."""
    weakest = min(files, key=lambda file: STRENGTH.index(type(file.proof)))
    segments, kinds = Counter[str](), Counter[str]()
    for file in files:
        segments.update({engine.value: size for engine, size in file.segments.items()})
        kinds.update(file.bytes_by_kind)
    return json.dumps(
        {
            "level": weakest.proof.level,
            "rows": sum(file.rows_out for file in files),
            "files": len(files),
            "bytes": sum(segments.values()),
            "bytes_by_engine": dict(segments),
            **({"bytes_by_kind": dict(kinds)} if kinds else {}),
            "bytes_through_tasks": sum(file.bytes_through_task for file in files),
            "requests": sum(file.requests for file in files),
        },
        sort_keys=True,
    )
