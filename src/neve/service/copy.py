"""Rewrite by copying: splice on Spark, prove, commit once, yield to writers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from neve.model.errors import ExecutionError, JobRefused, ProofFailed
from neve.model.facts import ENGINE_PROPERTY, PROOF_PROPERTY
from neve.model.groups import FileGroup
from neve.model.rewrite import (
    CopyInputs,
    FileDetails,
    SpliceOrder,
    SpliceReport,
    SpliceRequirements,
)
from neve.planning.metrics import merge_metrics
from neve.planning.routing import BLOOM_FILTER_PREFIX, CODEC_PROPERTY
from neve.service.step_run import StepResult, StepRun, Written, commit_untouched

#: Names prepared for each output: one for every attempt that Spark may make at its task.
ATTEMPTS = 8


def run_copy(run: StepRun) -> StepResult:
    """Copy all groups of the step and commit those that can be."""
    inputs = _inputs(run)
    orders = _orders(run.step.groups, inputs)
    try:
        reports = run.services.engine.splice(
            run.table, orders, _requirements(run, inputs), run.services.reporter
        )
    except ExecutionError:
        # Nobody reported what was written, and any attempt may have been.
        run.remember_leftovers([path for order in orders for path in order.targets])
        raise
    groups = {group.group_id: group for group in run.step.groups}
    written = [report for report in reports if report.refused is None]
    refused = tuple(
        (groups[report.group_id], report.refused)
        for report in reports
        if report.refused is not None
    )
    run.remember_leftovers([path for report in reports for path in report.leftovers])
    try:
        for report in written:
            check_report(groups[report.group_id], report)
        result = _commit(run, inputs, groups, written)
    except (ProofFailed, JobRefused):
        # Nothing was committed. After an unknown commit nothing is called a leftover.
        run.remember_leftovers([report.path for report in written])
        raise
    return replace(result, refused=refused)


def _inputs(run: StepRun) -> CopyInputs:
    partitions = {file.path: file.partition for file in run.base.data_files}
    outputs = [
        (
            partitions[group.files[0].path],
            [
                # A job may copy in several steps: each needs names of its own.
                f"{index:05d}-{group.group_id}-{run.job_id}-{run.number}-{attempt}.parquet"
                for attempt in range(ATTEMPTS)
            ],
        )
        for index, group in enumerate(run.step.groups)
    ]
    assert run.base.snapshot_id is not None
    paths = [file.path for group in run.step.groups for file in group.files]
    return run.services.surveyor.copy_inputs(run.table, run.base.snapshot_id, paths, outputs)


def _orders(groups: Sequence[FileGroup], inputs: CopyInputs) -> list[SpliceOrder]:
    return [
        SpliceOrder(
            group.group_id,
            tuple((file.path, file.size_bytes) for file in group.files),
            locations,
        )
        for group, locations in zip(groups, inputs.locations, strict=True)
    ]


def _requirements(run: StepRun, inputs: CopyInputs) -> SpliceRequirements:
    properties = run.base.properties
    return SpliceRequirements(
        columns=inputs.columns,
        codec=properties.get(CODEC_PROPERTY),
        needs_bloom_filters=any(
            key.startswith(BLOOM_FILTER_PREFIX) and value.lower() == "true"
            for key, value in properties.items()
        ),
        min_row_group_bytes=run.min_row_group_bytes,
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
    run: StepRun,
    inputs: CopyInputs,
    groups: Mapping[int, FileGroup],
    written: list[SpliceReport],
) -> StepResult:
    details = {file.path: file for file in inputs.files}
    reports = {report.group_id: report for report in written}

    def commit(numbers: Sequence[int]) -> None:
        _commit_reports(run, details, inputs, groups, [reports[number] for number in numbers])

    return commit_untouched(
        run,
        {number: Written((groups[number],), (report.path,)) for number, report in reports.items()},
        commit,
    )


def _commit_reports(
    run: StepRun,
    details: Mapping[str, FileDetails],
    inputs: CopyInputs,
    groups: Mapping[int, FileGroup],
    written: list[SpliceReport],
) -> None:
    assert run.base.snapshot_id is not None
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
    run.services.engine.replace_files(
        run.table,
        run.base.snapshot_id,
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
