"""The engine `remote_copy`: the store makes the new object out of row groups of its objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neve.model.errors import ParquetUnsupported
from neve.model.rewrite import WrittenFile
from neve.parquet.remote import plan_upload
from neve.spark.rewrite.inputs import TaskInputs
from neve.spark.rewrite.objects import write_object

#: A store copies several parts at once, and answers sooner for each.
COPY_BYTES = 256 * 1024 * 1024


def write(inputs: TaskInputs, names: Sequence[str]) -> Iterator[WrittenFile]:
    """Let the store copy what it can; what is too small for it passes through the task."""
    if not inputs.is_in_store:
        raise ParquetUnsupported("Only S3 objects are copied by their store.")
    copies = inputs.planned_copies()
    uploads = [plan_upload(planned.plan, max_part_bytes=COPY_BYTES) for planned in copies]
    for planned, upload, name in zip(copies, uploads, names, strict=False):
        yield write_object(inputs, planned, name, upload)
