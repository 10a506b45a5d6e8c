"""The Spark engine: what the service asks for, done on one session."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from py4j.protocol import Py4JError
from pyspark.sql import Row, SparkSession

from neve.model.errors import EngineDied, ExecutionError, JobCancelled, NeveError
from neve.model.integrity import FileClaim, FooterReport, KnownColumns
from neve.model.job import SPARK
from neve.model.metadata_change import MadeOn, UndoTag
from neve.model.orphans import ListedFile, Listing, ReachableFiles, Sweep
from neve.model.outcome import Outcome
from neve.model.rebase import FileChange, MovedDeletes, MoveOrder
from neve.model.rewrite import (
    FileDetails,
    RewriteTask,
    SpliceRequirements,
    StagedFiles,
    StageOrder,
    TaskResult,
)
from neve.model.steps import RewriteDataFiles
from neve.model.table import TableRef
from neve.model.workers import EngineReport, EngineState
from neve.planning.constants import Constants
from neve.spark import tables
from neve.spark.errors import engine_died, engine_errors
from neve.spark.executors import AUTO, make_ready
from neve.spark.files import delete_files
from neve.spark.footers import open_files
from neve.spark.gate.session import close_gate
from neve.spark.job_group import cancel_group, current_job, spark_work, working_for
from neve.spark.jvm import abandon, is_dead
from neve.spark.launch import given_up
from neve.spark.list_files import look_up
from neve.spark.live_rows import of_live_rows
from neve.spark.log_table import append_log
from neve.spark.opened_file import S3_SCHEMES
from neve.spark.operations.registry import EXECUTORS
from neve.spark.operations.remove_orphan_files import listing_errors, sweep, sweep_here
from neve.spark.operations.rewrite_data_files import rewrite_data_files
from neve.spark.progress import Reporter, report_bytes, report_tasks
from neve.spark.reachable import unreachable
from neve.spark.rewrite.change import change_files
from neve.spark.rewrite.commit import commit_staged, replace_files
from neve.spark.rewrite.distribute import run_tasks
from neve.spark.rewrite.misread import find_misread
from neve.spark.rewrite.stage import Staged, fingerprint_files, stage_files
from neve.spark.small_files import TableFiles
from neve.spark.started import StartedSession
from neve.storage.access import Storage, storage_of

#: Errors that tell of a call without an answer, as far as their kind goes.
NO_ANSWER = (ExecutionError, EngineDied)


class SparkEngine(StartedSession):
    """Runs operations on a session that is made when the first one needs it.

    A session whose JVM has died is left behind: whoever was using it is told so, and whoever comes
    next gets a new one.
    """

    def __init__(
        self,
        make_session: Callable[[], SparkSession],
        storage: Callable[[TableRef], Storage] | None = None,
        package: str = AUTO,
    ) -> None:
        """With `storage`, which tells how a table's files are reached, some are listed without
        a session."""
        super().__init__(make_session)
        self._storage_of = storage
        self._package = package
        #: The session whose executors are known to run Neve's tasks.
        self._ready: SparkSession | None = None
        self._cancelled: set[str | None] = set()

    @contextmanager
    def job(self, job_id: str) -> Iterator[None]:
        """What this thread asks for in the block is the job's: counted and cancelled with it."""
        with working_for(job_id):
            try:
                yield
            finally:
                self._cancelled.discard(job_id)

    def cancel(self, job_id: str) -> None:
        """End the tasks of the job, from any thread. What commits or reads back goes on."""
        self._cancelled.add(job_id)
        with self._making:
            session = self._session
        if session is not None:
            with engine_errors(f"Cancelling job {job_id}"):
                cancel_group(session, job_id)

    @contextmanager
    def _working(self, what: str, *, to_the_end: bool = False) -> Iterator[SparkSession]:
        """The session, for one call; tells an error of the work from the end of the JVM.

        What is done `to_the_end` is not cancelled with the job.
        """
        if not to_the_end and current_job() in self._cancelled:
            raise JobCancelled(f"{what} was cancelled.")
        with engine_errors(what):
            session = self.session
        with (
            self._told_if_cancelled(what),
            _Watch(what, lambda: self._is_lost(session)),
            spark_work(session, what, is_cancelled_with_job=not to_the_end),
        ):
            yield session

    @contextmanager
    def _told_if_cancelled(self, what: str) -> Iterator[None]:
        try:
            yield
        except ExecutionError as error:
            # A conflict or an unknown commit is an answer of the table's, and stays one.
            if type(error) is ExecutionError and current_job() in self._cancelled:
                raise JobCancelled(f"{what} was cancelled.") from error
            raise

    @contextmanager
    def _in_tasks(self, what: str) -> Iterator[SparkSession]:
        """The same for what runs inside of tasks, on executors that are ready for it."""
        with self._working(what) as session:
            if self._ready is not session:
                make_ready(session, self._package)
                self._ready = session
            yield session

    def warm_up(self) -> bool:
        cold = self._session is None
        with self._working("Starting Spark"):
            return cold

    def stage(
        self, table: TableRef, snapshot_id: int, orders: Sequence[StageOrder], reporter: Reporter
    ) -> list[StagedFiles]:
        with self._working(f"Rewriting table {table}") as session, report_tasks(session, reporter):
            return stage_files(session, table, snapshot_id, orders)

    def commit_staged(
        self,
        table: TableRef,
        made_on: MadeOn,
        staged: Sequence[StagedFiles],
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        handles = [cast(Staged, files.handle) for files in staged]
        with self._working(f"Committing to table {table}", to_the_end=True) as session:
            commit_staged(session, table, made_on, handles, properties, undo)

    def rewrite(
        self,
        table: TableRef,
        step: RewriteDataFiles,
        properties: Mapping[str, str],
        reporter: Reporter,
    ) -> None:
        with self._working(f"Compacting table {table}") as session, report_tasks(session, reporter):
            rewrite_data_files(session, table, step, properties)

    def misread(
        self, table: TableRef, paths: Sequence[str], in_doubt: Mapping[str, Constants]
    ) -> dict[str, str]:
        """Of the Parquet files, those whose values Iceberg's reader would take for others."""
        with self._in_tasks(f"Opening files of table {table}") as session:
            return find_misread(session, table, paths, in_doubt, _storage(session, table))

    def execute(
        self, table: TableRef, step: object, properties: Mapping[str, str], reporter: Reporter
    ) -> None:
        """Run one step. What came of it is read from the table, not returned."""
        what = f"Maintenance of table {table}"
        with self._working(what) as session, report_tasks(session, reporter):
            EXECUTORS[type(step)](session, table, step, properties)

    def run_tasks(
        self,
        table: TableRef,
        tasks: Sequence[RewriteTask],
        wanted: SpliceRequirements,
        reporter: Reporter,
    ) -> list[TaskResult]:
        """Write new files inside tasks. Nothing is committed."""
        with self._in_tasks(f"Rewriting files of table {table}") as session:
            storage = _storage(session, table)
            written = session.sparkContext.accumulator(0)
            total = sum(item.size_bytes for task in tasks for item in task.inputs)
            with (
                report_tasks(session, reporter),
                report_bytes(lambda: written.value, total, reporter),
            ):
                return run_tasks(session, tasks, wanted, storage, written)

    def replace_files(
        self,
        table: TableRef,
        made_on: MadeOn,
        removed: Sequence[FileDetails],
        added: Sequence[FileDetails],
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        with self._working(f"Committing to table {table}", to_the_end=True) as session:
            replace_files(session, table, made_on, removed, added, properties, undo)

    def move_deletes(self, table: TableRef, order: MoveOrder) -> MovedDeletes:
        # Whoever never meets a writer does without the code that reads delete files.
        from neve.rows.moved_files import move_deletes

        with self._working(f"Moving deletes of table {table}", to_the_end=True) as session:
            return move_deletes(order, TableFiles(session, table))

    def change_files(
        self,
        table: TableRef,
        made_on: MadeOn,
        change: FileChange,
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        with self._working(f"Committing to table {table}", to_the_end=True) as session:
            change_files(session, table, made_on, change, properties, undo)

    def live_rows(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> dict[str, int]:
        """Rows of each file that a reader of the snapshot sees, deletes applied."""
        counts = dict.fromkeys(paths, 0)
        for row in self._of_live_rows(table, snapshot_id, paths):
            counts[row["path"]] = row["rows"]
        return counts

    def fingerprint(self, table: TableRef, snapshot_id: int, paths: Collection[str]) -> str:
        """Of the rows that a reader of the snapshot sees in these files, by the current schema."""
        with self._working(f"Reading rows of table {table}", to_the_end=True) as session:
            return fingerprint_files(session, table, snapshot_id, paths)

    def live_positions(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> dict[str, tuple[int, int]]:
        """The same with a checksum of the rows' positions: it tells which rows they are."""
        found = dict.fromkeys(paths, (0, 0))
        for row in self._of_live_rows(table, snapshot_id, paths, with_checksum=True):
            found[row["path"]] = (row["rows"], row["checksum"])
        return found

    def _of_live_rows(
        self,
        table: TableRef,
        snapshot_id: int,
        paths: Collection[str],
        *,
        with_checksum: bool = False,
    ) -> list[Row]:
        what = f"Counting rows of table {table}"
        with self._working(what, to_the_end=True) as session, engine_errors(what):
            return of_live_rows(session, table, snapshot_id, paths, with_checksum=with_checksum)

    def delete_files(self, table: TableRef, paths: Sequence[str]) -> None:
        with self._working(f"Deleting files of table {table}", to_the_end=True) as session:
            delete_files(session, table, paths)

    def append_log(self, outcomes: Sequence[Outcome]) -> list[TableRef]:
        """For a maintenance log of a format that is not written without an engine."""
        with self._working("Writing the maintenance log", to_the_end=True) as session:
            return append_log(session, outcomes)

    def unreachable(self, table: TableRef, paths: Sequence[str]) -> list[str]:
        with self._working(f"Reading what table {table} reaches", to_the_end=True) as session:
            return unreachable(session, table, paths)

    def sweep(
        self,
        table: TableRef,
        listing: Listing,
        read_reachable: Callable[[], ReachableFiles],
        watched: Sequence[str],
        reporter: Reporter,
    ) -> Sweep:
        what = f"Listing files of table {table}"
        if self._session is None and self._storage_of is not None:
            # Most tables have few files and no orphan among them: no JVM is started for these.
            with listing_errors(what):
                found = sweep_here(listing, self._storage_of(table), read_reachable, watched)
            if found is not None:
                return found
        with self._in_tasks(what) as session:
            storage = _storage(session, table)
            with report_tasks(session, reporter), listing_errors(what):
                return sweep(session, listing, storage, read_reachable, watched)

    def look_up(self, table: TableRef, paths: Sequence[str]) -> list[ListedFile]:
        what = f"Looking up files of table {table}"
        with self._in_tasks(what) as session, engine_errors(what):
            return look_up(session, paths, _storage(session, table))

    def open_files(
        self,
        table: TableRef,
        claims: Sequence[FileClaim],
        columns: KnownColumns,
        reporter: Reporter,
    ) -> FooterReport:
        """Compare files with what manifests say."""
        # Iceberg need not load a damaged table whose files lie on this machine.
        is_remote = any(claim.path.partition(":")[0] in S3_SCHEMES for claim in claims)
        with self._in_tasks(f"Opening files of table {table}") as session:
            storage = _storage(session, table) if is_remote else Storage()
            with report_tasks(session, reporter):
                return open_files(session, claims, columns, storage)

    def stop(self) -> None:
        self._end_early_start()
        with self._making:
            session, self._session = self._session, None
        if session is None:
            return
        try:
            _end(session)
        finally:
            close_gate()

    def _end_early_start(self) -> None:
        early, self._early = self._early, None
        if early is not None and early.is_alive():
            # Nobody needs what is being started, so that nobody waits for it.
            with given_up():
                early.join()
        self._kept = None


class BorrowedEngine(SparkEngine):
    """Runs on a session of the caller's, which is never stopped here."""

    def __init__(self, session: SparkSession, package: str = AUTO) -> None:
        super().__init__(lambda: session, package=package)

    def start_soon(self) -> None:
        pass

    def abandon(self) -> None:
        pass

    def report(self) -> EngineReport:
        is_there = self._is_there(self._make_session())
        return EngineReport(SPARK, EngineState.READY if is_there else EngineState.FAILED)

    def stop(self) -> None:
        pass


class _Watch:
    """Turns whatever is raised on a session that is lost into one error that says so."""

    def __init__(self, what: str, is_lost: Callable[[], bool]) -> None:
        self._what = what
        self._is_lost = is_lost

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if not isinstance(error, Exception):
            return
        # An answer that Iceberg gave counts, whatever became of Spark since.
        is_answer = isinstance(error, NeveError) and type(error) not in NO_ANSWER
        if self._is_lost() and not is_answer:
            raise engine_died(self._what) from error


def _storage(session: SparkSession, table: TableRef) -> Storage:
    """How tasks reach the table's files."""
    return storage_of(tables.io_properties(session, table))


def _end(session: SparkSession) -> None:
    if not is_dead(session):
        try:
            session.stop()
        except (Py4JError, OSError):
            # It ended first: there is nothing to stop.
            pass
        else:
            return
    abandon(session)
