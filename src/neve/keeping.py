"""The part of the façade that a service needs: plans and policies that are kept, readiness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neve.app import App, make_health_history
from neve.looking import Looking, Table
from neve.machine import Check
from neve.model.counts import many
from neve.model.errors import InputError, NeveError
from neve.model.figures import Figures
from neve.model.health import Health
from neve.model.job import Job, JobRequest, Trigger
from neve.model.kept_plan import KeptPlan
from neve.model.plan import CompactionPlan
from neve.model.policies import PolicyRule
from neve.model.stored_policy import StoredPolicy
from neve.model.table import TableRef
from neve.model.workers import AnnouncedWorker, EngineState
from neve.service.figures import figures_of
from neve.service.kept_plans import keep_plan, key_of, submit_kept
from neve.service.stored_policies import check_room, filters_of, policy_text, rule_of

#: Workers that a check names.
MAX_SHOWN = 20

if TYPE_CHECKING:
    from neve.database.service import Database


class Keeping(Looking):
    """What servers ask besides; nothing in here runs a job."""

    @property
    def database(self) -> Database:
        """The database operations: tables of tenants made, written, asked and compacted."""
        return self._app.database()

    @property
    def database_service_url(self) -> str | None:
        """The server whose workers run COMPACT for functions; None where they do it themselves."""
        return self._app.settings.database.service_url or None

    @property
    def database_service_key(self) -> str | None:
        """What functions tell that server about who they are."""
        return self._app.settings.database.service_key or None

    @property
    def database_is_open(self) -> bool:
        """Whether a function answers whoever its platform lets call it, unasked."""
        return self._app.settings.database.open_function

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
        room: str = "",
    ) -> Job:
        """Queue exactly this plan, once; raise PlanStale where the table has moved on."""
        kept = self.kept_plan(plan_id)
        if kept is None:
            raise InputError(f"There is no plan {plan_id}.", next_step="Plan again.")
        asked = JobRequest(
            self.table(kept.table),
            "",
            {},
            requested_by,
            trigger,
            priority,
            tenant=tenant,
            room=room,
        )
        return submit_kept(self._services, kept, asked)

    def job_of_plan(self, plan_id: str) -> Job | None:
        """The job that a kept plan became; None where it was not applied."""
        return self.job_of_key(key_of(plan_id))

    def job_of_key(self, idempotency_key: str) -> Job | None:
        """The job that was asked for with this key."""
        return self._services.store.job_of_key(idempotency_key)

    def stored_policies(self) -> list[StoredPolicy]:
        """Policies that were set while Neve runs, by name."""
        return self._services.store.policies.all()

    def policies_and_documents(self) -> list[tuple[PolicyRule, StoredPolicy | None]]:
        """All policies in their order; those that were set while Neve runs with what was said."""
        book, kept = self._services.policies.book, self.stored_policies()
        return [*((rule, None) for rule in book.rules), *((rule_of(item), item) for item in kept)]

    def set_policy(
        self,
        name: str,
        document: Mapping[str, Any],
        *,
        expected: int | None,
        updated_by: str = "",
    ) -> tuple[PolicyRule, StoredPolicy] | None:
        """Set a policy for every process of this state, as a file would hold it.

        `expected` is the revision of the one that it replaces, None where it is new; the answer is
        None where another one stands there.
        """
        policies = self._services.store.policies
        text = policy_text(name, document, self._app.settings.notifications.channels)
        for where in filters_of(text):
            self._check_filter(where)
        check_room(policies.all(), name)
        kept = policies.put(name, text, expected=expected, updated_by=updated_by)
        return None if kept is None else (rule_of(kept), kept)

    def remove_policy(self, name: str, *, expected: int) -> bool:
        """Forget a policy of this revision; False where it is not there, or another one."""
        return self._services.store.policies.remove(name, expected=expected)

    def set_aside(self, table: Table, reason: str) -> None:
        """Let workers leave a table alone; its jobs stay queued."""
        self._services.store.set_aside(self.table(table), reason)

    def figures(self, max_tables: int = 0) -> Figures:
        """What was done and what waits, counted by the state, not by this process."""
        return figures_of(self._services.store, max_tables)

    def record_health(self, judged: Sequence[Health]) -> list[TableRef]:
        """Append a row about each to `_health_history` beside its table; tells which were."""
        return make_health_history(self._app).record(judged, self.now())

    def workers(self) -> list[AnnouncedWorker]:
        """Workers that are there, of this process or any other."""
        return self._services.store.workers.all()

    def readiness(self, *, with_engine: bool = True) -> list[Check]:
        """Whether the state and the catalogs could be used now, and a job would be run.

        Nothing is started by asking: workers say themselves how their engine is.
        """
        store = _check("store", lambda: _store(self._app))
        return [
            store,
            *(_check(f"catalog {name}", self._catalog(name)) for name in self._app.catalogs.names),
            *([self._engine(store)] if with_engine else []),
        ]

    def _engine(self, store: Check) -> Check:
        name = self._app.settings.engine
        if not store.passed:
            # It would be waited for a second time.
            return Check(name, False, "Workers tell it to the store, which is away.", store.fix)
        try:
            there = [worker for worker in self.workers() if worker.engine.engine == name]
        except NeveError as error:
            return Check(name, False, error.message, error.next_step)
        if not there:
            return Check(name, False, "No worker is there.", "Start one: neve serve --role worker")
        is_ready = any(worker.engine.state is EngineState.READY for worker in there)
        detail = ", ".join(_worker(worker) for worker in there[:MAX_SHOWN])
        more = f", and {len(there) - MAX_SHOWN} more" if len(there) > MAX_SHOWN else ""
        fix = None if is_ready else "Wait for it, or look at the worker's log."
        return Check(name, is_ready, detail + more, fix)

    def _catalog(self, name: str) -> Callable[[], str]:
        return lambda: many(len(self._app.catalogs.namespaces(name)), "namespace")


def _check(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except NeveError as error:
        return Check(name, False, error.message, error.next_step)


def _store(app: App) -> str:
    return f"{len(app.store.set_aside_tables())} tables are set aside"


def _worker(worker: AnnouncedWorker) -> str:
    said = f" ({worker.engine.detail})" if worker.engine.detail else ""
    return f"{worker.machine}, process {worker.pid}: {worker.engine.state}{said}"
