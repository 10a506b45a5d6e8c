"""Rewrite through Spark: stage exactly the planned files, prove them, commit, yield to writers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from neve.model.errors import ExecutionError, JobRefused, ProofFailed
from neve.model.facts import DataFileFacts
from neve.model.plan import FileGroup
from neve.model.rewrite import StagedFiles, StageOrder
from neve.planning.deletes import DeleteIndex
from neve.planning.staleness import paths_of
from neve.service.step_run import StepResult, StepRun, Written, commit_untouched


def run_staged(run: StepRun) -> StepResult:
    """Rewrite all groups of the step and commit those that can be."""
    here = {file.path: file for file in run.base.data_files}
    ready = [group for group in run.step.groups if all(p in here for p in paths_of(group))]
    gone = tuple(group for group in run.step.groups if group not in ready)
    if not ready:
        return StepResult(conflicting=gone)
    orders = _orders(run, ready)
    staged, live_rows = _stage(run, orders, here)
    written = [files for files in staged if files.error is None and not files.missing]
    lost = [g for f in staged if f.missing for g in orders[f.order_id].groups]
    try:
        for files in written:
            check_rows(run, orders[files.order_id].groups, files, live_rows)
        result = _commit(run, orders, written)
    except (ProofFailed, JobRefused):
        # Nothing was committed. After an unknown commit nothing is called a leftover.
        run.remember_leftovers([path for files in written for path in files.paths])
        raise
    if errors := [files.error for files in staged if files.error is not None]:
        raise ExecutionError(errors[0])
    taken = {path for group in result.conflicting for path in paths_of(group)}
    return replace(
        result,
        conflicting=(*gone, *lost, *result.conflicting),
        live_rows={path: rows for path, rows in live_rows.items() if path not in taken},
    )


def _orders(run: StepRun, groups: Sequence[FileGroup]) -> dict[int, Written]:
    """Groups by the order that they are rewritten in.

    Files of an old spec go into partitions of the current one, and old partitions share those. So
    they are rewritten together, or each of them would leave files of its own in every new one.
    """
    current = [group for group in groups if group.spec_id == run.base.current_spec_id]
    old = tuple(group for group in groups if group.spec_id != run.base.current_spec_id)
    members = [(group,) for group in current] + ([old] if old else [])
    return {number: Written(chosen, ()) for number, chosen in enumerate(members)}


def _stage(
    run: StepRun, orders: Mapping[int, Written], here: Mapping[str, DataFileFacts]
) -> tuple[list[StagedFiles], dict[str, int]]:
    """Write the new files, and count meanwhile what readers see in files that have deletes."""
    snapshot_id = run.base.snapshot_id
    assert snapshot_id is not None
    engine, index = run.world.engine, DeleteIndex(run.base.delete_files, dict(run.base.specs))
    sources = [path for order in orders.values() for path in order.sources]
    to_count = [path for path in sources if index.applying_to(here[path]).needs_scan]
    wanted = [_order(run, number, order.groups) for number, order in orders.items()]
    if not to_count:
        return engine.stage(run.table, snapshot_id, wanted, run.world.say), {}
    with ThreadPoolExecutor(1, "neve-count") as pool:
        counting = pool.submit(engine.live_rows, run.table, snapshot_id, to_count)
        staged = engine.stage(run.table, snapshot_id, wanted, run.world.say)
        try:
            return staged, counting.result()
        except ExecutionError:
            run.remember_leftovers([path for files in staged for path in files.paths])
            raise


def _order(run: StepRun, number: int, groups: Sequence[FileGroup]) -> StageOrder:
    return StageOrder(
        number,
        tuple(path for group in groups for path in paths_of(group)),
        sum(group.input_bytes for group in groups),
        sum(group.expected_output_files for group in groups),
        run.step.target_file_size_bytes,
    )


def check_rows(
    run: StepRun, groups: Sequence[FileGroup], files: StagedFiles, live_rows: Mapping[str, int]
) -> None:
    """The proof before publication: rows out are rows in minus rows deleted."""
    wanted = {path for group in groups for path in paths_of(group)}
    index = DeleteIndex(run.base.delete_files, dict(run.base.specs))
    rows = 0
    for file in run.base.data_files:
        if file.path in wanted:
            deletes = index.applying_to(file)
            left = file.record_count - deletes.vector_records
            rows += live_rows[file.path] if deletes.needs_scan else left
    if files.rows != rows:
        raise ProofFailed(
            f"Group {groups[0].group_id} of {groups[0].partition} has {rows} live rows, "
            f"and its rewritten files {files.rows}."
        )


def _commit(
    run: StepRun, orders: Mapping[int, Written], written: Sequence[StagedFiles]
) -> StepResult:
    staged = {files.order_id: files for files in written}
    snapshot_id = run.base.snapshot_id
    assert snapshot_id is not None

    def commit(numbers: Sequence[int]) -> None:
        run.world.engine.commit_staged(
            run.table, snapshot_id, [staged[number] for number in numbers], run.properties
        )

    return commit_untouched(
        run,
        {n: replace(orders[n], outputs=files.paths) for n, files in staged.items()},
        commit,
    )
