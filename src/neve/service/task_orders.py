"""What tasks are told: the files of a group, the deletes that apply, the table's wishes."""

from __future__ import annotations

from collections.abc import Sequence

from neve.model.facts import DataFileFacts, DeleteFileFacts
from neve.model.groups import FileGroup
from neve.model.policy import Engine, Verify
from neve.model.rewrite import CopyInputs, RewriteTask, SpliceRequirements, TaskInput
from neve.planning.constants import IdentityValues
from neve.planning.refusals import wants_bloom_filters
from neve.service.step_run import StepRun

#: Names prepared for each output: one for every attempt that Spark may make at its task.
ATTEMPTS = 8
CODEC_PROPERTY = "write.parquet.compression-codec"


class TaskMaker:
    """Makes the tasks of a step out of what the survey and the manifests say."""

    def __init__(self, run: StepRun, inputs: CopyInputs) -> None:
        self._first_row_ids = {file.path: file.first_row_id for file in inputs.files}
        self._deletes = {(each.path, each.referenced_path): each for each in inputs.deletes}
        self._constants = IdentityValues(run.base)

    def task(
        self,
        group: FileGroup,
        files: Sequence[DataFileFacts],
        deletes: Sequence[DeleteFileFacts],
        ladder: tuple[Engine, ...],
        names: tuple[str, ...],
    ) -> RewriteTask:
        """The task of a group; each output has a name for each attempt at each engine."""
        each = ATTEMPTS * len(ladder)
        return RewriteTask(
            group.group_id,
            tuple(self._input(file) for file in files),
            tuple(self._deletes[delete.path, delete.referenced_path] for delete in deletes),
            tuple(names[start : start + each] for start in range(0, len(names), each)),
            ladder,
        )

    def _input(self, file: DataFileFacts) -> TaskInput:
        return TaskInput(
            file.path,
            file.size_bytes,
            file.record_count,
            file.data_sequence_number,
            self._first_row_ids.get(file.path),
            self._constants.of(file),
        )


def requirements(run: StepRun, inputs: CopyInputs) -> SpliceRequirements:
    """What the table asks of new files."""
    properties = run.base.properties
    return SpliceRequirements(
        columns=inputs.columns,
        codec=properties.get(CODEC_PROPERTY),
        needs_bloom_filters=wants_bloom_filters(properties),
        min_row_group_bytes=run.min_row_group_bytes,
        layout=inputs.layout,
        verify=run.verify or Verify.FULL,
    )
