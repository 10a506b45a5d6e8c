"""The part of the façade that a service needs: kept plans, tables set aside, figures, readiness."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from neve.app import App
from neve.looking import Looking, Table
from neve.machine import Check
from neve.model.errors import InputError, NeveError
from neve.model.figures import Figures
from neve.model.job import Job, JobRequest, Trigger
from neve.model.kept_plan import KeptPlan
from neve.model.plan import CompactionPlan
from neve.service.figures import figures_of
from neve.service.kept_plans import keep_plan, key_of, submit_kept

if TYPE_CHECKING:
    from neve.database.service import Database


class Serving(Looking):
    """What servers ask besides; nothing in here runs a job."""

    @property
    def database(self) -> Database:
        """The database operations: tables of tenants made, written, asked and compacted."""
        return self._app.database()

    @property
    def database_service_url(self) -> str | None:
        """The server whose workers run COMPACT for functions; None where they do it themselves."""
        return self._app.settings.database.service_url or None

    def keep_plan(self, plan: CompactionPlan, *, requested_by: str = "") -> KeptPlan:
        """Keep a plan in the state, to be shown, approved and applied later."""
        return keep_plan(self._services, plan, requested_by)

    def kept_plan(self, plan_id: str) -> KeptPlan | None:
        """A plan that was kept; None where there is none, or it was forgotten."""
        return self._services.store.plans.plan(plan_id)

    def kept_plans(self, limit: int = 100) -> list[KeptPlan]:
        """Plans that were kept, newest first, without their documents."""
        return self._services.store.plans.newest(limit)

    def approve_plan(self, plan_id: str, by: str) -> KeptPlan | None:
        """Remember who agreed to the plan first; None where there is no such plan."""
        return self._services.store.plans.approve(plan_id, by)

    def submit_kept_plan(
        self,
        plan_id: str,
        *,
        requested_by: str = "",
        tenant: str = "",
        priority: int = 0,
        trigger: Trigger = Trigger.PYTHON,
    ) -> Job:
        """Queue exactly this plan, once; raise PlanStale where the table has moved on."""
        kept = self.kept_plan(plan_id)
        if kept is None:
            raise InputError(f"There is no plan {plan_id}.", next_step="Plan again.")
        asked = JobRequest(
            self.table(kept.table), "", {}, requested_by, trigger, priority, tenant=tenant
        )
        return submit_kept(self._services, kept, asked)

    def job_of_plan(self, plan_id: str) -> Job | None:
        """The job that a kept plan became; None where it was not applied."""
        return self.job_of_key(key_of(plan_id))

    def job_of_key(self, idempotency_key: str) -> Job | None:
        """The job that was asked for with this key."""
        return self._services.store.job_of_key(idempotency_key)

    def set_aside(self, table: Table, reason: str) -> None:
        """Let workers leave a table alone; its jobs stay queued."""
        self._services.store.set_aside(self.table(table), reason)

    def figures(self, max_tables: int = 0) -> Figures:
        """What was done and what waits, counted by the state, not by this process."""
        return figures_of(self._services.store, max_tables)

    def readiness(self) -> list[Check]:
        """Whether the state, the catalogs and the engine could be used now. Starts nothing."""
        return [
            _check("store", lambda: _store(self._app)),
            *(_check(f"catalog {name}", self._catalog(name)) for name in self._app.catalogs.names),
            Check("spark", *_engine(self._app)),
        ]

    def _catalog(self, name: str) -> Callable[[], str]:
        return lambda: f"{len(self._app.catalogs.namespaces(name))} namespaces"


def _check(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except NeveError as error:
        return Check(name, False, error.message, error.next_step)


def _store(app: App) -> str:
    return f"{len(app.store.set_aside_tables())} tables are set aside"


def _engine(app: App) -> tuple[bool, str]:
    return (True, "started") if app.engine.if_made else (True, "starts with the first job")
