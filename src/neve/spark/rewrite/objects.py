"""One new object out of others, and what the task says about it; both engines that copy use it."""

from __future__ import annotations

from neve.model.policy import Engine
from neve.model.rewrite import BytesCompared, FileProof, StoreDigests, WrittenFile
from neve.parquet.copy_s3 import splice_in_s3
from neve.parquet.remote import UploadPlan
from neve.spark.rewrite.inputs import PlannedCopy, TaskInputs


def write_object(
    inputs: TaskInputs, planned: PlannedCopy, name: str, upload: UploadPlan
) -> WrittenFile:
    """Carry the upload out. Requests that opened the inputs count for the first object."""
    plan, store = planned.plan, inputs.store
    readers = inputs.objects(planned.inputs)
    done = splice_in_s3(plan, upload, store, name, readers, options=inputs.storage.upload_options)
    read_bytes = done.upload.read_bytes
    segments = {Engine.REMOTE_COPY: plan.copied_bytes - read_bytes, Engine.COPY: read_bytes}
    proof: FileProof = StoreDigests(done.result.checksum)
    if done.was_read_back:
        proof = BytesCompared(plan.data_bytes, done.result.compared_bytes)
    return WrittenFile(
        path=name,
        size_bytes=done.result.size_bytes,
        inputs=planned.inputs,
        rows_in=plan.rows,
        rows_deleted=0,
        rows_out=done.result.rows,
        segments={e: size for e, size in segments.items() if size} or {Engine.COPY: 0},
        proof=proof,
        split_offsets=done.result.split_offsets,
        ranges=inputs.whole(planned.inputs),
        bytes_through_task=read_bytes + (2 * plan.copied_bytes if done.was_read_back else 0),
        requests=inputs.requests_since(),
        notes=plan.notes + done.notes,
    )
