"""The Spark engine: what the service asks for, done on one session."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from neve.model.outcome import Outcome
from neve.model.plan import RewriteDataFiles
from neve.model.rewrite import FileDetails, SpliceOrder, SpliceReport, SpliceRequirements
from neve.model.table import TableRef
from neve.spark import tables
from neve.spark.errors import engine_errors
from neve.spark.log_table import write_log
from neve.spark.operations.registry import EXECUTORS
from neve.spark.operations.rewrite_data_files import rewrite_data_files
from neve.spark.progress import Reporter, report_tasks
from neve.spark.rewrite.commit import replace_files
from neve.spark.rewrite.distribute import splice_files
from neve.spark.rewrite.storage import storage_of


class SparkEngine:
    """Runs operations on a session that is made when the first one needs it."""

    def __init__(self, make_session: Callable[[], SparkSession]) -> None:
        self._make_session = make_session
        self._session: SparkSession | None = None

    @property
    def session(self) -> SparkSession:
        if self._session is None:
            self._session = self._make_session()
        return self._session

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
        properties = dict(tables.load_table(self.session, table).io().properties())
        with report_tasks(self.session, say):
            return splice_files(self.session, orders, wanted, storage_of(properties))

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
        with engine_errors(f"Counting rows of table {table}"):
            wanted = self.session.createDataFrame([(path,) for path in paths], "path string")
            rows = (
                self.session.read.option("versionAsOf", str(snapshot_id))
                .table(tables.spark_name(table))
                .select(F.col("_file").alias("path"))
                .join(F.broadcast(wanted), on="path", how="left_semi")
                .groupBy("path")
                .count()
                .collect()
            )
        counts = dict.fromkeys(paths, 0)
        counts.update({row["path"]: row["count"] for row in rows})
        return counts

    def write_log(self, outcome: Outcome) -> TableRef:
        return write_log(self.session, outcome)

    def stop(self) -> None:
        if self._session is not None:
            self._session.stop()
            self._session = None
