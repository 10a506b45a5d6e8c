"""The door for everybody outside: the command line, programs, and services to come.

`Neve` is what a configuration becomes. Edges call it and show what it returns; nothing below it is
theirs to import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from neve.accessing import Access, Accessing
from neve.announcing import Announcing
from neve.app import App, build_app
from neve.demo import Comparison, FileMetrics, Story, Validation, tell_story
from neve.keeping import Keeping
from neve.listeners import CarefulReporter, Listeners, Silent
from neve.looking import Overrides, Table
from neve.machine import NO_TABLE_YET, Check, SparkPackage
from neve.model.errors import EngineNeeded, InputError
from neve.model.events import JobEvent
from neve.model.expiry import Consumer
from neve.model.found import Found
from neve.model.job import OVERRIDES, TRINO, Job, JobReport, JobRequest, Trigger
from neve.model.logs import LogSettings
from neve.model.maintenance import HandOver, MaintainRequest, TableReport
from neve.model.operation import Operation
from neve.model.orphans import QuarantineEntry, SweepReport
from neve.model.outcome import Outcome, RolledBack
from neve.model.plan import CompactionPlan, Plan
from neve.model.policy import Verify
from neve.model.sizes import parse_size
from neve.model.steps import ExpireSnapshots
from neve.model.table import TableRef
from neve.planning.operations.expire_snapshots import describe, snapshot_at
from neve.policy.importing import ImportedPolicies
from neve.queueing import Queueing
from neve.service.left_behind import settle_jobs
from neve.service.maintain import maintain_tables
from neve.service.maintain_procedures import maintain_by_procedures
from neve.service.operations.expire_snapshots import ExpireSnapshotsOperation
from neve.service.operations.registry import planned_handler
from neve.service.operations.remove_orphan_files import (
    RESTORE,
    chosen_entries,
    find_orphans,
    quarantined,
)
from neve.service.operations.rollback import OPERATION as ROLLBACK
from neve.service.operations.rollback import RollbackTarget, rollback_arguments
from neve.service.operations.turns import no_turn, undo_turn
from neve.service.plan_file import plan_document, read_plan_file, write_plan_file
from neve.service.ports import Reporter
from neve.service.run_job import check, run, submit
from neve.service.services import Services
from neve.settings import load_settings
from neve.stopping import Stopping
from neve.telemetry import event_log, spark_log, warning_log
from neve.working import TableTurn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "NO_TABLE_YET",
    "Access",
    "Check",
    "Comparison",
    "FileMetrics",
    "ImportedPolicies",
    "Neve",
    "SparkPackage",
    "Story",
    "TableTurn",
    "Validation",
]

#: Jobs that are looked through where a pattern selects some of them.
MAX_JOBS = 1_000_000


class Neve(Queueing, Keeping, Announcing, Accessing, Stopping):
    """One configured Neve; close it, or use it in a `with` block."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._listeners = Listeners(app.maintenance.events)
        self._services = replace(app.maintenance, events=self._listeners)

    @classmethod
    def open(
        cls,
        config: str | Path | None = None,
        *,
        spark: SparkSession | None = None,
        reporter: Reporter | None = None,
        log: LogSettings | None = None,
    ) -> Self:
        """Neve as a configuration file says, or as it is without one.

        With `spark`, that session is used for everything that needs one, and it is never stopped.
        """
        settings = load_settings(str(config) if config is not None else None)
        lines = replace(log or LogSettings(), secrets=settings.secrets())
        app = build_app(settings, CarefulReporter(reporter or Silent()), spark_log(lines))
        neve = cls(app.telling(event_log(lines), warning_log(lines)))
        if spark is not None:
            app.borrow(spark)
        return neve

    def close(self) -> None:
        """End what was started."""
        self._app.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # What would be done, and doing it

    def plan(
        self,
        table: Table,
        operation: str | Operation = Operation.REWRITE_DATA_FILES,
        *,
        overrides: Overrides = None,
    ) -> Plan[Any]:
        """What an operation would do to the table, by its policy. Nothing is changed."""
        services, ref = self._services, self.table(table)
        facts = services.surveyor.survey(ref)
        policy = services.policies.effective(facts, overrides)
        return planned_handler(_operation(operation)).plan(services, facts, policy)

    def plan_compaction(self, table: Table, *, overrides: Overrides = None) -> CompactionPlan:
        """What compacting the table would do, by its policy."""
        plan = self.plan(table, Operation.REWRITE_DATA_FILES, overrides=overrides)
        assert isinstance(plan, CompactionPlan)
        return plan

    @staticmethod
    def plan_document(plans: Sequence[CompactionPlan]) -> dict[str, Any]:
        """Plans as a file holds them: readable JSON, sealed with a digest."""
        return plan_document(plans)

    @staticmethod
    def write_plans(path: str | Path, plans: Sequence[CompactionPlan]) -> None:
        """Keep plans in a file, to be shown, approved and applied later."""
        write_plan_file(Path(path), plans)

    @staticmethod
    def read_plans(path: str | Path) -> list[CompactionPlan]:
        """The plans of a file, refused where it was changed since."""
        return read_plan_file(Path(path))

    def apply(self, plan: CompactionPlan) -> Outcome:
        """Run exactly this plan, or refuse it where the table has moved on."""
        # The name is checked against this configuration before anything is touched.
        self.table(plan.table)
        return self._services.apply(plan)

    def run(
        self,
        table: Table,
        operation: str | Operation = Operation.REWRITE_DATA_FILES,
        *,
        overrides: Overrides = None,
        arguments: Mapping[str, object] | None = None,
        requested_by: str = "",
        trigger: Trigger = Trigger.PYTHON,
    ) -> Outcome:
        """Run an operation now, in this process: claim, plan, execute, prove, remember."""
        request = self._request(table, operation, overrides, arguments, requested_by, trigger)
        return run(self._services_for(request), request)

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
        """Queue an operation for a worker; with the same key it is the same job."""
        request = replace(
            self._request(table, operation, overrides, arguments, requested_by, trigger),
            idempotency_key=idempotency_key,
            tenant=tenant,
            priority=priority,
            not_before=not_before,
            max_attempts=max_attempts,
            room=room,
        )
        return submit(self._services_for(request), request)

    def check_job(
        self,
        table: Table,
        operation: str | Operation,
        arguments: Mapping[str, object] | None = None,
    ) -> None:
        """Raise where `submit` would refuse the job for what it is."""
        request = self._request(table, operation, None, arguments, "", Trigger.PYTHON)
        check(self._services_for(request), request)

    def _services_for(self, request: JobRequest) -> Services:
        return self._app.by_trino(self._services) if request.is_for_trino else self._services

    def _request(
        self,
        table: Table,
        operation: str | Operation,
        overrides: Overrides,
        arguments: Mapping[str, object] | None,
        requested_by: str,
        trigger: Trigger,
    ) -> JobRequest:
        said = {OVERRIDES: dict(overrides)} if overrides else {}
        return JobRequest(
            self.table(table), str(operation), {**said, **(arguments or {})}, requested_by, trigger
        )

    @property
    def engine(self) -> str:
        """Who runs `maintain`: spark or trino."""
        return self._app.settings.engine

    def maintainable(self, *patterns: str) -> Found:
        """Tables that `maintain` would take, as its engine finds them; all without a pattern."""
        if self.engine != TRINO:
            return self.find(*patterns)
        return Found(self._app.by_trino(self._services).procedures.find(patterns))

    def maintain(
        self,
        tables: Sequence[TableRef] | None = None,
        *,
        dry_run: bool = False,
        apply: bool = False,
        only_due: bool = False,
        any_time: bool = False,
        verify: Verify | None = None,
        hand_over: HandOver | None = None,
        turn_id: str | None = None,
        run_id: str = "",
    ) -> list[TableReport]:
        """Every operation that each table's policy asks for, in order; all tables by default.

        With `hand_over`, jobs are run where that lets them be run. With `turn_id`, a name of your
        own, all of it can be undone together: `rollback_turn`. `run_id` is for the log: the id
        by which the caller knows this run. On Trino, the configuration is
        the order to run all of its operations, here.
        """
        request = MaintainRequest(
            dry_run=dry_run,
            apply=apply,
            only_due=only_due,
            any_time=any_time,
            verify=verify,
            parallel_tables=self._app.settings.maintain.parallel_tables,
            turn_id=turn_id,
            run_id=run_id,
        )
        request.check(self.engine)
        if self.engine == TRINO:
            services = self._app.by_trino(self._services)
            found = services.procedures.find(()) if tables is None else tables
            return maintain_by_procedures(services, found, dry_run=dry_run, run_id=run_id)
        wanted = self.tables() if tables is None else list(tables)
        return maintain_tables(self._services, wanted, request, hand_over)

    def rollback(
        self,
        table: Table,
        *,
        snapshot_id: int | None = None,
        time: datetime | None = None,
        job_id: str | None = None,
    ) -> Outcome:
        """Take the table back to an earlier snapshot; one of the three says to which."""
        target = RollbackTarget(snapshot_id, time, job_id)
        return self.run(table, ROLLBACK, arguments=rollback_arguments(target))

    def rollback_turn(self, turn_id: str, table: Table | None = None) -> list[RolledBack]:
        """Undo what a turn did to each of its tables, or to one of them.

        Neve's own later commits go with it; where a writer came after it, that table is refused.
        """
        only = None if table is None else self.table(table)
        jobs = self.turn_jobs(turn_id, only)
        if not jobs:
            raise no_turn(turn_id)
        return undo_turn(jobs, lambda one, said: self.run(one, ROLLBACK, arguments=said), only)

    # Snapshots and orphans, before they are let go

    def expiry(self, table: Table, overrides: Overrides = None) -> tuple[ExpireSnapshots, str]:
        """Which snapshots would go and which stay, and one sentence about it."""
        facts = self.outline(table)
        rules = self._services.policies.effective(facts, overrides).expire_snapshots
        step = ExpireSnapshotsOperation(rules).select(self._services, facts, self.now())
        return step, describe(step, rules)

    def orphans(self, table: Table, overrides: Overrides = None) -> SweepReport:
        """Files that nothing refers to. The sweep is remembered, and nothing else is changed."""
        rules = self.policy(table, overrides).remove_orphan_files
        return find_orphans(self._services, self.table(table), rules)

    def quarantine(self, table: Table) -> list[QuarantineEntry]:
        """Orphans that are waiting to be deleted."""
        return quarantined(self._services, self.table(table))

    def restore(self, table: Table, paths: Sequence[str] = ()) -> list[QuarantineEntry]:
        """Take files off the quarantine for good, all of them where none is named."""
        ref = self.table(table)
        chosen = chosen_entries(ref, self.quarantine(ref), paths)
        self.run(ref, Operation.REMOVE_ORPHAN_FILES, arguments={RESTORE: list(paths)})
        return chosen

    def consumers(self) -> list[Consumer]:
        """Who still reads old snapshots, by table and name."""
        return self._services.store.consumers.all()

    def add_consumer(
        self,
        name: str,
        table: Table,
        *,
        snapshot_id: int | None = None,
        at: datetime | None = None,
        lease_seconds: float,
    ) -> Consumer:
        """Register a reader of old snapshots, or move it on and renew its lease."""
        facts, consumers = self.outline(table), self._services.store.consumers
        if snapshot_id is not None and facts.snapshot(snapshot_id) is None:
            raise InputError(
                f"Table {facts.table} has no snapshot {snapshot_id}.",
                next_step=f"List them: neve snapshots {facts.table.typed}",
            )
        if at is not None:
            # A table may be renamed; its snapshots stay what they are.
            snapshot_id = snapshot_at(facts.ancestry(), at)
        consumers.add(
            name, facts.table, snapshot_id=snapshot_id, at=at, lease_seconds=lease_seconds
        )
        return next(item for item in consumers.all(facts.table) if item.name == name)

    def remove_consumer(self, name: str, table: Table) -> bool:
        """Forget a reader; False where there was none."""
        return self._services.store.consumers.remove(name, self.table(table))

    # Jobs

    def history(self, table: Table | None = None, limit: int = 100) -> list[Job]:
        """What was done, newest first."""
        return self._services.store.jobs(self.table(table) if table else None, limit)

    def jobs(
        self, pattern: str = "*", *, running: bool = False, limit: int = 100
    ) -> list[JobReport]:
        """Jobs, newest first; those that were left without an end get one, if the table tells."""
        store, catalogs = self._services.store, self._app.catalogs

        def is_for(job: Job) -> bool:
            return pattern in ("*", str(job.table)) or catalogs.matches(job.table, pattern)

        lost = [job for job in store.unfinished() if is_for(job)]
        left = settle_jobs(self._services, lost, catalogs.names)
        still_lost = {job.job_id for job in store.unfinished()}
        looked = limit if pattern == "*" and not running else MAX_JOBS
        chosen = [job for job in store.jobs(limit=looked) if is_for(job)]
        return [
            JobReport(
                job,
                not job.state.is_final and job.job_id not in still_lost,
                left.get(job.job_id),
                isinstance(left.get(job.job_id), EngineNeeded),
            )
            for job in chosen
            if not (running and job.state.is_final)
        ][:limit]

    @contextmanager
    def events(self, listener: Callable[[JobEvent], None]) -> Iterator[None]:
        """Tell the listener every event of this process's jobs, for the length of the block.

        One that raises is logged once, and stops neither a job nor the other listeners.
        """
        with self._listeners.with_listener(listener):
            yield

    def demo(
        self,
        batches: int | None = None,
        events: int | None = None,
        partitions: str | None = None,
        *,
        size: str | None = None,
        compare: bool = False,
    ) -> Story:
        """Make a table with the small-files problem, cure it, and check that no row changed.

        `size`, such as 1GB, makes one of large row groups instead, which are copied. With `compare`
        Iceberg's own procedure compacts a twin.
        """
        size_bytes = None if size is None else parse_size(size)
        return tell_story(self._app, batches, events, partitions, size_bytes, has_twin=compare)


def _operation(name: str | Operation) -> Operation:
    try:
        return Operation(name)
    except ValueError:
        raise InputError(
            f"There is no operation {name!r} that can be planned.",
            next_step=f"Choose from: {', '.join(Operation)}.",
        ) from None
