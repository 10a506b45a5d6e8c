"""What the service needs from the world. Engines, catalogs and stores implement these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from neve.model.expiry import FreedFile
from neve.model.facts import PartitionKey, TableFacts
from neve.model.integrity import (
    FileClaim,
    FooterReport,
    KnownColumns,
    MetadataHistory,
    MetadataProblem,
    Stored,
    TableIntegrity,
)
from neve.model.metadata_change import MadeOn, MetadataChange, UndoTag
from neve.model.notices import Notice
from neve.model.operation import Operation
from neve.model.orphans import (
    ListedFile,
    Listing,
    MetadataOwner,
    ReachableFiles,
    Sweep,
    TableLocation,
)
from neve.model.outcome import Outcome
from neve.model.rebase import DeleteEntry, FileChange, MovedDeletes, MoveOrder
from neve.model.rewrite import (
    CopyInputs,
    FileDetails,
    RewriteTask,
    SpliceRequirements,
    StagedFiles,
    StageOrder,
    TaskResult,
)
from neve.model.steps import RewriteDataFiles
from neve.model.table import TableRef
from neve.planning.constants import Constants


class Clock(Protocol):
    """Tells the time."""

    def __call__(self) -> datetime: ...


class Reporter(Protocol):
    """Tells the user what is going on."""

    def __call__(self, message: str) -> None:
        """Say what begins now."""
        ...

    def progress(self, done: int, total: int) -> None:
        """Say how much of it is done."""
        ...


class Notifier(Protocol):
    """Brings notices to people."""

    def send(self, channel: str, notice: Notice) -> None:
        """Deliver it to the channel of that name, or raise NotificationError."""
        ...


class Surveyor(Protocol):
    """Reads table metadata."""

    def tables(self, pattern: str) -> list[TableRef]: ...

    def survey(
        self, table: TableRef, *, where: str | None = None, snapshot_id: int | None = None
    ) -> TableFacts: ...

    def copy_inputs(
        self,
        table: TableRef,
        snapshot_id: int,
        paths: Collection[str],
        outputs: Sequence[tuple[PartitionKey, Sequence[str]]],
        deletes: Collection[tuple[str, str | None]] = (),
    ) -> CopyInputs:
        """What a rewrite inside tasks must know; deletes by path and the file they speak of."""
        ...

    def delete_entries(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> list[DeleteEntry]:
        """What manifests say of the delete files at those paths that the snapshot holds."""
        ...

    def reachable(self, table: TableRef) -> ReachableFiles:
        """Every file that the table's metadata reaches now, through all snapshots."""
        ...

    def location(self, table: TableRef) -> TableLocation:
        """Where the table lives now."""
        ...

    def locations(self) -> list[TableLocation]:
        """Where all tables of all catalogs live; one that cannot be loaded is an error."""
        ...

    def other_registration(
        self, table: TableRef, table_uuid: str, *, recheck: bool = False
    ) -> TableRef | None:
        """Another name, in any catalog, under which the same table is registered, if any."""
        ...

    def path_twin(self, table: TableRef) -> str | None:
        """The metadata file of a table by path that has the same folder and states of its own."""
        ...

    def metadata_owners(self, table: TableRef, paths: Collection[str]) -> list[MetadataOwner]:
        """Whose metadata those files are; one that does not tell is an error."""
        ...

    def not_of_tables(self, table: TableRef, paths: Collection[str]) -> set[str]:
        """Of the paths, databases and files that the configuration names or Neve keeps."""
        ...

    def needed(
        self,
        table: TableRef,
        paths: Collection[str],
        reached: Collection[str] = (),
        *,
        recheck: bool = False,
    ) -> Mapping[str, TableRef]:
        """Of the paths, those that must not be deleted, each with a table that needs it.

        These are files that one of the reached paths means, by whatever name, and files that any
        other table of any catalog reaches. A table that cannot be read is an error. Tables are
        asked again with `recheck`, otherwise an answer of some minutes serves.
        """
        ...

    def outline(self, table: TableRef) -> TableFacts:
        """Facts without files: snapshots, branches, tags and properties."""
        ...

    def freed_files(self, table: TableRef, snapshot_ids: Collection[int]) -> tuple[FreedFile, ...]:
        """Files that nothing reaches once the snapshots are gone."""
        ...

    def present_files(self, table: TableRef, paths: Collection[str]) -> list[str]:
        """Of the paths, those that are there."""
        ...


class MetadataWriter(Protocol):
    """Changes where main points, tags, and which snapshots are listed; no engine is needed."""

    def commit(
        self, change: MetadataChange, still_held: Callable[[], None] | None = None
    ) -> TableFacts:
        """One commit against the state that the change was judged by, without a retry.

        `still_held` is asked right before the request, and raises where a process that stood still
        has lost the table meanwhile.

        Returns the table as it is with the change, without its files.

        Raises CommitConflict where somebody came in between, and then nothing was changed.
        """
        ...


class Engine(Protocol):
    """Changes tables."""

    def job(self, job_id: str) -> AbstractContextManager[None]:
        """What this thread asks for in the block is done for the job."""
        ...

    def cancel(self, job_id: str) -> None:
        """End the tasks of the job, from any thread. What commits or reads back goes on."""
        ...

    def warm_up(self) -> bool:
        """Be ready before the table is looked at; True where that took time."""
        ...

    def stage(
        self, table: TableRef, snapshot_id: int, orders: Sequence[StageOrder], reporter: Reporter
    ) -> list[StagedFiles]:
        """Write the live rows of files into new ones. Nothing is committed."""
        ...

    def commit_staged(
        self,
        table: TableRef,
        made_on: MadeOn,
        staged: Sequence[StagedFiles],
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        """Replace files by what was staged, unless a writer touched them since the snapshot.

        As in all commits, a table of another uuid is not written to: that is a CommitConflict.
        The same commit sets the tag on the state that it is made on, unless the tag is there.
        """
        ...

    def rewrite(
        self,
        table: TableRef,
        step: RewriteDataFiles,
        properties: Mapping[str, str],
        reporter: Reporter,
    ) -> None:
        """Order rows: rewrite and commit all files of the step's partitions."""
        ...

    def misread(
        self, table: TableRef, paths: Sequence[str], in_doubt: Mapping[str, Constants]
    ) -> dict[str, str]:
        """Of the Parquet files, those that `stage` and `rewrite` would read as other values.

        Each with the reason. What cannot be opened is not among them. Files in doubt may hold
        others than these partition values, which stand for theirs.
        """
        ...

    def execute(
        self, table: TableRef, step: object, properties: Mapping[str, str], reporter: Reporter
    ) -> None: ...

    def run_tasks(
        self,
        table: TableRef,
        tasks: Sequence[RewriteTask],
        wanted: SpliceRequirements,
        reporter: Reporter,
    ) -> list[TaskResult]:
        """Write new files for groups, each by the best engine of its ladder; commit nothing."""
        ...

    def replace_files(
        self,
        table: TableRef,
        made_on: MadeOn,
        removed: Sequence[FileDetails],
        added: Sequence[FileDetails],
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        """Replace data files, with the tag, unless a writer touched them since the snapshot."""
        ...

    def move_deletes(self, table: TableRef, order: MoveOrder) -> MovedDeletes:
        """Write deletes again for the files that their rows went to. Nothing is committed.

        Raises RowsError or ParquetError where a delete file cannot be read.
        """
        ...

    def change_files(
        self,
        table: TableRef,
        made_on: MadeOn,
        change: FileChange,
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        """Commit the change, with the tag, on exactly this head.

        Raises CommitConflict where there is another one, whoever made it; then nothing changed.
        """
        ...

    def live_rows(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> dict[str, int]: ...

    def fingerprint(self, table: TableRef, snapshot_id: int, paths: Collection[str]) -> str:
        """Of the rows that a reader of the snapshot sees in these files, by the current schema."""
        ...

    def live_positions(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> dict[str, tuple[int, int]]:
        """Rows of each file that a reader sees: how many, and a checksum of their positions."""
        ...

    def delete_files(self, table: TableRef, paths: Sequence[str]) -> None:
        """Delete files through the table's own storage. What is left is found by looking."""
        ...

    def unreachable(self, table: TableRef, paths: Sequence[str]) -> list[str]:
        """Of the paths, those that the engine's own reading of the table does not reach."""
        ...

    def sweep(
        self,
        table: TableRef,
        listing: Listing,
        read_reachable: Callable[[], ReachableFiles],
        watched: Sequence[str],
        reporter: Reporter,
    ) -> Sweep:
        """List files, then read what is reachable, and compare."""
        ...

    def look_up(self, table: TableRef, paths: Sequence[str]) -> list[ListedFile]:
        """Of the paths, the files that are there now."""
        ...


class Procedures(Protocol):
    """An engine that runs operations whole, on its own: it neither shows a plan nor a proof."""

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What it can run, in the order in which it is run."""
        ...

    def find(self, patterns: Sequence[str]) -> list[TableRef]:
        """Tables of users that any of the patterns is for; its own choice without any."""
        ...

    def plan(self, table: TableRef) -> Mapping[Operation, str]:
        """What each operation would be asked to do; raises where the table cannot be read."""
        ...

    def run(self, table: TableRef, operation: Operation, job_id: str, clock: Clock) -> Outcome:
        """Run it to its end. A failure is an outcome, too; unknown, where nobody answered."""
        ...


class MaintenanceLog(Protocol):
    """Tells the readers of a lakehouse what was done, in a table beside their own."""

    def write(self, outcomes: Sequence[Outcome]) -> list[TableRef]:
        """Append a row about each outcome; returns the logs that were written to."""
        ...


class Inspector(Protocol):
    """Reads tables that may be damaged, as far as they can be read. Nothing is written."""

    def integrity(self, table: TableRef) -> TableIntegrity | MetadataProblem:
        """What the table's metadata claims, or why there is no metadata to speak of."""
        ...

    def stored(self, table: TableRef, paths: Collection[str]) -> Mapping[str, Stored]:
        """What storage says about each path."""
        ...

    def history(self, problem: MetadataProblem, folder: str | None) -> MetadataHistory:
        """The metadata files beside the current one; another folder may be named."""
        ...

    def settings(self, table: TableRef) -> Mapping[str, str]:
        """The settings of the table's catalog; they may hold secrets."""
        ...


class FileOpener(Protocol):
    """Opens data and delete files, many at a time."""

    def open_files(
        self,
        table: TableRef,
        claims: Sequence[FileClaim],
        columns: KnownColumns,
        reporter: Reporter,
    ) -> FooterReport:
        """Compare files with what manifests say."""
        ...
