"""The engine `copy`: row groups as they are, by the kernel or through this task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neve.model.policy import Engine
from neve.model.rewrite import BytesCompared, WrittenFile, proof_unread
from neve.parquet.copy_local import splice_local
from neve.parquet.outcome import SpliceResult
from neve.parquet.remote import plan_through_client
from neve.spark.rewrite.inputs import PlannedCopy, TaskInputs
from neve.storage.access import local_path

if TYPE_CHECKING:
    from neve.storage.arrow import ArrowStore


def write(inputs: TaskInputs, names: Sequence[str]) -> Iterator[WrittenFile]:
    """Write each output, and read it back."""
    for planned, name in zip(inputs.planned_copies(), names, strict=False):
        if inputs.is_in_store:
            from neve.spark.rewrite.objects import write_object

            yield write_object(inputs, planned, name, plan_through_client(planned.plan))
        elif inputs.arrow:
            yield _write_through(inputs.arrow, inputs, planned, name)
        else:
            yield _write_local(inputs, planned, name)


def _write_local(inputs: TaskInputs, planned: PlannedCopy, name: str) -> WrittenFile:
    path = local_path(name)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    verify = inputs.wanted.verify
    result = splice_local(planned.plan, path, verify="bytes" if verify.reads_values else "size")
    return _written(inputs, planned, name, result)


def _write_through(
    store: ArrowStore, inputs: TaskInputs, planned: PlannedCopy, name: str
) -> WrittenFile:
    from neve.parquet.copy_arrow import splice_through_arrow

    read_back = inputs.wanted.verify.reads_values
    result = splice_through_arrow(planned.plan, store, name, read_back=read_back)
    return _written(inputs, planned, name, result)


def _written(
    inputs: TaskInputs, planned: PlannedCopy, name: str, result: SpliceResult
) -> WrittenFile:
    plan, verify = planned.plan, inputs.wanted.verify
    proof = proof_unread(verify, plan.rows, result.rows)
    if verify.reads_values:
        proof = BytesCompared(plan.data_bytes, result.compared_bytes)
    return WrittenFile(
        path=name,
        size_bytes=result.size_bytes,
        inputs=planned.inputs,
        rows_in=plan.rows,
        rows_deleted=0,
        rows_out=result.rows,
        segments={Engine.COPY: plan.copied_bytes},
        proof=proof,
        split_offsets=result.split_offsets,
        ranges=inputs.whole(planned.inputs),
        bytes_through_task=plan.copied_bytes,
        notes=plan.notes,
    )
