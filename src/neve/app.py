"""The only wiring: settings become catalogs, an engine, a store and the service over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from neve.catalog.connect import Catalogs
from neve.catalog.inspect import CatalogInspector
from neve.catalog.maintenance_log import CatalogLog
from neve.catalog.metadata_commit import CatalogMetadataWriter
from neve.catalog.surveyor import CatalogSurveyor
from neve.lazy import Lazy
from neve.model.diagnosis import Diagnosis
from neve.model.errors import ConfigError, EngineNeeded, EnvironmentProblem
from neve.model.events import JobEvent
from neve.model.job import SPARK, TRINO, JobRequest
from neve.model.notices import DigestTime
from neve.model.table import TableRef, parse_table_ref
from neve.model.workers import EngineReport, EngineState
from neve.named_files import named_files
from neve.notify.channels import Channels
from neve.service.auditing import AuditTrail
from neve.service.diagnose import Examination, diagnose
from neve.service.maintenance import Maintenance
from neve.service.policies import Policies
from neve.service.ports import Engine, Reporter
from neve.service.quotas import held_room
from neve.service.services import Services
from neve.service.store_ports import JobStore
from neve.settings import Settings, SparkSettings, TrinoSettings
from neve.storage.access import Storage, storage_as_pyiceberg
from neve.store.opening import open_store
from neve.telemetry import SparkLine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from neve.database.health_history import HealthHistory
    from neve.database.ports import Queries
    from neve.database.service import Database
    from neve.spark.engine import SparkEngine
    from neve.trino.engine import TrinoEngine


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
    #: Trino, where it maintains the tables; connected to with the first thing that needs it.
    trino: Lazy[TrinoEngine]
    #: Tables of tenants; its threads start with the first thing that is asked of it.
    database: Lazy[Database]

    @property
    def spark(self) -> SparkEngine:
        return self.engine()

    def parse(self, name: str) -> TableRef:
        """The table that a name means, in a catalog of Neve's own or in Trino's."""
        if self.settings.engine != TRINO:
            return self.catalogs.parse(name)
        default = self.catalogs.default if self.catalogs.names else self.settings.trino.catalog
        return parse_table_ref(name, default_catalog=default, catalogs=self.catalog_names)

    @property
    def catalog_names(self) -> list[str]:
        """Catalogs that a name of a table may begin with."""
        has_trino = self.settings.engine == TRINO
        return [*self.catalogs.names, *([self.settings.trino.catalog] if has_trino else [])]

    def telling(
        self, events: Callable[[JobEvent], None], warn: Callable[[str], None] | None = None
    ) -> App:
        """The same, whose jobs send their events there, and what troubles nobody else to `warn`."""
        maintenance = replace(self.maintenance, events=events)
        if warn is not None:
            maintenance = replace(maintenance, warn=warn)
        database = Lazy(partial(make_database, self.settings, self.catalogs, maintenance))
        return replace(self, maintenance=maintenance, database=database)

    def by_trino(self, services: Services) -> Services:
        """The same services, with Trino in the place of Spark."""
        if self.settings.engine != TRINO:
            raise ConfigError(
                "Neve is not configured for Trino.",
                next_step="Write engine: trino and a section trino: into neve.yaml.",
            )
        return replace(
            services,
            make_procedures=lambda: self.trino().procedures,
            make_engine=_no_spark,
            log=self.trino().log,
        )

    def borrow(self, session: SparkSession) -> None:
        """Use the caller's session, which is never stopped here."""
        from neve.spark.engine import BorrowedEngine

        self.engine.use(BorrowedEngine(session, self.settings.spark.package))

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

    def engine_report(self) -> EngineReport:
        """Whether this process could run a job now. A JVM that died is started again."""
        if self.settings.engine == TRINO:
            return EngineReport(TRINO, EngineState.READY, "It is connected to for each job.")
        engine = self.engine.if_made
        if engine is None:
            return EngineReport(SPARK, EngineState.ABSENT)
        engine.revive()
        return engine.report()

    def abandon(self) -> None:
        """End the engine's process at once, whatever it is at; waits for nobody."""
        if engine := self.engine.if_made:
            engine.abandon()

    def stop(self) -> None:
        """End what was started."""
        if database := self.database.if_made:
            database.close()
        self.engine.settle()
        if engine := self.engine.if_made:
            engine.stop()
        if trino := self.trino.if_made:
            trino.close()


def build_app(
    settings: Settings, reporter: Reporter, spark_log: Callable[[SparkLine], None] | None = None
) -> App:
    # Trino has catalogs of its own.
    needs_catalog = settings.engine != TRINO
    catalogs = Catalogs(settings.catalogs, settings.default_catalog, required=needs_catalog)
    store = open_store(settings.state.url, settings.state.prefix)
    engine = Lazy(partial(make_engine, settings.spark, catalogs, reporter, spark_log))
    maintenance = Maintenance(
        surveyor=CatalogSurveyor(catalogs, utc_now, partial(named_files, settings, catalogs)),
        metadata=CatalogMetadataWriter(catalogs, utc_now),
        make_engine=engine,
        store=store,
        log=CatalogLog(catalogs, lambda outcomes: engine().append_log(outcomes)),
        clock=utc_now,
        reporter=reporter,
        cost_model=settings.cost.model(),
        lease_seconds=settings.state.lease_seconds,
        policies=Policies(
            settings.policy_book(catalogs.default if catalogs.names else None),
            lambda: store.policies.all(),
        ),
        notifier=make_notifier(settings),
        digest_time=DigestTime(settings.notifications.digest_at, settings.notifications.timezone),
        **_audited(settings, store),
    )
    trino = Lazy(partial(make_trino, settings.trino))
    database = Lazy(partial(make_database, settings, catalogs, maintenance))
    return App(settings, catalogs, store, maintenance, engine, trino, database)


def make_database(settings: Settings, catalogs: Catalogs, services: Services) -> Database:
    # Reading statements takes a third of a second to import.
    from neve.catalog.tenant_tables import CatalogTables
    from neve.database.service import Database

    said = settings.database
    return Database(
        services,
        CatalogTables(catalogs),
        open_queries,
        said.rules(),
        said.catalog or catalogs.default,
        partial(make_in_process_engine, catalogs),
        partial(_room_for, settings, services),
    )


def make_health_history(app: App) -> HealthHistory:
    from neve.catalog.tenant_tables import CatalogTables
    from neve.database.health_history import HealthHistory

    return HealthHistory(CatalogTables(app.catalogs), app.store)


def _room_for(
    settings: Settings, services: Services, wanted: Sequence[JobRequest]
) -> AbstractContextManager[str]:
    """Jobs that nobody asked for count like those that somebody did."""
    tenant = wanted[0].tenant
    quota = settings.access.quota(tenant)
    return held_room(quota, services.store, tenant, services.clock(), len(wanted))


def make_in_process_engine(catalogs: Catalogs) -> Engine:
    # What it imports is needed by functions without Spark alone.
    from neve.in_process import InProcessEngine

    return InProcessEngine(catalogs)


def open_queries() -> Queries:
    # It is an extra, and needed by QUERY alone.
    if find_spec("duckdb") is None:
        raise EnvironmentProblem(
            "QUERY needs the package duckdb, which is not installed.",
            next_step="pip install 'neve[server]'",
        )
    from neve.apart.queries import ProcessQueries

    return ProcessQueries()


def make_trail(settings: Settings, store: JobStore) -> AuditTrail:
    return AuditTrail(store.audit, settings.access.audit_key or "", settings.secrets())


def _audited(settings: Settings, store: JobStore) -> dict[str, Any]:
    return {"auditor": make_trail(settings, store).record} if settings.access.is_audited else {}


def make_notifier(settings: Settings) -> Channels | None:
    addresses = settings.notifications.channels
    return Channels(addresses, settings.secrets()) if addresses else None


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
        catalogs.open_ahead()
        session = build_session(
            properties,
            master=settings.master,
            conf=settings.conf,
            # Fetching takes minutes: where a reporter tells lines, that is one without a bar, too.
            reporter=getattr(reporter, "tell", reporter),
            commit_gate=settings.commit_gate,
            log=spark_log,
        )
        # What many tables at once are at stands in lines of their own.
        reporter("Working …")
        return session

    def storage(table: TableRef) -> Storage:
        return storage_as_pyiceberg(catalogs.load(table).io.properties)

    return SparkEngine(make_session, storage, settings.package)


def make_trino(settings: TrinoSettings) -> TrinoEngine:
    # The client is an extra, and needed here alone.
    from neve.trino import MaintenanceSettings
    from neve.trino.engine import open_trino

    maintenance = MaintenanceSettings(
        catalog=settings.catalog,
        schema=settings.schema_name,
        file_size_threshold=settings.file_size_threshold,
        snapshot_retention=settings.snapshot_retention,
        orphan_retention=settings.orphan_retention,
        min_retention=settings.min_retention,
    )
    return open_trino(
        maintenance,
        host=settings.host,
        port=settings.port,
        user=settings.user,
        password=settings.password,
        http_scheme=settings.http_scheme,
        session_properties={"query_max_run_time": settings.query_max_run_time},
    )


def _no_spark() -> Engine:
    raise EngineNeeded("Only Spark can tell, and this Neve runs on Trino.")
