"""What one Spark task does: the files of one group, by the best engine that does not refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import cast

import pyarrow as pa

from neve.model.errors import ParquetCorrupt, ParquetUnsupported, RowsError
from neve.model.policy import Engine
from neve.model.rewrite import RewriteTask, SpliceRequirements, TaskResult, WrittenFile
from neve.spark.rewrite.files import is_object
from neve.spark.rewrite.inputs import TaskInputs
from neve.storage.access import Storage

#: Writes the files of a task under these names, one after the other. Refuses by raising
#: ParquetUnsupported, ParquetCorrupt or a RowsError, and leaves nothing of the file that it was
#: writing.
WriteFiles = Callable[[TaskInputs, Sequence[str]], Iterator[WrittenFile]]


def writer_of(engine: Engine) -> WriteFiles:
    """`write` in the file of the engine's name; loaded when needed, for what it imports."""
    module = import_module(f"neve.spark.rewrite.tasks.{engine.value}")
    return cast(WriteFiles, module.write)


def run_task(
    task: RewriteTask, wanted: SpliceRequirements, storage: Storage, attempt: int
) -> TaskResult:
    """Write the group's files under this attempt's own names, or tell why nobody does."""
    if not task.has_names(attempt):
        # Another attempt's name might be one that it is still writing to.
        why = f"The task was lost {attempt} times, and no names are left for another attempt."
        return TaskResult(task.group_id, (), why, task.names_before(attempt), attempt)
    try:
        # An output of a scheme that nobody here knows would become a file of this machine.
        for names in task.outputs:
            is_object(names[0])
    except ParquetUnsupported as error:
        return TaskResult(task.group_id, (), error.message, task.names_before(attempt), attempt)
    with TaskInputs(task, wanted, storage) as inputs:
        return _down_the_ladder(inputs, attempt)


def _down_the_ladder(inputs: TaskInputs, attempt: int) -> TaskResult:
    task = inputs.task
    leftovers = list(task.names_before(attempt))
    refusals: list[str] = []
    for engine in task.ladder:
        written: list[WrittenFile] = []
        try:
            for file in writer_of(engine)(inputs, task.names(attempt, engine)):
                written.append(replace(file, notes=(*refusals, *file.notes)))
        except (ParquetUnsupported, ParquetCorrupt, RowsError) as error:
            leftovers += [file.path for file in written]
            refusals.append(error.message)
        except pa.ArrowNotImplementedError as error:
            # What Arrow cannot do, Iceberg may; nobody says what was left of the file.
            leftovers += task.names(attempt, engine)
            refusals.append(f"Arrow does not do this: {error}")
        else:
            return TaskResult(task.group_id, tuple(written), None, tuple(leftovers), attempt)
    return TaskResult(task.group_id, (), refusals[-1], tuple(leftovers), attempt)
