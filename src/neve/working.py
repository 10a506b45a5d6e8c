"""The part of the façade that does the work of others: workers and schedulers over this Neve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from neve.looking import Looking, Overrides, Table
from neve.model.errors import InputError, TableNotFound
from neve.model.found import Found
from neve.model.job import ENGINE, TRINO, Job, JobRequest
from neve.model.maintenance import MaintainRequest
from neve.model.operation import Operation
from neve.model.policies import EffectivePolicy
from neve.model.table import TableRef
from neve.service.maintain import not_now
from neve.service.scheduler import ScheduledTable, Scheduler, Tick, scheduled, submit_turn
from neve.service.services import Services
from neve.service.watch import TableWatch, read_by_name, read_policy
from neve.service.worker import Worker, WorkerSettings

#: What jobs that Trino runs are told.
FOR_TRINO = {ENGINE: TRINO}


AT_ANY_TIME = MaintainRequest(any_time=True)


@dataclass(frozen=True, slots=True)
class TableTurn:
    """The operations of a table whose turn it is."""

    entry: ScheduledTable
    #: None where another engine goes by its own.
    policy: EffectivePolicy | None = None
    #: Why it is not taken now.
    skipped: str | None = None

    @property
    def operations(self) -> list[Operation]:
        return [Operation(name) for name in self.entry.operations]


class TurnKeeper:
    """A scheduler over all tables, with what it knows of them."""

    def __init__(self, scheduler: Scheduler, watch: TableWatch) -> None:
        self._scheduler = scheduler
        self.watch = watch

    def now(self) -> datetime:
        """What time it is for all schedulers: by the state's clock, and by none of theirs."""
        return self._scheduler.store.now()

    def tick(self, now: datetime) -> Tick:
        """Submit the jobs of every table whose turn has come; asks no catalog."""
        return self._scheduler.tick(now)

    def refresh(self) -> bool:
        """Look at tables again where it is time; whether there is more to look at right now."""
        return self.watch.refresh()


class Working(Looking):
    """What makes a server of a configured Neve."""

    def worker(
        self, settings: WorkerSettings | None = None, say: Callable[[str], None] | None = None
    ) -> Worker:
        """A worker for the jobs of the queue; it runs until it is drained."""
        return Worker(
            self._services,
            settings or self.worker_settings(),
            services_for=self._worker_services,
            say=say,
            engine=self._app.engine_report,
        )

    def worker_settings(self, concurrency: int = 1) -> WorkerSettings:
        """How workers of this configuration go about it."""
        said = self._app.settings.set_aside
        return WorkerSettings(
            concurrency,
            failures_before_set_aside=said.after_failures,
            try_again_seconds=said.retry_after,
        )

    def scheduler(self) -> TurnKeeper:
        """A scheduler for the turns of all tables; it submits jobs and runs none."""
        if self._is_for_trino:
            services = self._app.by_trino(self._services)
            watch = TableWatch(
                lambda: Found(services.procedures.find(())),
                read_by_name(services, FOR_TRINO),
                version=self._version,
            )
        else:
            watch = TableWatch(self.find, read_policy(self._services), version=self._version)
        return TurnKeeper(Scheduler(self._services.store, watch.entries), watch)

    def turn(
        self,
        table: Table,
        overrides: Overrides = None,
        request: MaintainRequest = AT_ANY_TIME,
    ) -> TableTurn:
        """What a table's turn is now, and why it is not taken, where it is not."""
        services, ref = self._services, self.table(table)
        if self._is_for_trino:
            if overrides or request.only_due or request.apply:
                raise InputError(
                    "Trino runs its own procedures, as the configuration says.",
                    next_step="Leave overrides, apply and only_due out.",
                )
            return TableTurn(self._scheduled(self.known_table(ref)))
        policy = services.effective(ref, overrides, apply=request.apply)
        return TableTurn(scheduled(policy), policy, not_now(services, policy, request))

    def count_turn(self, table: Table) -> None:
        """Remember that a table's turn has come now, for whoever goes by its schedule."""
        self._services.store.record_run([self.table(table)])

    def known_table(self, table: Table) -> TableRef:
        """The table, where there is one; raises TableNotFound otherwise."""
        if not self._is_for_trino:
            return self.outline(table).table
        ref = self.table(table)
        try:
            found = self._app.by_trino(self._services).procedures.find([str(ref)])
        except InputError as error:
            raise TableNotFound(f"There is no table {ref}.") from error
        # A name may hold what a pattern holds, and means itself; Trino's are in lower case.
        meant = next((table for table in found if str(table) == str(ref).lower()), None)
        if meant is None:
            raise TableNotFound(f"There is no table {ref}.")
        return meant

    @property
    def job_arguments(self) -> Mapping[str, object]:
        """What every job is told by the configuration, such as its engine."""
        return FOR_TRINO if self._is_for_trino else {}

    def trigger(self, table: Table) -> list[Job]:
        """Submit every operation of the table's policy now, as its schedule would."""
        return submit_turn(self._services.store, self._scheduled(self.table(table)), self.now())

    def warm_up(self) -> None:
        """Let the engine start before a job needs it; what goes wrong is told to the first job."""
        if not self._is_for_trino:
            self._app.start_soon()

    def _version(self) -> object:
        return self._services.policies.version

    @property
    def _is_for_trino(self) -> bool:
        return self._app.settings.engine == TRINO

    def _scheduled(self, table: TableRef) -> ScheduledTable:
        if not self._is_for_trino:
            return scheduled(self.policy(table))
        services = self._app.by_trino(self._services)
        return read_by_name(services, FOR_TRINO)(table, None)

    def _worker_services(self, request: JobRequest) -> Services:
        # Without Trino, the job says itself what it lacks.
        is_by_trino = request.is_for_trino and self._is_for_trino
        return self._app.by_trino(self._services) if is_by_trino else self._services
