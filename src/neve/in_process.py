"""An engine without a JVM: tasks of a rewrite run here, and pyiceberg commits what they wrote.

For functions that have neither Spark nor a service. What only Spark can do is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Concatenate, ParamSpec, TypeVar

from neve.catalog.connect import Catalogs
from neve.catalog.replacing import replace_files
from neve.model.errors import EngineNeeded, ExecutionError, ParquetError
from neve.model.metadata_change import MadeOn, UndoTag
from neve.model.rebase import FileChange
from neve.model.rewrite import FileDetails, RewriteTask, SpliceRequirements, TaskResult
from neve.model.table import TableRef
from neve.service.ports import Engine, Reporter
from neve.spark.rewrite.task import run_task
from neve.storage.access import storage_as_pyiceberg

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def _for_spark(
    method: Callable[Concatenate[Any, Asked], Answer],
) -> Callable[Concatenate[Any, Asked], Answer]:
    def call(_: Any, /, *arguments: Asked.args, **named: Asked.kwargs) -> Answer:
        raise needs_spark()

    return call


def needs_spark() -> EngineNeeded:
    return EngineNeeded(
        "Only Spark can do this, and there is none here.",
        next_step="Set database.service_url to a Neve server, whose workers have Spark.",
    )


class InProcessEngine:
    """Rewrites files one group after the other, in this process."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs

    def job(self, job_id: str) -> AbstractContextManager[None]:
        return nullcontext()

    def cancel(self, job_id: str) -> None:
        """A task is not ended in its middle; the next boundary of the work is."""

    def warm_up(self) -> bool:
        return False

    def run_tasks(
        self,
        table: TableRef,
        tasks: Sequence[RewriteTask],
        wanted: SpliceRequirements,
        reporter: Reporter,
    ) -> list[TaskResult]:
        """Write new files for groups, each by the best engine of its ladder; commit nothing."""
        storage = storage_as_pyiceberg(self._catalogs.load(table).io.properties)
        results = []
        for number, task in enumerate(tasks, 1):
            try:
                results.append(run_task(task, wanted, storage, 0))
            except ParquetError as error:
                # As Spark has it: the job fails, and all names of its tasks may be left behind.
                what = f"Rewriting files of table {table} failed: {error.message}"
                raise ExecutionError(what, next_step=error.next_step) from error
            reporter.progress(number, len(tasks))
        return results

    def replace_files(
        self,
        table: TableRef,
        made_on: MadeOn,
        removed: Sequence[FileDetails],
        added: Sequence[FileDetails],
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        catalog = self._catalogs.writable(table.catalog)
        replace_files(table, catalog, made_on, removed, added, properties, undo)

    def change_files(
        self,
        table: TableRef,
        made_on: MadeOn,
        change: FileChange,
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        """On exactly this head; where delete files have to follow, Spark is needed."""
        if change.deletes.added or change.deletes.removed:
            raise needs_spark()
        catalog = self._catalogs.writable(table.catalog)
        files = (change.removed, change.added)
        replace_files(table, catalog, made_on, *files, properties, undo, on_this_head=True)

    fingerprint = _for_spark(Engine.fingerprint)
    misread = _for_spark(Engine.misread)
    stage = _for_spark(Engine.stage)
    commit_staged = _for_spark(Engine.commit_staged)
    rewrite = _for_spark(Engine.rewrite)
    execute = _for_spark(Engine.execute)
    move_deletes = _for_spark(Engine.move_deletes)
    live_rows = _for_spark(Engine.live_rows)
    live_positions = _for_spark(Engine.live_positions)
    delete_files = _for_spark(Engine.delete_files)
    unreachable = _for_spark(Engine.unreachable)
    sweep = _for_spark(Engine.sweep)
    look_up = _for_spark(Engine.look_up)
