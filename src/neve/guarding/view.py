"""All of Neve as one caller may use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from neve.access.approvals import Approval
from neve.access.asked import rights_for
from neve.access.chain import AuditRow
from neve.access.rights import Right
from neve.guarding.database import GuardedDatabases
from neve.guarding.jobs import MAX_LOOKED_THROUGH, Wanted
from neve.machine import Check
from neve.model.errors import AccessDenied, InputError
from neve.model.figures import Figures
from neve.model.job import Job, ScheduleState, SetAsideTable, Trigger
from neve.model.kept_plan import MAX_KEPT_PLANS, KeptPlan
from neve.model.operation import Operation
from neve.model.plan import CompactionPlan
from neve.model.workers import AnnouncedWorker

#: Parts of the façade that edges for many callers have no use for.
REFUSED = (
    "announce",
    "apply",
    "check_machine",
    "close",
    "demo",
    "events",
    "import_policies",
    "leave",
    "maintain",
    "read_plans",
    "record_health",
    "restore",
    "rollback",
    "rollback_turn",
    "run",
    "scheduler",
    "send_digest",
    "send_due_digest",
    "server",
    "stop",
    "trigger",
    "warm_up",
    "worker",
    "worker_settings",
    "write_plans",
    "write_spark_package",
)
#: What asks `table`, and what tells nothing about any table.
BY_TABLE = (
    "add_consumer",
    "advice",
    "check_job",
    "count_turn",
    "diagnose",
    "expiry",
    "health",
    "known_table",
    "orphans",
    "outline",
    "pause",
    "plan",
    "plan_compaction",
    "put_back",
    "quarantine",
    "remove_consumer",
    "report",
    "resume",
    "set_aside",
    "survey",
    "tables",
    "turn",
)
HARMLESS = (
    "access",
    "check_filters",
    "database_is_open",
    "database_service_key",
    "database_service_url",
    "engine",
    "has_jobs",
    "is_stopping",
    "job_arguments",
    # It counts what the caller has surveyed.
    "live_records",
    # It goes through the caller's own pages of jobs.
    "turn_jobs",
    "now",
    "open",
    "plan_document",
    "serve_defaults",
    "shown_settings",
    "timing",
)


class Guarded(GuardedDatabases):
    """One caller's Neve, for a request that declared what right it needs."""

    def keep_plan(self, plan: CompactionPlan, *, requested_by: str = "") -> KeptPlan:
        """Keep a plan for a table that the caller operates."""
        self._allow(plan.table, (Right.OPERATE,))
        return super().keep_plan(plan, requested_by=self.acting_as(requested_by))

    def kept_plan(self, plan_id: str) -> KeptPlan | None:
        """A plan for a table that the caller sees."""
        kept = super().kept_plan(plan_id)
        return kept if kept is not None and self.caller.sees(kept.table) else None

    def kept_plans(self, limit: int = 100) -> list[KeptPlan]:
        """Plans for tables that the caller sees."""
        found = super().kept_plans(MAX_KEPT_PLANS)
        return [kept for kept in found if self.caller.sees(kept.table)][:limit]

    def job_of_plan(self, plan_id: str) -> Job | None:
        """The job that a plan became, if the caller may see it."""
        job = super().job_of_plan(plan_id)
        return job if job is not None and self._sees_job(job) else None

    def approve_plan(self, plan_id: str, by: str) -> KeptPlan | None:
        """Agree to a plan, as somebody else than who made it."""
        kept = self.kept_plan(plan_id)
        if kept is None:
            return None
        self._allow(kept.table, (Right.OPERATE,))
        who = self.acting_as(by)
        if self.caller.is_known and self.access.person_of(kept.requested_by) == self.caller.person:
            raise AccessDenied(
                "Whoever made the plan cannot approve it.", next_step="Ask a second person."
            )
        return super().approve_plan(plan_id, who)

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
        """Queue a kept plan, if the caller may, and its tenant has room."""
        whose, who = self.acting_tenant(tenant), self.acting_as(requested_by)
        if known := self.job_of_plan(plan_id):
            return self._noted(known)
        said: dict[str, Any] = {"requested_by": who, "tenant": whose, "priority": priority}
        if (kept := self.kept_plan(plan_id)) is None:
            return super().submit_kept_plan(plan_id)
        rewrite: Wanted = (str(Operation.REWRITE_DATA_FILES), {})
        with self._admitted(kept.table, [rewrite], whose) as held:
            job = super().submit_kept_plan(plan_id, **said, trigger=trigger, room=held)
        if not self._sees_job(job):
            raise InputError(f"Plan {plan_id} was applied already.", next_step="Plan again.")
        return self._noted(job)

    def approval(self, approval_id: str) -> Approval | None:
        """What waits for a second person, if the caller may see it."""
        found = self.access.approval(approval_id)
        return found if found is not None and self._sees_approval(found) else None

    def approvals(self, limit: int = 100) -> list[Approval]:
        """All that waits for a second person and that the caller may see, newest first."""
        found = self.access.approvals(MAX_LOOKED_THROUGH)
        return [item for item in found if self._sees_approval(item)][:limit]

    def decide(self, approval: Approval, *, agrees: bool) -> Approval:
        """Agree or refuse, with the rights that the request itself needs."""
        arguments = approval.read_arguments()
        self._notes.table = str(approval.table)
        self._allow(approval.table, rights_for(approval.operation, arguments))
        return self.access.decide(approval, self.caller, agrees=agrees)

    def schedule_states(self) -> list[ScheduleState]:
        """Turns of tables that the caller sees."""
        return [state for state in super().schedule_states() if self.caller.sees(state.table)]

    def set_aside_tables(self) -> list[SetAsideTable]:
        """Of the tables that are set aside, those that the caller sees."""
        return [aside for aside in super().set_aside_tables() if self.caller.sees(aside.table)]

    def figures(self, max_tables: int = 0) -> Figures:
        """Figures of all tenants, to whoever looks at the whole server."""
        self._everywhere(Right.SERVICE)
        return super().figures(max_tables)

    def workers(self) -> list[AnnouncedWorker]:
        """Workers, to whoever looks at the whole server."""
        self._everywhere(Right.SERVICE)
        return super().workers()

    def readiness(self, *, with_engine: bool = True) -> list[Check]:
        """Whether requests can be served; why not is for whoever looks at the whole server."""
        checks = self._whole.readiness(with_engine=with_engine)
        if self.caller.has_everywhere(Right.SERVICE):
            return checks
        return [Check("service", all(check.passed for check in checks), "")]

    def audit_page(
        self, before: int | None = None, limit: int = 100
    ) -> tuple[list[AuditRow], int | None]:
        """Rows of the audit log that the caller may see, newest first, and where to go on."""
        seen: list[AuditRow] = []
        looked, place = 0, before
        while looked < MAX_LOOKED_THROUGH:
            page = self.access.audit_rows(place, 1000)
            looked, place = looked + len(page), page[-1].number if page else None
            for row in page:
                if self._sees_row(row):
                    seen.append(row)
                if len(seen) == limit:
                    return seen, row.number
            if len(page) < 1000:
                return seen, None
        return seen, place

    def _sees_approval(self, approval: Approval) -> bool:
        return self._sees_all or self.caller.sees_job(approval.table, approval.tenant)

    def _sees_row(self, row: AuditRow) -> bool:
        if self.caller.has_everywhere(Right.SERVICE):
            return True
        entry = row.entry
        # What is not about a table is for whoever looks at the whole server.
        if not entry.table:
            return False
        try:
            table = self._app.parse(entry.table)
        except InputError:
            return False
        return self.caller.sees(table) and self.caller.is_of(entry.tenant)


def _refuse(name: str) -> Callable[..., NoReturn]:
    def refused(*_: Any, **__: Any) -> NoReturn:
        raise AccessDenied(f"{name} is not for callers of a server.")

    return refused


for _name in REFUSED:
    setattr(Guarded, _name, _refuse(_name))
