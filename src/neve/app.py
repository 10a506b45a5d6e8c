"""The only wiring: settings become catalogs, an engine, a store and the service over them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from neve.catalog.connect import Catalogs
from neve.catalog.surveyor import CatalogSurveyor
from neve.model.errors import ConfigError
from neve.service.maintain import Maintenance
from neve.service.ports import Reporter
from neve.settings import Settings
from neve.store.sqlite import SqliteStore

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

    @cached_property
    def spark(self) -> SparkEngine:
        """The engine; its JVM starts with the first thing that needs it."""
        # Importing pyspark takes longer than a health check does.
        from neve.spark.engine import SparkEngine
        from neve.spark.session import build_session

        catalogs = {name: self.catalogs.properties(name) for name in self.catalogs.names}
        spark, say = self.settings.spark, self.maintenance.say

        def make_session() -> SparkSession:
            say("Starting Spark …")
            return build_session(
                catalogs,
                master=spark.master,
                conf=spark.conf,
                say=say,
                commit_gate=spark.commit_gate,
            )

        return SparkEngine(make_session)

    def stop(self) -> None:
        """End what was started."""
        if "spark" in self.__dict__:
            self.spark.stop()


def build_app(settings: Settings, say: Reporter) -> App:
    catalogs = Catalogs(settings.catalogs, settings.default_catalog)
    store = SqliteStore(sqlite_path(settings.state.url))
    maintenance = Maintenance(
        surveyor=CatalogSurveyor(catalogs, utc_now),
        make_engine=lambda: app.spark,
        store=store,
        clock=utc_now,
        say=say,
        policy=settings.compaction.policy(),
        cost_model=settings.cost.model(),
        lease_seconds=settings.state.lease_seconds,
    )
    app = App(settings, catalogs, store, maintenance)
    return app


def sqlite_path(url: str) -> Path:
    if not url.startswith("sqlite:///"):
        raise ConfigError(
            f"state.url is {url!r}, which is not supported.",
            next_step="Write sqlite:/// and a path.",
        )
    return Path(url.removeprefix("sqlite:///"))
