"""Two engines over one REST catalog and one S3 server, where a table has one name in both."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.small_jvm import OPTIONS
from tests.system.stack_fixtures import Lake, RunningStack

from neve.app import App, build_app
from neve.model.facts import SnapshotFacts, TableFacts
from neve.model.outcome import Outcome
from neve.model.plan import CompactionPlan
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.model.table import TableRef
from neve.service.ports import Reporter
from neve.settings import Settings, SparkSettings, StateSettings
from neve.spark.conf import catalog_conf
from neve.spark.engine import BorrowedEngine
from neve.spark.samples import create_sales
from neve.spark.session import build_session
from neve.testing.lake import SilentReporter

#: Trino's name for the catalog, so that one statement means the same table in both engines.
CATALOG = "iceberg"
TEST_SIZED = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": OPTIONS,
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
}
#: The defaults wait for a minute on a storage that is down, which tests take down.
IMPATIENT = {
    "s3.retry.num-retries": "2",
    "s3.retry.min-wait-ms": "100",
    "s3.retry.max-wait-ms": "500",
}
SALES_IN_TRINO = """
CREATE TABLE IF NOT EXISTS {table} (
    order_id       VARCHAR        NOT NULL,
    customer_id    VARCHAR        NOT NULL,
    amount         DECIMAL(12, 2) NOT NULL,
    country        VARCHAR,
    ingestion_date DATE           NOT NULL
)
WITH (format = 'PARQUET', partitioning = ARRAY['ingestion_date'])
"""
Rows = Counter[tuple[Any, ...]]


@pytest.fixture(scope="session")
def rest_catalogs(stack: RunningStack) -> dict[str, dict[str, str]]:
    """The stack's catalog, as neve.yaml would name it."""
    if "rest" not in stack.facts:
        pytest.fail("the stack runs without rest: run make stack-up", pytrace=False)
    storage = stack.facts["s3"]
    return {
        CATALOG: {
            "type": "rest",
            "uri": stack.facts["rest"]["uri"],
            "s3.endpoint": storage["endpoint"],
            "s3.access-key-id": storage["access_key"],
            "s3.secret-access-key": storage["secret_key"],
            "s3.region": storage["region"],
            **IMPATIENT,
        }
    }


@pytest.fixture(scope="session")
def spark(
    rest_catalogs: dict[str, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """One session for the whole tier."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [key for key in os.environ if key.startswith("PYICEBERG_")]:
            patch.delenv(name)
        patch.setenv("PYICEBERG_HOME", str(tmp_path_factory.mktemp("home")))
        session = build_session(
            rest_catalogs, master="local[2]", conf=TEST_SIZED, reporter=SilentReporter()
        )
        yield session
        session.stop()


def make_app(
    spark: SparkSession, catalogs: dict[str, dict[str, str]], state: Path, reporter: Reporter
) -> App:
    """The application over the shared session, with a state database of its own."""
    settings = Settings(
        catalogs=catalogs,
        spark=SparkSettings(master="local[2]", conf=TEST_SIZED),
        state=StateSettings(url=f"sqlite:///{state}"),
    )
    built = build_app(settings, reporter)
    # The application would start a session of its own, and stop it.
    built.engine.use(BorrowedEngine(spark))
    return built


@dataclass(frozen=True)
class House:
    """A schema that Spark, Trino and Neve share, with a way to ask each of them."""

    stack: RunningStack
    lake: Lake
    spark: SparkSession
    catalogs: dict[str, dict[str, str]]
    state: Path
    catalog: str = CATALOG

    def name(self, table: str = "sales") -> str:
        return f"{self.catalog}.{self.lake.schema}.{table}"

    def ref(self, table: str = "sales") -> TableRef:
        return TableRef(self.catalog, (self.lake.schema,), table)

    def hasty(self) -> House:
        """The same house, in which Spark asks a catalog that fails once more and not for long."""
        properties = {**self.catalogs[CATALOG], "rest.client.max-retries": "1"}
        for key, value in catalog_conf("hasty", properties).items():
            self.spark.conf.set(key, value)
        return replace(self, catalogs={"hasty": properties}, catalog="hasty")

    def run(self, engine: str, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement in `spark` or `trino`."""
        if engine == "spark":
            return [tuple(row) for row in self.spark.sql(statement).collect()]
        return [tuple(row) for row in self.lake.sql(statement)]

    def create_sales(self, engine: str, table: str = "sales") -> None:
        if engine == "spark":
            create_sales(self.spark, self.ref(table))
        else:
            self.lake.sql(SALES_IN_TRINO.format(table=self.name(table)))

    def rows(self, engine: str, table: str = "sales", *, at: str = "", columns: str = "*") -> Rows:
        """The rows as a multiset, as one engine sees them."""
        return Counter(self.run(engine, f"SELECT {columns} FROM {self.name(table)} {at}"))

    def same_rows(self, table: str = "sales") -> Rows:
        """The rows, on which both engines must agree."""
        seen = self.rows("spark", table)
        assert self.rows("trino", table) == seen
        return seen

    def app(self, reporter: Reporter | None = None) -> App:
        return make_app(self.spark, self.catalogs, self.state, reporter or SilentReporter())

    def facts(self, table: str = "sales") -> TableFacts:
        return self.app().maintenance.surveyor.survey(self.ref(table))

    def head(self, table: str = "sales") -> SnapshotFacts:
        return self.facts(table).ancestry()[0]

    def paths(self, table: str = "sales") -> set[str]:
        """The data files that are live now."""
        return {file.path for file in self.facts(table).data_files}

    def plan(self, table: str = "sales") -> CompactionPlan:
        maintenance = self.app().maintenance
        return maintenance.plan(
            self.ref(table), RewriteDataFilesArguments(), policy=CompactionPolicy()
        )

    def compact(self, table: str = "sales", reporter: Reporter | None = None) -> Outcome:
        maintenance = self.app(reporter).maintenance
        return maintenance.compact(
            self.ref(table), RewriteDataFilesArguments(), policy=CompactionPolicy()
        )

    def on_disk(self, path: str) -> Path:
        """Where the storage keeps an object on this machine."""
        return Path(self.stack.facts["s3"]["data_folder"], path.removeprefix("s3://"))


@pytest.fixture
def house(
    stack: RunningStack,
    lake: Lake,
    spark: SparkSession,
    rest_catalogs: dict[str, dict[str, str]],
    tmp_path: Path,
) -> House:
    return House(stack, lake, spark, rest_catalogs, tmp_path / "state.db")
