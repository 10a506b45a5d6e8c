"""The Spark engine: what the service asks for, done on one session."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import cast

from pyspark.sql import Column, Row, SparkSession
from pyspark.sql import functions as F

from neve.model.errors import ExecutionError
from neve.model.integrity import FileClaim, FooterReport, KnownColumns
from neve.model.orphans import ListedFile, Listing, ReachableFiles, Sweep
from neve.model.outcome import Outcome
from neve.model.plan import RewriteDataFiles
from neve.model.rewrite import (
    FileDetails,
    SpliceOrder,
    SpliceReport,
    SpliceRequirements,
    StagedFiles,
    StageOrder,
)
from neve.model.table import TableRef
from neve.spark import tables
from neve.spark.errors import engine_errors
from neve.spark.files import delete_files
from neve.spark.footers import open_files
from neve.spark.listing.distribute import look_up
from neve.spark.log_table import write_log
from neve.spark.opened_file import S3_SCHEMES
from neve.spark.operations.registry import EXECUTORS
from neve.spark.operations.remove_orphan_files import sweep
from neve.spark.operations.rewrite_data_files import rewrite_data_files
from neve.spark.progress import Reporter, report_tasks
from neve.spark.reachable import unreachable
from neve.spark.rewrite.commit import commit_staged, replace_files
from neve.spark.rewrite.distribute import splice_files
from neve.spark.rewrite.stage import Staged, stage_files
from neve.spark.rewrite.storage import Storage, storage_of


class SparkEngine:
    """Runs operations on a session that is made when the first one needs it."""

    def __init__(self, make_session: Callable[[], SparkSession]) -> None:
        self._make_session = make_session
        self._session: SparkSession | None = None
        self._making = threading.Lock()
        self._known = threading.local()

    @property
    def session(self) -> SparkSession:
        with self._making:
            if self._session is None:
                self._session = self._make_session()
        if not hasattr(self._known, "thread"):
            # Iceberg's actions ask for the session of their thread, and a new thread has none.
            tables.activate(self._session)
            self._known.thread = True
        return self._session

    def warm_up(self) -> bool:
        cold = self._session is None
        return self.session is not None and cold

    def stage(
        self, table: TableRef, snapshot_id: int, orders: Sequence[StageOrder], say: Reporter
    ) -> list[StagedFiles]:
        with report_tasks(self.session, say):
            return stage_files(self.session, table, snapshot_id, orders)

    def commit_staged(
        self,
        table: TableRef,
        snapshot_id: int,
        staged: Sequence[StagedFiles],
        properties: Mapping[str, str],
    ) -> None:
        handles = [cast(Staged, files.handle) for files in staged]
        commit_staged(self.session, table, snapshot_id, handles, properties)

    def rewrite(
        self,
        table: TableRef,
        step: RewriteDataFiles,
        properties: Mapping[str, str],
        say: Reporter,
    ) -> None:
        with report_tasks(self.session, say):
            rewrite_data_files(self.session, table, step, properties)

    def execute(
        self, table: TableRef, step: object, properties: Mapping[str, str], say: Reporter
    ) -> None:
        """Run one step. What came of it is read from the table, not returned."""
        with report_tasks(self.session, say):
            EXECUTORS[type(step)](self.session, table, step, properties)

    def splice(
        self,
        table: TableRef,
        orders: Sequence[SpliceOrder],
        wanted: SpliceRequirements,
        say: Reporter,
    ) -> list[SpliceReport]:
        """Write new files out of old row groups. Nothing is committed."""
        storage = self._storage(table)
        with report_tasks(self.session, say):
            return splice_files(self.session, orders, wanted, storage)

    def replace_files(
        self,
        table: TableRef,
        snapshot_id: int,
        removed: Sequence[FileDetails],
        added: Sequence[FileDetails],
        properties: Mapping[str, str],
    ) -> None:
        replace_files(self.session, table, snapshot_id, removed, added, properties)

    def create_tag(self, table: TableRef, snapshot_id: int, name: str, max_age_ms: int) -> None:
        tables.create_tag(self.session, table, snapshot_id, name, max_age_ms)

    def remove_tag(self, table: TableRef, name: str) -> None:
        tables.remove_tag(self.session, table, name)

    def roll_back(self, table: TableRef, snapshot_id: int) -> None:
        tables.roll_back(self.session, table, snapshot_id)

    def live_rows(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> dict[str, int]:
        """Rows of each file that a reader of the snapshot sees, deletes applied."""
        counts = dict.fromkeys(paths, 0)
        for row in self._of_live_rows(table, snapshot_id, paths):
            counts[row["path"]] = row["rows"]
        return counts

    def live_positions(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> dict[str, tuple[int, int]]:
        """The same with a checksum of the rows' positions: it tells which rows they are."""
        found = dict.fromkeys(paths, (0, 0))
        checksum = F.bit_xor(F.xxhash64("position")).alias("checksum")
        for row in self._of_live_rows(table, snapshot_id, paths, checksum):
            found[row["path"]] = (row["rows"], row["checksum"])
        return found

    def _of_live_rows(
        self, table: TableRef, snapshot_id: int, paths: Collection[str], *more: Column
    ) -> list[Row]:
        with engine_errors(f"Counting rows of table {table}"):
            wanted = self.session.createDataFrame([(path,) for path in paths], "path string")
            return (
                self.session.read.option("versionAsOf", str(snapshot_id))
                .table(tables.spark_name(table))
                .select(F.col("_file").alias("path"), F.col("_pos").alias("position"))
                .join(F.broadcast(wanted), on="path", how="left_semi")
                .groupBy("path")
                .agg(F.count("*").alias("rows"), *more)
                .collect()
            )

    def delete_files(self, table: TableRef, paths: Sequence[str]) -> None:
        delete_files(self.session, table, paths)

    def write_log(self, outcomes: Sequence[Outcome]) -> list[TableRef]:
        return write_log(self.session, outcomes)

    def unreachable(self, table: TableRef, paths: Sequence[str]) -> list[str]:
        return unreachable(self.session, table, paths)

    def sweep(
        self,
        table: TableRef,
        listing: Listing,
        read_reachable: Callable[[], ReachableFiles],
        watched: Sequence[str],
        say: Reporter,
    ) -> Sweep:
        storage = self._storage(table)
        with report_tasks(self.session, say):
            try:
                return sweep(self.session, listing, storage, read_reachable, watched)
            except OSError as error:
                # A small table is listed right here, and not by a task whose errors Spark tells.
                raise ExecutionError(
                    f"Listing files of table {table} failed: {error}.",
                    next_step="Check that this machine may read the table's folders.",
                ) from error

    def look_up(self, table: TableRef, paths: Sequence[str]) -> list[ListedFile]:
        with engine_errors(f"Looking up files of table {table}"):
            return look_up(self.session, paths, self._storage(table))

    def open_files(
        self,
        table: TableRef,
        claims: Sequence[FileClaim],
        columns: KnownColumns,
        say: Reporter,
    ) -> FooterReport:
        """Compare files with what manifests say."""
        # Iceberg need not load a damaged table whose files lie on this machine.
        is_remote = any(claim.path.partition(":")[0] in S3_SCHEMES for claim in claims)
        storage = self._storage(table) if is_remote else Storage()
        with report_tasks(self.session, say):
            return open_files(self.session, claims, columns, storage)

    def _storage(self, table: TableRef) -> Storage:
        """How tasks reach the table's files."""
        return storage_of(tables.io_properties(self.session, table))

    def stop(self) -> None:
        if self._session is not None:
            self._session.stop()
            self._session = None
