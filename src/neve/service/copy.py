"""Rewrite by copying: splice on Spark, prove, commit once, yield to writers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from neve.model.errors import CommitConflict, ExecutionError, ProofFailed
from neve.model.facts import ENGINE_PROPERTY, PROOF_PROPERTY, TableFacts
from neve.model.plan import FileGroup, Plan, RewriteDataFiles
from neve.model.rewrite import (
    CopyInputs,
    FileDetails,
    SpliceOrder,
    SpliceReport,
    SpliceRequirements,
)
from neve.planning.deletes import DeleteIndex
from neve.planning.metrics import merge_metrics
from neve.planning.routing import BLOOM_FILTER_PREFIX, CODEC_PROPERTY
from neve.service.lease import HeldLease
from neve.service.world import World

#: Names prepared for each output: one for every attempt that Spark may make at its task.
ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class CopyRun:
    """One step that copies, with what it needs from the run around it."""

    world: World
    plan: Plan
    step: RewriteDataFiles
    before: TableFacts
    job_id: str
    held: HeldLease
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CopyResult:
    """Groups that were not committed: refused by their footers, or taken by a writer."""

    refused: tuple[tuple[FileGroup, str], ...] = ()
    conflicting: tuple[FileGroup, ...] = ()


def run_copy(run: CopyRun) -> CopyResult:
    """Copy all groups of the step and commit those that can be."""
    inputs = _inputs(run)
    orders = _orders(run.step.groups, inputs)
    try:
        reports = run.world.engine.splice(
            run.plan.table, orders, _requirements(run, inputs), run.world.say
        )
    except ExecutionError:
        # Nobody reported what was written, and any attempt may have been.
        _remember_leftovers(run, [path for order in orders for path in order.targets])
        raise
    groups = {group.group_id: group for group in run.step.groups}
    written = [report for report in reports if report.refused is None]
    refused = tuple(
        (groups[report.group_id], report.refused)
        for report in reports
        if report.refused is not None
    )
    _remember_leftovers(run, [path for report in reports for path in report.leftovers])
    try:
        for report in written:
            check_report(groups[report.group_id], report)
        conflicting = _commit(run, inputs, groups, written)
    except (ProofFailed, CommitConflict):
        # Refused, as the answer says. After an unknown commit nothing is called a leftover.
        _remember_leftovers(run, [report.path for report in written])
        raise
    return CopyResult(refused, conflicting)


def _inputs(run: CopyRun) -> CopyInputs:
    partitions = {file.path: file.partition for file in run.before.data_files}
    outputs = [
        (
            partitions[group.files[0].path],
            [
                f"{index:05d}-{group.group_id}-{run.job_id}-{attempt}.parquet"
                for attempt in range(ATTEMPTS)
            ],
        )
        for index, group in enumerate(run.step.groups)
    ]
    assert run.plan.snapshot_id is not None
    assert run.before.snapshot_id is not None
    paths = [file.path for group in run.step.groups for file in group.files]
    return run.world.surveyor.copy_inputs(run.plan.table, run.before.snapshot_id, paths, outputs)


def _orders(groups: Sequence[FileGroup], inputs: CopyInputs) -> list[SpliceOrder]:
    return [
        SpliceOrder(
            group.group_id,
            tuple((file.path, file.size_bytes) for file in group.files),
            locations,
        )
        for group, locations in zip(groups, inputs.locations, strict=True)
    ]


def _requirements(run: CopyRun, inputs: CopyInputs) -> SpliceRequirements:
    properties = run.before.properties
    return SpliceRequirements(
        columns=inputs.columns,
        codec=properties.get(CODEC_PROPERTY),
        needs_bloom_filters=any(
            key.startswith(BLOOM_FILTER_PREFIX) and value.lower() == "true"
            for key, value in properties.items()
        ),
        min_row_group_bytes=run.plan.min_row_group_bytes,
    )


def check_report(group: FileGroup, report: SpliceReport) -> None:
    """The proof before publication: as many rows as went in, and bytes that were read back."""
    if report.rows != group.records:
        raise ProofFailed(
            f"Group {group.group_id} of {group.partition} holds {group.records} rows, "
            f"and its copy {report.rows}."
        )
    if report.checksum is None and report.compared_bytes != report.copied_bytes:
        raise ProofFailed(
            f"{report.path} holds {report.copied_bytes} copied bytes, and "
            f"{report.compared_bytes} of them were compared with their sources."
        )
    if list(report.split_offsets) != sorted(set(report.split_offsets)):
        raise ProofFailed(f"{report.path} has row groups out of order.")
    if report.size_bytes < report.copied_bytes:
        raise ProofFailed(f"{report.path} is smaller than what was copied into it.")


def _commit(
    run: CopyRun,
    inputs: CopyInputs,
    groups: Mapping[int, FileGroup],
    written: list[SpliceReport],
) -> tuple[FileGroup, ...]:
    """Commit everything; where a writer won, commit what it left untouched."""
    if not written:
        return ()
    details = {file.path: file for file in inputs.files}
    try:
        _commit_reports(run, details, inputs, groups, written)
    except CommitConflict:
        guilty = _guilty(run, groups, written)
        _remember_leftovers(run, [r.path for r in written if r.group_id in guilty])
        innocent = [report for report in written if report.group_id not in guilty]
        if len(innocent) == len(written):
            # Nothing explains the conflict, so trying the same again would not help.
            raise
        if innocent:
            _commit_reports(run, details, inputs, groups, innocent)
        return tuple(groups[group_id] for group_id in sorted(guilty))
    return ()


def _commit_reports(
    run: CopyRun,
    details: Mapping[str, FileDetails],
    inputs: CopyInputs,
    groups: Mapping[int, FileGroup],
    written: list[SpliceReport],
) -> None:
    assert run.before.snapshot_id is not None
    removed: list[FileDetails] = []
    added: list[FileDetails] = []
    for report in written:
        sources = [details[file.path] for file in groups[report.group_id].files]
        removed += sources
        added.append(
            replace(
                sources[0],
                path=report.path,
                size_bytes=report.size_bytes,
                record_count=report.rows,
                split_offsets=report.split_offsets,
                sort_order_id=0,
                metrics=merge_metrics(sources, inputs.columns),
            )
        )
    # The last thing before the commit: a job that lost the table must not write to it.
    run.held.check()
    run.world.engine.replace_files(
        run.plan.table,
        run.before.snapshot_id,
        removed,
        added,
        {
            **run.properties,
            ENGINE_PROPERTY: _engine(written),
            PROOF_PROPERTY: proof_text(written),
        },
    )


def _engine(written: list[SpliceReport]) -> str:
    """Outputs by the engine that made them, for reading back what happened."""
    names = sorted({report.engine for report in written})
    return ",".join(f"{name}={sum(r.engine == name for r in written)}" for name in names)


def proof_text(written: list[SpliceReport]) -> str:
    return json.dumps(
        {
            # A store's own copy is proven by its word: part digests, size, footer, samples.
            "level": "store" if any(r.engine == "remote_copy" for r in written) else "bytes",
            "rows": sum(report.rows for report in written),
            "files": len(written),
            "bytes": sum(report.copied_bytes for report in written),
            "bytes_through_tasks": sum(report.bytes_through_task for report in written),
            "requests": sum(report.requests for report in written),
        },
        sort_keys=True,
    )


def _guilty(run: CopyRun, groups: Mapping[int, FileGroup], written: list[SpliceReport]) -> set[int]:
    """Groups of which a writer removed a file, or put a delete on one, since the plan."""
    now = run.world.surveyor.survey(run.plan.table)
    index = DeleteIndex(now.delete_files, dict(now.specs))
    untouched = {file.path for file in now.data_files if not index.applying_to(file).delete_files}
    return {
        report.group_id
        for report in written
        if any(file.path not in untouched for file in groups[report.group_id].files)
    }


def _remember_leftovers(run: CopyRun, paths: list[str]) -> None:
    """Files that will not be committed; deleting them is for the sweeper, not for this run."""
    if paths:
        run.world.store.add_leftovers(run.job_id, run.plan.table, paths)
