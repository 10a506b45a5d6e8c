"""Jobs as one caller sees them, and what it takes to ask for one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import datetime
from typing import Any

from neve.access.approvals import Approval
from neve.access.asked import rights_for, sensitive
from neve.access.rights import Right
from neve.guarding.tables import GuardedTables
from neve.looking import Overrides, Table
from neve.model.errors import (
    AccessDenied,
    ApprovalNeeded,
    InputError,
    NeveError,
    StoreError,
    TooMuch,
)
from neve.model.events import RecordedEvent
from neve.model.job import (
    ENGINE,
    OVERRIDES,
    ROLLBACK,
    TRINO,
    Job,
    JobPage,
    JobReport,
    JobState,
    Trigger,
)
from neve.model.operation import Operation
from neve.model.table import TableRef

#: Jobs that are looked through for one page; it may end early, and the next one goes on.
MAX_LOOKED_THROUGH = 10_000
#: An operation and the arguments of its job.
Wanted = tuple[str, Mapping[str, object]]


class GuardedJobs(GuardedTables):
    """Jobs of the caller's tenant, on tables that it sees."""

    #: Where room is held for jobs that are asked for together.
    _held: str | None = None

    def job(self, job_id: str) -> Job | None:
        """A job, if the caller may see it."""
        return self._seen(super().job(job_id))

    def job_of_key(self, idempotency_key: str) -> Job | None:
        """The job that was asked for with a key, if the caller may see it."""
        return self._seen(super().job_of_key(idempotency_key))

    def job_events(self, job_id: str, after: int = 0, limit: int = 100) -> list[RecordedEvent]:
        """What a job said that the caller may see."""
        return super().job_events(job_id, after, limit) if self.job(job_id) else []

    def job_page(
        self,
        table: Table | None = None,
        *,
        states: Collection[JobState] = (),
        operation: str | None = None,
        tenant: str | None = None,
        is_dead: bool | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> JobPage:
        """Jobs that the caller may see, newest first."""
        chosen: dict[str, Any] = {"states": states, "operation": operation, "tenant": tenant}
        chosen["is_dead"] = is_dead
        if self._sees_all:
            return super().job_page(table, before=before, limit=limit, **chosen)
        seen: list[Job] = []
        looked, place = 0, before
        while looked < MAX_LOOKED_THROUGH:
            page = super().job_page(table, before=place, limit=1000, **chosen)
            looked, place = looked + len(page.jobs), page.before
            for job in page.jobs:
                if self._sees_job(job):
                    seen.append(job)
                if len(seen) == limit:
                    return JobPage(tuple(seen), job.position)
            if place is None:
                break
        return JobPage(tuple(seen), place)

    def history(self, table: Table | None = None, limit: int = 100) -> list[Job]:
        """What was done, as far as the caller may see it."""
        return list(self.job_page(table, limit=limit).jobs)

    def jobs(
        self, pattern: str = "*", *, running: bool = False, limit: int = 100
    ) -> list[JobReport]:
        """Jobs as they stand, to whoever looks at all of them."""
        self._everywhere(Right.SERVICE)
        return super().jobs(pattern, running=running, limit=limit)

    def dead_jobs(self, limit: int = 100) -> list[Job]:
        """Jobs that failed as often as they may, of those that the caller may see."""
        return [job for job in super().dead_jobs(limit) if self._sees_job(job)]

    def cancel(self, job_id: str) -> Job | None:
        """Stop a job on a table that the caller operates."""
        job = self.job(job_id)
        if job is None:
            return None
        self._allow(job.table, (Right.OPERATE,))
        return super().cancel(job_id)

    def requeue(self, job_id: str, *, requested_by: str = "", room: str = "") -> Job:
        """Queue again what a job was asked for, with all that its request needed."""
        who, job = self.acting_as(requested_by), self.job(job_id)
        if job is None:
            raise InputError(f"There is no job {job_id}.", next_step="neve jobs lists them.")
        if job.state not in (JobState.FAILED, JobState.CANCELLED):
            return super().requeue(job_id)
        with self._admitted(job.table, [(job.operation, job.arguments)], job.tenant) as held:
            return self._noted(super().requeue(job_id, requested_by=who, room=held))

    def submit(
        self,
        table: Table,
        operation: str | Operation = Operation.REWRITE_DATA_FILES,
        *,
        overrides: Overrides = None,
        arguments: Mapping[str, object] | None = None,
        requested_by: str = "",
        trigger: Trigger = Trigger.PYTHON,
        idempotency_key: str | None = None,
        tenant: str = "",
        priority: int = 0,
        not_before: datetime | None = None,
        max_attempts: int = 3,
        room: str = "",
    ) -> Job:
        """Queue a job, if the caller has all rights that it needs, and its tenant has room."""
        ref, whose = self.table(table), self.acting_tenant(tenant)
        who = self.acting_as(requested_by)
        wanted = (str(operation), _arguments(overrides, arguments))
        with self._admitted(ref, [wanted], whose, idempotency_key or "") as held:
            job = super().submit(
                ref,
                operation,
                overrides=overrides,
                arguments=arguments,
                requested_by=who,
                trigger=trigger,
                idempotency_key=idempotency_key,
                tenant=whose,
                priority=priority,
                not_before=not_before,
                max_attempts=max_attempts,
                room=held,
            )
        if not self._sees_job(job):
            raise InputError("The key of this request was used for another one.")
        return self._noted(job)

    @contextmanager
    def _admitted(
        self, table: TableRef, wanted: Sequence[Wanted], tenant: str, key: str = ""
    ) -> Iterator[str]:
        """Where room is held for the jobs, which are queued within: all of them may be, or none.

        What a person agreed to is used up last, and only by what is queued.
        """
        for operation, arguments in wanted:
            self._allow(table, rights_for(operation, arguments))
        used: list[Approval] = []
        with self._room_for(tenant, len(wanted), key) as room:
            for operation, arguments in wanted:
                if self._needs_approval(operation, arguments):
                    used.append(self._use_approval(table, operation, arguments, tenant))
            try:
                yield room
            except StoreError:
                # It may have been queued all the same.
                raise
            except NeveError:
                for approval in used:
                    self.access.give_back_approval(approval)
                raise

    def _room_for(self, tenant: str, jobs: int, key: str) -> AbstractContextManager[str]:
        held = self._held
        return self.access.room(tenant, jobs, key) if held is None else nullcontext(held)

    def _use_approval(
        self, table: TableRef, operation: str, arguments: Mapping[str, object], tenant: str
    ) -> Approval:
        # Nobody is asked to agree to what is refused anyway.
        super().check_job(table, operation, arguments)
        state = self._agreed_state(table, operation, arguments)
        approval = self.access.ask_approval(self.caller, tenant, table, operation, arguments, state)
        if not self.access.use_approval(approval):
            raise ApprovalNeeded(
                f"{operation} on table {table} needs a second person to agree: approval "
                f"{approval.approval_id} is {approval.state}.",
                next_step=f"Let somebody POST /api/v1/approvals/{approval.approval_id}/approve, "
                "and send this again.",
                approval_id=approval.approval_id,
            )
        return approval

    def _agreed_state(
        self, table: TableRef, operation: str, arguments: Mapping[str, object]
    ) -> tuple[str, ...]:
        """What a second person agrees to: this very table, and what a rollback would leave."""
        if arguments.get(ENGINE) == TRINO:
            # Its catalogs cannot be looked at from here.
            return ()
        facts = super().outline(table)
        head = (str(facts.snapshot_id),) if operation == ROLLBACK else ()
        return (facts.table_uuid, *head)

    def _needs_approval(self, operation: str, arguments: Mapping[str, object]) -> bool:
        return sensitive(operation, arguments) in self.access.settings.approval

    @contextmanager
    def expecting(
        self,
        table: TableRef,
        operations: Iterable[str],
        overrides: Overrides = None,
        tenant: str = "",
        known: Callable[[], int] = lambda: 0,
        key: str = "",
    ) -> Iterator[None]:
        """Raise now for what one of several jobs would be refused for, and hold room for them.

        They are queued within; `known` tells how many of them are there already. The key is that
        of them all, and of no single one.
        """
        wanted, arguments = [str(item) for item in operations], _arguments(overrides, None)
        for operation in wanted:
            self._allow(table, rights_for(operation, arguments))
            if self._needs_approval(operation, arguments):
                raise AccessDenied(
                    f"{operation} needs a second person, and cannot be asked for among others.",
                    next_step="Ask for it alone.",
                )
        with ExitStack() as stack:
            found = known()
            while self._held is None:
                room = self.access.room(self.acting_tenant(tenant), len(wanted) - found, key)
                try:
                    self._held = stack.enter_context(room)
                except TooMuch:
                    # The same request, sent at the same time, may have queued them by now.
                    if found == (found := known()):
                        raise
            try:
                yield
            finally:
                self._held = None

    def _sees_job(self, job: Job) -> bool:
        return self._sees_all or self.caller.sees_job(job.table, job.tenant)

    def _seen(self, job: Job | None) -> Job | None:
        if job is None or not self._sees_job(job):
            return None
        return self._noted(job)

    def _noted(self, job: Job) -> Job:
        self._notes.job_id, self._notes.table = job.job_id, str(job.table)
        return job


def _arguments(overrides: Overrides, arguments: Mapping[str, object] | None) -> dict[str, object]:
    """As the job keeps them."""
    said = {OVERRIDES: dict(overrides)} if overrides else {}
    return {**said, **(arguments or {})}
