"""A table in memory that can be surveyed and rewritten: the twin of catalog and engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import cast

from neve.model.errors import CommitConflict, TableNotFound
from neve.model.facts import (
    DataFileFacts,
    DeleteFileFacts,
    PartitionKey,
    SnapshotFacts,
    TableFacts,
)
from neve.model.groups import FileGroup
from neve.model.metadata_change import MadeOn, UndoTag
from neve.model.outcome import Outcome
from neve.model.policy import Verify
from neve.model.rewrite import (
    BytesCompared,
    ColumnMetrics,
    CopyInputs,
    DeleteDetails,
    FileDetails,
    FileProof,
    LeafColumn,
    RewriteTask,
    RowFingerprints,
    SpliceRequirements,
    StagedFiles,
    StageOrder,
    TaskResult,
    WrittenFile,
    proof_unread,
)
from neve.model.steps import RewriteDataFiles
from neve.model.table import TableRef
from neve.planning.constants import Constants
from neve.planning.deletes import DeleteIndex
from neve.planning.engines import row_of
from neve.planning.maintenance_log import by_log
from neve.planning.packing import split_evenly
from neve.planning.staleness import changed_files
from neve.service.ports import Reporter
from neve.testing.facts import NOW
from neve.testing.metadata import MemoryMetadata
from neve.testing.rebase import FollowingLake, fresh_files
from neve.testing.steps import EXECUTORS

Paths = tuple[str, ...]
Files = tuple[DataFileFacts, ...]


class SilentReporter:
    """Says nothing, remembers everything."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def __call__(self, message: str) -> None:
        self.messages.append(message)

    def progress(self, done: int, total: int) -> None:
        pass


class MemoryLake(FollowingLake):
    """One table, with every snapshot that it ever had.

    `compression` is output bytes per input byte; `before_stage`, `before_commit` and `after_commit`
    are called around a rewrite's work, to let other writers in or to raise; `lose_rows` breaks the
    engine, `refuse_groups` makes it refuse to copy, `fail_orders` makes it fail to rewrite,
    `attempt` is the attempt at which a task succeeds, `odd_files` are those that Spark would
    misread, each with the reason, `change_values` makes every engine write other values, and
    `loads` counts how often a catalog would have been asked for the table.
    """

    def __init__(self, facts: TableFacts, *, compression: float = 1.0) -> None:
        super().__init__()
        self.facts = facts
        self.history: dict[int, TableFacts] = {}
        if facts.snapshot_id is not None:
            self.history[facts.snapshot_id] = facts
        self.compression = compression
        self.lose_rows = 0
        self.refuse_groups: dict[int, str] = {}
        self.attempt = 0
        self.fail_orders: dict[int, str] = {}
        self.odd_files: dict[str, str] = {}
        self.change_values = False
        self.warmed_up = 0
        self.loads = 0
        self.before_stage: Callable[[], None] = lambda: None
        self.before_commit: Callable[[], None] = lambda: None
        self.after_commit: Callable[[], None] = lambda: None
        self.log: list[Outcome] = []
        self.deleted_paths: list[str] = []
        self.metadata = MemoryMetadata(self)

    def tables(self, pattern: str) -> list[TableRef]:
        return [self.facts.table]

    def survey(
        self, table: TableRef, *, where: str | None = None, snapshot_id: int | None = None
    ) -> TableFacts:
        if table != self.facts.table:
            raise TableNotFound(f"There is no table {table}.")
        # A snapshot that was seen does not change: it is asked for without another load.
        self.loads += snapshot_id is None
        return self.facts if snapshot_id is None else self.history[snapshot_id]

    def outline(self, table: TableRef) -> TableFacts:
        return self.survey(table)

    def append(self, *files: DataFileFacts, operation: str = "append", **summary: str) -> None:
        """Commit files as a writer would."""
        self._commit((*self.facts.data_files, *files), files, operation, summary)

    def job(self, job_id: str) -> AbstractContextManager[None]:
        return nullcontext()

    def cancel(self, job_id: str) -> None:
        """It has no tasks that could be ended."""

    def warm_up(self) -> bool:
        self.warmed_up += 1
        return self.warmed_up == 1

    def stage(
        self, table: TableRef, snapshot_id: int, orders: Sequence[StageOrder], reporter: Reporter
    ) -> list[StagedFiles]:
        self.before_stage()
        then = self.history[snapshot_id]
        return [self._staged(then, order) for order in orders]

    def _staged(self, then: TableFacts, order: StageOrder) -> StagedFiles:
        live = {file.path: file for file in then.data_files}
        if missing := tuple(path for path in order.paths if path not in live):
            return StagedFiles(order.order_id, missing=missing)
        if order.order_id in self.fail_orders:
            return StagedFiles(order.order_id, error=self.fail_orders[order.order_id])
        files = [live[path] for path in order.paths]
        assert then.snapshot_id is not None
        positions = self.live_positions(table=then.table, snapshot_id=then.snapshot_id, paths=live)
        live_rows = sum(positions[path][0] for path in order.paths)
        rows = live_rows - self.lose_rows
        made = self._made(files, rows, order.outputs, order.order_id)
        paths = tuple(file.path for file in made)
        handle = (order.paths, tuple(made))
        proof = None
        if order.reads_back:
            found = "changed" if self.change_values else "all"
            proof = RowFingerprints(f"{live_rows}:all", f"{rows}:{found}")
        return StagedFiles(order.order_id, paths, rows, live_rows, proof, handle=handle)

    def commit_staged(
        self,
        table: TableRef,
        made_on: MadeOn,
        staged: Sequence[StagedFiles],
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        self.before_commit()
        handles = [cast(tuple[Paths, Files], files.handle) for files in staged]
        gone = {path for paths, _ in handles for path in paths}
        if changed_files(self.history[made_on.snapshot_id], self.facts, gone):
            raise CommitConflict("A replaced file was changed.")
        fresh = tuple(file for _, made in handles for file in made)
        kept = tuple(f for f in self.facts.data_files if f.path not in gone)
        self._tag_before(undo)
        self._commit((*kept, *fresh), fresh, "replace", dict(properties))
        self.after_commit()

    def rewrite(
        self,
        table: TableRef,
        step: RewriteDataFiles,
        properties: Mapping[str, str],
        reporter: Reporter,
    ) -> None:
        added = tuple(file for group in step.groups for file in self._outputs(group))
        self.before_commit()
        removed = {file.path for group in step.groups for file in group.files}
        kept = tuple(file for file in self.facts.data_files if file.path not in removed)
        self._commit((*kept, *added), added, "replace", dict(properties))
        self.after_commit()

    def misread(
        self, table: TableRef, paths: Sequence[str], in_doubt: Mapping[str, Constants]
    ) -> dict[str, str]:
        return {path: self.odd_files[path] for path in paths if path in self.odd_files}

    def execute(
        self, table: TableRef, step: object, properties: Mapping[str, str], reporter: Reporter
    ) -> None:
        self.before_commit()
        EXECUTORS[type(step)](self, step, properties)
        self.after_commit()

    @property
    def next_snapshot_id(self) -> int:
        return max((s.snapshot_id for s in self.facts.snapshots), default=0) + 1

    def commit(self, operation: str, summary: Mapping[str, str]) -> None:
        """Make a snapshot of the facts as they are."""
        self._commit(self.facts.data_files, (), operation, dict(summary))

    def copy_inputs(
        self,
        table: TableRef,
        snapshot_id: int,
        paths: Collection[str],
        outputs: Sequence[tuple[PartitionKey, Sequence[str]]],
        deletes: Collection[tuple[str, str | None]] = (),
    ) -> CopyInputs:
        wanted = set(paths)
        return CopyInputs(
            files=tuple(
                FileDetails(f.path, f.partition[0], _texts(f), f.size_bytes, f.record_count)
                for f in self.history[snapshot_id].data_files
                if f.path in wanted
            ),
            columns=(LeafColumn(1, "long"), LeafColumn(2, "string")),
            locations=tuple(
                tuple(f"file:///lake/{name}" for name in names) for _, names in outputs
            ),
            deletes=tuple(
                DeleteDetails(
                    d.path,
                    d.kind,
                    "parquet",
                    d.size_bytes,
                    d.record_count,
                    d.data_sequence_number,
                    d.referenced_path,
                )
                for d in self.history[snapshot_id].delete_files
                if (d.path, d.referenced_path) in set(deletes)
            ),
        )

    def run_tasks(
        self,
        table: TableRef,
        tasks: Sequence[RewriteTask],
        wanted: SpliceRequirements,
        reporter: Reporter,
    ) -> list[TaskResult]:
        return [self._run_task(task, wanted.verify) for task in tasks]

    def _run_task(self, task: RewriteTask, verify: Verify) -> TaskResult:
        if task.group_id in self.refuse_groups:
            return TaskResult(task.group_id, refused=self.refuse_groups[task.group_id])
        numbers = range(len(task.inputs))
        shares = split_evenly(
            numbers,
            parts=len(task.outputs),
            at_least=1,
            size_of=lambda number: task.inputs[number].size_bytes,
        )
        names = task.names(self.attempt, task.ladder[0])
        files = (
            self._written(task, share, name, verify)
            for share, name in zip(shares, names, strict=True)
        )
        leftovers = task.names_before(self.attempt)
        return TaskResult(task.group_id, tuple(files), None, leftovers, self.attempt)

    def _written(
        self, task: RewriteTask, numbers: Sequence[int], name: str, verify: Verify
    ) -> WrittenFile:
        is_copied = not row_of(task.ladder[0]).decodes
        records = {file.path: file.record_count for file in self.facts.data_files}
        size = sum(task.inputs[number].size_bytes for number in numbers)
        paths = [task.inputs[number].path for number in numbers]
        rows = sum(records[path] for path in paths)
        assert self.facts.snapshot_id is not None
        live = self.live_rows(self.facts.table, self.facts.snapshot_id, paths)
        return WrittenFile(
            path=name,
            size_bytes=size,
            inputs=tuple(numbers),
            rows_in=rows,
            rows_deleted=rows - sum(live.values()),
            rows_out=sum(live.values()) - self.lose_rows,
            segments={task.ladder[0]: size},
            proof=self._proof(size, verify, is_copied=is_copied),
            split_offsets=tuple(range(4, 4 + len(numbers))),
            metrics=None if is_copied else ColumnMetrics(),
        )

    def _proof(self, size: int, verify: Verify, *, is_copied: bool) -> FileProof:
        if not verify.reads_values:
            return proof_unread(verify, size, size)
        if is_copied:
            return BytesCompared(size, 0 if self.change_values else size)
        return RowFingerprints("all", "changed" if self.change_values else "all")

    def replace_files(
        self,
        table: TableRef,
        made_on: MadeOn,
        removed: Sequence[FileDetails],
        added: Sequence[FileDetails],
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        self.before_commit()
        gone = {file.path for file in removed}
        current = {f.path: f for f in self.facts.data_files}
        if changed_files(self.history[made_on.snapshot_id], self.facts, gone):
            raise CommitConflict("A replaced file was changed.")
        model = current[removed[0].path]
        fresh = fresh_files(model, added)
        kept = tuple(f for f in self.facts.data_files if f.path not in gone)
        self._tag_before(undo)
        self._commit((*kept, *fresh), fresh, "replace", dict(properties))
        self.after_commit()

    def remove(self, path: str) -> None:
        """Commit that a file is gone, as a writer would who overwrites it."""
        kept = tuple(file for file in self.facts.data_files if file.path != path)
        self._commit(kept, (), "overwrite", {})

    def delete_rows(self, delete: DeleteFileFacts) -> None:
        """Commit a delete file as a writer would."""
        self.facts = replace(self.facts, delete_files=(*self.facts.delete_files, delete))
        self._commit(self.facts.data_files, (), "delete", {})

    def _outputs(self, group: FileGroup) -> list[DataFileFacts]:
        """The group's rows in as many files as expected."""
        live = {file.path: file for file in self.facts.data_files}
        files = [live[file.path] for file in group.files]
        rows = group.records - self.lose_rows
        return self._made(files, rows, group.expected_output_files, group.group_id)

    def _made(
        self, files: Sequence[DataFileFacts], rows: int, count: int, number: int
    ) -> list[DataFileFacts]:
        """Rows in this many files, shrunk as configured."""
        first, size = files[0], int(sum(f.size_bytes for f in files) * self.compression)
        return [
            replace(
                first,
                path=f"{first.path}-{self.facts.snapshot_id}-{number}-{index}",
                size_bytes=max(1, size // count),
                record_count=rows - rows // count * (count - 1) if index == 0 else rows // count,
            )
            for index in range(count)
        ]

    def _commit(
        self,
        files: tuple[DataFileFacts, ...],
        added: tuple[DataFileFacts, ...],
        operation: str,
        summary: dict[str, str],
    ) -> None:
        parent = self.facts.snapshot_id
        snapshot_id = self.next_snapshot_id
        fresh = {file.path for file in added}
        numbers = [f.data_sequence_number for f in self.facts.data_files]
        numbers += [f.data_sequence_number for f in self.facts.delete_files]
        sequence_number = max(numbers, default=0) + 1
        self.facts = replace(
            self.facts,
            snapshot_id=snapshot_id,
            data_files=tuple(
                replace(f, added_snapshot_id=snapshot_id, data_sequence_number=sequence_number)
                if f.path in fresh
                else f
                for f in files
            ),
            snapshots=(
                *self.facts.snapshots,
                SnapshotFacts(
                    snapshot_id,
                    parent,
                    NOW,
                    operation,
                    {"added-data-files": str(len(added)), **summary},
                ),
            ),
        )
        self.history[snapshot_id] = self.facts

    def live_rows(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> dict[str, int]:
        positions = self.live_positions(table, snapshot_id, paths)
        return {path: rows for path, (rows, _) in positions.items()}

    def fingerprint(self, table: TableRef, snapshot_id: int, paths: Collection[str]) -> str:
        """A lake without values tells whether its engine has changed some."""
        is_ours = self.history[snapshot_id].ancestry()[0].job_id is not None
        rows = sum(self.live_rows(table, snapshot_id, paths).values())
        return f"{rows}:{'changed' if self.change_values and is_ours else 'all'}"

    def live_positions(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> dict[str, tuple[int, int]]:
        """Each delete that applies takes as many rows as it has records; which ones is unknown."""
        then = self.history[snapshot_id]
        found = {}
        for file in then.data_files:
            deletes = [
                delete.record_count
                for delete in then.delete_files
                if DeleteIndex([delete], dict(then.specs)).applying_to(file).delete_files
            ]
            found[file.path] = (file.record_count - sum(deletes), 0)
        return {path: found[path] for path in paths}

    def delete_files(self, table: TableRef, paths: Sequence[str]) -> None:
        self.deleted_paths += paths

    def write(self, outcomes: Sequence[Outcome]) -> list[TableRef]:
        """As the maintenance log: remember rows."""
        self.log += outcomes
        return list(by_log(outcomes))

    def stop(self) -> None:
        """Nothing was started."""


def _texts(file: DataFileFacts) -> tuple[str, ...]:
    """Partition values as JSON would carry them; tests partition by text."""
    return tuple(str(value) for value in file.partition[1])
