"""One Spark session for the whole tier, and a namespace of its own for every test.

Spark and pyiceberg open the same embedded catalog: what one writes, the other surveys.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.quick_disk import JDBC, no_waiting_for_the_disk
from tests.small_jvm import OPTIONS

from neve.app import App, build_app
from neve.model.facts import SnapshotFacts, TableFacts
from neve.model.outcome import Outcome
from neve.model.plan import CompactionPlan
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, RewriteMode, Strategy, Verify
from neve.model.table import TableRef
from neve.settings import Settings, SparkSettings, StateSettings
from neve.spark.engine import BorrowedEngine
from neve.spark.session import build_session
from neve.spark.tables import iceberg, load_table, spark_name
from neve.testing.lake import SilentReporter

__all__ = ["no_waiting_for_the_disk"]
CATALOG = "lake"
#: Small heaps, few partitions and a compiler that starts fast: the tables have a few rows each.
TEST_SIZED = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": OPTIONS,
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
}
#: Every write task makes a file of its own, so that tables fall ill in one commit.
ONE_FILE_PER_TASK = {"write.distribution-mode": "none", "write.spark.fanout.enabled": "true"}
#: pyspark leaves the sockets over which it fetches results to the garbage collector.
THIRD_PARTY_WARNINGS = (r"ignore:unclosed <socket.*raddr=\('127\.0\.0\.1':ResourceWarning",)
_namespaces = count(1)


def pytest_configure(config: pytest.Config) -> None:
    for line in THIRD_PARTY_WARNINGS:
        config.addinivalue_line("filterwarnings", line)


@pytest.fixture(scope="session", autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test sees the developer's own configuration; the cache of jars is shared."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [key for key in os.environ if key.startswith(("NEVE_", "PYICEBERG_"))]:
            if name != "NEVE_CACHE":
                patch.delenv(name)
        patch.setenv("PYICEBERG_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def lake_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="session")
def catalogs(lake_folder: Path) -> dict[str, dict[str, str]]:
    """The embedded catalog, as neve.yaml would name it."""
    return {
        CATALOG: {
            "type": "sql",
            "uri": f"sqlite:///{lake_folder / 'catalog.db'}",
            "warehouse": (lake_folder / "warehouse").as_uri(),
            **JDBC,
        }
    }


@pytest.fixture(scope="session")
def spark(catalogs: dict[str, dict[str, str]]) -> Iterator[SparkSession]:
    session = build_session(catalogs, master="local[2]", conf=TEST_SIZED, reporter=SilentReporter())
    yield session
    session.stop()


@pytest.fixture
def app(spark: SparkSession, catalogs: dict[str, dict[str, str]], tmp_path: Path) -> App:
    """The application over the shared session, with a state database of its own."""
    settings = Settings(
        catalogs=catalogs,
        spark=SparkSettings(master="local[2]", conf=TEST_SIZED),
        state=StateSettings(url=f"sqlite:///{tmp_path / 'state.db'}"),
    )
    built = build_app(settings, SilentReporter())
    # The application would start a session of its own, and stop it.
    built.engine.use(BorrowedEngine(spark))
    return built


@dataclass(frozen=True)
class Lake:
    """A namespace, with the ways in which tests write its tables and look at them."""

    session: SparkSession
    app: App
    namespace: str
    #: Which engine is asked for, where tests are about one.
    engine: RewriteMode = RewriteMode.AUTO
    verify: Verify | None = None

    def ref(self, name: str = "events") -> TableRef:
        return TableRef(CATALOG, (self.namespace,), name)

    def sql(self, statement: str) -> DataFrame:
        return self.session.sql(statement)

    def create(
        self,
        columns: str = "id BIGINT, kind STRING",
        *,
        name: str = "events",
        by: str = "",
        version: int = 2,
        properties: Mapping[str, str] | None = None,
    ) -> TableRef:
        """An empty table."""
        table = self.ref(name)
        settings = {**ONE_FILE_PER_TASK, "format-version": str(version), **(properties or {})}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in settings.items())
        partitioned = f"PARTITIONED BY ({by})" if by else ""
        self.sql(
            f"CREATE TABLE {spark_name(table)} ({columns}) USING iceberg {partitioned} "
            f"TBLPROPERTIES ({listed})"
        )
        return table

    def fill(
        self,
        table: TableRef,
        *expressions: str,
        files: int = 3,
        rows: int = 30,
        start: int = 0,
    ) -> None:
        """One commit: rows made from `id` and from `k`, its parity; `files` files a partition."""
        frame = self.session.range(start, start + rows, 1, files)
        frame = frame.selectExpr("id", "cast(id % 2 AS int) AS k")
        frame = frame.selectExpr(*(expressions or ("id", "concat('k', k) AS kind")))
        frame.writeTo(spark_name(table)).append()

    def delete_equal(
        self, table: TableRef, column: str, *values: int, partition: str | None = None
    ) -> None:
        """Commit an equality delete, as a stream writer does; Spark itself never writes one."""
        loaded = self.java(table)
        field_id = loaded.schema().findField(column).fieldId()
        location = loaded.locationProvider().newDataLocation(f"{uuid.uuid4()}-deletes.parquet")
        field = pa.field(column, pa.int64(), metadata={"PARQUET:field_id": str(field_id)})
        path = Path(location.removeprefix("file:"))
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table([list(values)], pa.schema([field])), path)
        field_ids = self.session.sparkContext._gateway.new_array(self.session._jvm.int, 1)
        field_ids[0] = field_id
        builder = iceberg(self.session).FileMetadata.deleteFileBuilder(loaded.spec())
        builder = builder.ofEqualityDeletes(field_ids).withFormat("PARQUET").withPath(location)
        builder = builder.withFileSizeInBytes(path.stat().st_size).withRecordCount(len(values))
        if partition is not None:
            builder = builder.withPartitionPath(partition)
        loaded.newRowDelta().addDeletes(builder.build()).commit()

    def rows(self, table: TableRef, columns: str = "*", at: str = "") -> Counter[str]:
        """The rows as a multiset; `at` may travel in time."""
        found = self.sql(f"SELECT {columns} FROM {spark_name(table)} {at}").collect()
        return Counter(repr(row) for row in found)

    def lineage(self, table: TableRef) -> Counter[str]:
        """The rows with what format 3 knows of their origin."""
        return self.rows(table, "*, _row_id, _last_updated_sequence_number")

    def facts(self, table: TableRef, **options: Any) -> TableFacts:
        return self.app.maintenance.surveyor.survey(table, **options)

    def paths(self, table: TableRef) -> set[str]:
        """The data files that are live now."""
        return {file.path for file in self.facts(table).data_files}

    def head(self, table: TableRef) -> SnapshotFacts:
        """The current snapshot."""
        return self.facts(table).ancestry()[0]

    def java(self, table: TableRef) -> Any:
        """Iceberg's own table, in the driver's JVM."""
        return load_table(self.session, table)

    def plan(
        self,
        table: TableRef,
        strategy: Strategy = Strategy.AUTO,
        *,
        by: tuple[str, ...] = (),
        where: str | None = None,
        policy: CompactionPolicy | None = None,
    ) -> CompactionPlan:
        maintenance = self.app.maintenance
        arguments = RewriteDataFilesArguments(strategy, by, where, self.engine, self.verify)
        chosen = policy or maintenance.effective(table).compaction
        return maintenance.plan(table, arguments, policy=chosen)

    def compact(self, table: TableRef, strategy: Strategy = Strategy.AUTO, **how: Any) -> Outcome:
        return self.app.maintenance.apply(self.plan(table, strategy, **how))


@pytest.fixture
def lake(spark: SparkSession, app: App, lake_folder: Path) -> Iterator[Lake]:
    made = Lake(spark, app, f"n{next(_namespaces)}")
    spark.sql(f"CREATE NAMESPACE {CATALOG}.{made.namespace}")
    yield made
    # A sweep asks where all tables live, and a test may have broken its own.
    with closing(sqlite3.connect(lake_folder / "catalog.db")) as db, db:
        db.execute("DELETE FROM iceberg_tables WHERE table_namespace = ?", (made.namespace,))
