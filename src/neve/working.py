"""The part of the façade that does the work of others: workers and schedulers over this Neve."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from neve.looking import Looking, Table
from neve.model.found import Found
from neve.model.job import ENGINE, TRINO, Job, JobRequest
from neve.model.table import TableRef
from neve.service.scheduler import ScheduledTable, Scheduler, Tick, scheduled, submit_turn
from neve.service.services import Services
from neve.service.watch import TableWatch, read_by_name, read_policy
from neve.service.worker import Worker, WorkerSettings

#: What jobs that Trino runs are told.
FOR_TRINO = {ENGINE: TRINO}


class TurnKeeper:
    """A scheduler over all tables, with what it knows of them."""

    def __init__(self, scheduler: Scheduler, watch: TableWatch) -> None:
        self._scheduler = scheduler
        self.watch = watch

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
        return Worker(self._services, settings, services_for=self._worker_services, say=say)

    def scheduler(self) -> TurnKeeper:
        """A scheduler for the turns of all tables; it submits jobs and runs none."""
        if self._is_for_trino:
            services = self._app.by_trino(self._services)
            watch = TableWatch(
                lambda: Found(services.procedures.find(())), read_by_name(services, FOR_TRINO)
            )
        else:
            watch = TableWatch(self.find, read_policy(self._services))
        return TurnKeeper(Scheduler(self._services.store, watch.entries), watch)

    def trigger(self, table: Table) -> list[Job]:
        """Submit every operation of the table's policy now, as its schedule would."""
        return submit_turn(self._services.store, self._scheduled(self.table(table)), self.now())

    def warm_up(self) -> None:
        """Let the engine start before a job needs it; what goes wrong is told to the first job."""
        if not self._is_for_trino:
            self._app.start_soon()

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
