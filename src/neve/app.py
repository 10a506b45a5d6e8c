"""The only wiring: settings become catalogs, an engine, a store and the service over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from neve.catalog.connect import Catalogs
from neve.catalog.maintenance_log import CatalogLog
from neve.catalog.metadata_commit import CatalogMetadataWriter
from neve.catalog.surveyor import CatalogSurveyor
from neve.lazy import Lazy
from neve.model.errors import ConfigError
from neve.model.events import JobEvent
from neve.service.maintain import Maintenance
from neve.service.policies import Policies
from neve.service.ports import Reporter
from neve.settings import Settings, SparkSettings
from neve.store.sqlite import SqliteStore
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
    store: SqliteStore
    maintenance: Maintenance
    #: The engine; its JVM starts with the first thing that needs it.
    engine: Lazy[SparkEngine]

    @property
    def spark(self) -> SparkEngine:
        return self.engine()

    def telling(self, events: Callable[[JobEvent], None]) -> App:
        """The same, whose jobs send their events there."""
        return replace(self, maintenance=replace(self.maintenance, events=events))

    def start_soon(self) -> None:
        """Let the engine start while the plan is made; `stop` ends at once what nobody needs."""
        self.engine.start_soon(lambda engine: engine.start_soon())

    def stop(self) -> None:
        """End what was started."""
        self.engine.settle()
        if engine := self.engine.if_made:
            engine.stop()


def build_app(
    settings: Settings, say: Reporter, spark_log: Callable[[SparkLine], None] | None = None
) -> App:
    catalogs = Catalogs(settings.catalogs, settings.default_catalog)
    store = SqliteStore(sqlite_path(settings.state.url))
    engine = Lazy(partial(make_engine, settings.spark, catalogs, say, spark_log))
    maintenance = Maintenance(
        surveyor=CatalogSurveyor(catalogs, utc_now),
        metadata=CatalogMetadataWriter(catalogs, utc_now),
        make_engine=engine,
        store=store,
        log=CatalogLog(catalogs, lambda outcomes: engine().append_log(outcomes)),
        clock=utc_now,
        say=say,
        cost_model=settings.cost.model(),
        lease_seconds=settings.state.lease_seconds,
        policies=Policies(settings.policy_book(catalogs.default)),
    )
    return App(settings, catalogs, store, maintenance, engine)


def make_engine(
    settings: SparkSettings,
    catalogs: Catalogs,
    say: Reporter,
    spark_log: Callable[[SparkLine], None] | None = None,
) -> SparkEngine:
    # Importing pyspark takes longer than a health check does.
    from neve.spark.engine import SparkEngine
    from neve.spark.session import build_session

    properties = {name: catalogs.properties(name) for name in catalogs.names}

    def make_session() -> SparkSession:
        say("Starting Spark …")
        return build_session(
            properties,
            master=settings.master,
            conf=settings.conf,
            say=say,
            commit_gate=settings.commit_gate,
            log=spark_log,
        )

    return SparkEngine(make_session)


def sqlite_path(url: str) -> Path:
    if not url.startswith("sqlite:///"):
        # A URL may hold a password, so that only its scheme is said.
        scheme = url.partition(":")[0] if "://" in url else "no scheme"
        raise ConfigError(
            f"state.url has {scheme}, which is not supported.",
            next_step="Write sqlite:/// and a path.",
        )
    return Path(url.removeprefix("sqlite:///"))
