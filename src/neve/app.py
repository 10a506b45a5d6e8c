"""The only wiring: settings become catalogs, an engine, a store and the service over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from neve.catalog.connect import Catalogs
from neve.catalog.inspect import CatalogInspector
from neve.catalog.maintenance_log import CatalogLog
from neve.catalog.metadata_commit import CatalogMetadataWriter
from neve.catalog.surveyor import CatalogSurveyor
from neve.lazy import Lazy
from neve.model.diagnosis import Diagnosis
from neve.model.events import JobEvent
from neve.model.table import TableRef
from neve.service.diagnose import Examination, diagnose
from neve.service.maintenance import Maintenance
from neve.service.policies import Policies
from neve.service.ports import JobStore, Reporter
from neve.settings import Settings, SparkSettings
from neve.store.opening import open_store
from neve.telemetry import SparkLine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from neve.spark.engine import SparkEngine


def utc_now() -> datetime:
    return datetime.now(tz=UTC)


@dataclass(frozen=True)
class App:
    """One configured Neve."""

    settings: Settings
    catalogs: Catalogs
    store: JobStore
    maintenance: Maintenance
    #: The engine; its JVM starts with the first thing that needs it.
    engine: Lazy[SparkEngine]

    @property
    def spark(self) -> SparkEngine:
        return self.engine()

    def telling(self, events: Callable[[JobEvent], None]) -> App:
        """The same, whose jobs send their events there."""
        return replace(self, maintenance=replace(self.maintenance, events=events))

    def borrow(self, session: SparkSession) -> None:
        """Use the caller's session, which is never stopped here."""
        from neve.spark.engine import BorrowedEngine

        self.engine.use(BorrowedEngine(session))

    def diagnose(
        self, table: TableRef, deep: bool, sample: int | None, metadata_folder: str | None
    ) -> Diagnosis:
        """What is wrong with a table; Spark is started only to open files."""
        examination = Examination(deep, sample, metadata_folder)
        reporter = self.maintenance.reporter
        return diagnose(CatalogInspector(self.catalogs), self.engine, table, examination, reporter)

    def start_soon(self) -> None:
        """Let the engine start while the plan is made; `stop` ends at once what nobody needs."""
        self.engine.start_soon(lambda engine: engine.start_soon())

    def stop(self) -> None:
        """End what was started."""
        self.engine.settle()
        if engine := self.engine.if_made:
            engine.stop()


def build_app(
    settings: Settings, reporter: Reporter, spark_log: Callable[[SparkLine], None] | None = None
) -> App:
    catalogs = Catalogs(settings.catalogs, settings.default_catalog)
    store = open_store(settings.state.url, settings.state.prefix)
    engine = Lazy(partial(make_engine, settings.spark, catalogs, reporter, spark_log))
    maintenance = Maintenance(
        surveyor=CatalogSurveyor(catalogs, utc_now),
        metadata=CatalogMetadataWriter(catalogs, utc_now),
        make_engine=engine,
        store=store,
        log=CatalogLog(catalogs, lambda outcomes: engine().append_log(outcomes)),
        clock=utc_now,
        reporter=reporter,
        cost_model=settings.cost.model(),
        lease_seconds=settings.state.lease_seconds,
        policies=Policies(settings.policy_book(catalogs.default)),
    )
    return App(settings, catalogs, store, maintenance, engine)


def make_engine(
    settings: SparkSettings,
    catalogs: Catalogs,
    reporter: Reporter,
    spark_log: Callable[[SparkLine], None] | None = None,
) -> SparkEngine:
    # Importing pyspark takes longer than a health check does.
    from neve.spark.engine import SparkEngine
    from neve.spark.session import build_session

    properties = {name: catalogs.properties(name) for name in catalogs.names}

    def make_session() -> SparkSession:
        reporter("Starting Spark …")
        return build_session(
            properties,
            master=settings.master,
            conf=settings.conf,
            reporter=reporter,
            commit_gate=settings.commit_gate,
            log=spark_log,
        )

    return SparkEngine(make_session)
