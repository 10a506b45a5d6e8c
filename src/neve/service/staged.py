"""Rewrite through Spark: stage exactly the planned files, prove them, commit, yield to writers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from neve.model.errors import ExecutionError, JobRefused, ProofFailed
from neve.model.facts import PROOF_PROPERTY, DataFileFacts
from neve.model.groups import FileGroup
from neve.model.policy import Verify
from neve.model.rewrite import FooterRead, RowFingerprints, RowsCounted, StagedFiles, StageOrder
from neve.planning.deletes import DeleteIndex, FileDeletes
from neve.planning.staleness import paths_of
from neve.service.step_run import (
    StepResult,
    StepRun,
    Written,
    commit_untouched,
    use_of_spark,
)


def run_staged(run: StepRun) -> StepResult:
    """Rewrite all groups of the step and commit those that can be."""
    here = {file.path for file in run.base.data_files}
    ready = [group for group in run.step.groups if all(p in here for p in paths_of(group))]
    gone = tuple(group for group in run.step.groups if group not in ready)
    if not ready:
        return StepResult(conflicting=gone)
    orders = _orders(run, ready)
    staged = _stage(run, orders)
    written = [files for files in staged if files.error is None and not files.missing]
    lost = [g for f in staged if f.missing for g in orders[f.order_id].groups]
    try:
        for files in written:
            check_rows(run, orders[files.order_id], files)
        result = _commit(run, orders, written)
    except (ProofFailed, JobRefused):
        # Nothing was committed. After an unknown commit nothing is called a leftover.
        run.remember_leftovers([path for files in written for path in files.paths])
        raise
    if errors := [files.error for files in staged if files.error is not None]:
        raise ExecutionError(errors[0])
    uses = use_of_spark([g for f in written for g in orders[f.order_id].groups])
    return replace(result, conflicting=(*gone, *lost, *result.conflicting), uses=uses)


def _orders(run: StepRun, groups: Sequence[FileGroup]) -> dict[int, Written]:
    """Groups by the order that they are rewritten in.

    Files of an old spec go into partitions of the current one, and old partitions share those. So
    they are rewritten together, or each of them would leave files of its own in every new one.
    """
    current = [group for group in groups if group.spec_id == run.base.current_spec_id]
    old = tuple(group for group in groups if group.spec_id != run.base.current_spec_id)
    members = [(group,) for group in current] + ([old] if old else [])
    return {number: Written(chosen, ()) for number, chosen in enumerate(members)}


def _stage(run: StepRun, orders: Mapping[int, Written]) -> list[StagedFiles]:
    assert run.base.snapshot_id is not None
    return run.services.engine.stage(
        run.table,
        run.base.snapshot_id,
        [_order(run, number, order) for number, order in orders.items()],
        run.services.reporter,
    )


def _order(run: StepRun, number: int, order: Written) -> StageOrder:
    return StageOrder(
        number,
        tuple(order.sources),
        sum(group.input_bytes for group in order.groups),
        sum(group.expected_output_files for group in order.groups),
        run.step.target_file_size_bytes,
        counts=any(deletes.needs_scan for _, deletes in _deletes(run, order)),
        reads_back=run.verify is Verify.FULL,
    )


def _deletes(run: StepRun, order: Written) -> list[tuple[DataFileFacts, FileDeletes]]:
    wanted = set(order.sources)
    index = DeleteIndex(run.base.delete_files, dict(run.base.specs))
    files = (file for file in run.base.data_files if file.path in wanted)
    return [(file, index.applying_to(file)) for file in files]


def check_rows(run: StepRun, order: Written, files: StagedFiles) -> None:
    """The proof before publication: rows out are rows in minus rows deleted."""
    deletes = _deletes(run, order)
    rows = sum(file.record_count - found.vector_records for file, found in deletes)
    if any(found.needs_scan for _, found in deletes):
        # Position and equality deletes take rows away that only reading can count.
        most, rows = rows, files.live_rows if files.live_rows is not None else -1
        if not 0 <= rows <= most:
            raise ProofFailed(f"Live rows were counted as {rows} of {most} in {order.sources[0]}.")
    if files.rows != rows:
        first = order.groups[0]
        raise ProofFailed(
            f"Group {first.group_id} of {first.partition} has {rows} live rows, "
            f"and its rewritten files {files.rows}."
        )
    if run.verify is Verify.FULL:
        _check_values(order.groups[0], files.proof, rows)


def _check_values(group: FileGroup, proof: RowFingerprints | None, rows: int) -> None:
    """The same of the rows' values, where it was asked for: whoever cannot tell has not proven."""
    problem = "were not read back" if proof is None else proof.problem
    if proof is not None and not proof.expected.startswith(f"{rows}:"):
        problem = f"were held against {proof.expected.partition(':')[0]} rows, and not {rows}"
    if problem:
        raise ProofFailed(
            f"The rewritten files of group {group.group_id} of {group.partition} {problem}."
        )


def _commit(
    run: StepRun, orders: Mapping[int, Written], written: Sequence[StagedFiles]
) -> StepResult:
    staged = {files.order_id: files for files in written}
    made_on = run.made_on

    def commit(numbers: Sequence[int]) -> None:
        chosen = [staged[number] for number in numbers]
        properties = {**run.properties, **_described(run.verify, chosen)}
        run.services.engine.commit_staged(run.table, made_on, chosen, properties, run.undo)

    return commit_untouched(
        run,
        {n: replace(orders[n], outputs=files.paths) for n, files in staged.items()},
        commit,
    )


def _described(verify: Verify | None, chosen: Sequence[StagedFiles]) -> dict[str, str]:
    """What the snapshot says of the proof of its new files."""
    levels = {Verify.FULL: RowFingerprints.level, Verify.OFF: RowsCounted.level}
    told = {
        "level": levels.get(verify, FooterRead.level) if verify else FooterRead.level,
        "rows": sum(files.rows for files in chosen),
        "files": sum(len(files.paths) for files in chosen),
    }
    return {PROOF_PROPERTY: json.dumps(told, sort_keys=True)}
