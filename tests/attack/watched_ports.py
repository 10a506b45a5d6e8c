"""The ports, each telling of every call that is made to it.

A method is a line here, so that mypy finds a port that grew.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from neve.access.quotas import Usage
from neve.model.figures import StoreTotals
from neve.service.ports import Engine, MaintenanceLog, MetadataWriter, Surveyor
from neve.service.shared_ports import Rooms, StoredPolicies, Workers
from neve.service.store_ports import (
    ApiKeys,
    Approvals,
    Audit,
    Consumers,
    Events,
    JobQueue,
    JobStore,
    KeptPlans,
    Leases,
    Marks,
    Outcomes,
    Quarantine,
    Schedules,
    SetAsideTables,
    UncommittedFiles,
    Writes,
)

Port = TypeVar("Port")
Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")
At = Callable[[str], None]


class Watched(Generic[Port]):
    """Stands before a port and hands calls on."""

    def __init__(self, name: str, target: Port, at: At) -> None:
        self.name, self.target, self.at = name, target, at


def told(
    method: Callable[Concatenate[Any, Asked], Answer],
) -> Callable[Concatenate[Watched[Any], Asked], Answer]:
    """The port's method, with a point before and one after it."""

    def call(port: Watched[Any], /, *arguments: Asked.args, **named: Asked.kwargs) -> Answer:
        name = f"{port.name}.{method.__name__}"
        port.at(f"before {name}")
        answer: Answer = getattr(port.target, method.__name__)(*arguments, **named)
        port.at(f"after {name}")
        return answer

    return call


def untold(
    method: Callable[Concatenate[Any, Asked], Answer],
) -> Callable[Concatenate[Watched[Any], Asked], Answer]:
    """For what comes by the clock, at no fixed place of a run: heartbeats, progress."""

    def call(port: Watched[Any], /, *arguments: Asked.args, **named: Asked.kwargs) -> Answer:
        answer: Answer = getattr(port.target, method.__name__)(*arguments, **named)
        return answer

    return call


class WatchedSurveyor(Watched[Surveyor]):
    tables = told(Surveyor.tables)
    survey = told(Surveyor.survey)
    copy_inputs = told(Surveyor.copy_inputs)
    delete_entries = told(Surveyor.delete_entries)
    reachable = told(Surveyor.reachable)
    location = told(Surveyor.location)
    locations = told(Surveyor.locations)
    other_registration = told(Surveyor.other_registration)
    path_twin = told(Surveyor.path_twin)
    metadata_owners = told(Surveyor.metadata_owners)
    not_of_tables = told(Surveyor.not_of_tables)
    needed = told(Surveyor.needed)
    outline = told(Surveyor.outline)
    freed_files = told(Surveyor.freed_files)
    present_files = told(Surveyor.present_files)


class WatchedMetadata(Watched[MetadataWriter]):
    commit = told(MetadataWriter.commit)


class WatchedLog(Watched[MaintenanceLog]):
    write = told(MaintenanceLog.write)


class WatchedEngine(Watched[Engine]):
    job = told(Engine.job)
    cancel = told(Engine.cancel)
    warm_up = told(Engine.warm_up)
    stage = told(Engine.stage)
    commit_staged = told(Engine.commit_staged)
    rewrite = told(Engine.rewrite)
    misread = told(Engine.misread)
    execute = told(Engine.execute)
    run_tasks = told(Engine.run_tasks)
    replace_files = told(Engine.replace_files)
    move_deletes = told(Engine.move_deletes)
    change_files = told(Engine.change_files)
    live_rows = told(Engine.live_rows)
    fingerprint = told(Engine.fingerprint)
    live_positions = told(Engine.live_positions)
    delete_files = told(Engine.delete_files)
    unreachable = told(Engine.unreachable)
    sweep = told(Engine.sweep)
    look_up = told(Engine.look_up)


class WatchedQuarantine(Watched[Quarantine]):
    add = told(Quarantine.add)
    entries = told(Quarantine.entries)
    due = told(Quarantine.due)
    move = told(Quarantine.move)
    record_sweep = told(Quarantine.record_sweep)
    was_swept = told(Quarantine.was_swept)


class WatchedConsumers(Watched[Consumers]):
    add = told(Consumers.add)
    remove = told(Consumers.remove)
    all = told(Consumers.all)


class WatchedKeptPlans(Watched[KeptPlans]):
    keep = told(KeptPlans.keep)
    plan = told(KeptPlans.plan)
    newest = told(KeptPlans.newest)
    approve = told(KeptPlans.approve)


class WatchedStore(Watched[JobStore]):
    submit = told(JobQueue.submit)
    submit_all = told(JobQueue.submit_all)
    job_of_key = told(JobQueue.job_of_key)
    active_tables = told(JobQueue.active_tables)
    cancel = told(JobQueue.cancel)
    jobs = told(JobQueue.jobs)
    job = told(JobQueue.job)
    unfinished = told(JobQueue.unfinished)
    settle = told(JobQueue.settle)
    requeue = told(JobQueue.requeue)
    dead_jobs = told(JobQueue.dead_jobs)
    dismiss = told(JobQueue.dismiss)
    begin = told(Leases.begin)
    claim_job = told(Leases.claim_job)
    claim_next = told(Leases.claim_next)
    renew = untold(Leases.renew)
    set_state = told(Leases.set_state)
    end = told(Leases.end)
    retry = told(Leases.retry)
    hand_back = told(Leases.hand_back)
    release = told(Leases.release)
    finish = told(Outcomes.finish)
    outcomes = told(Outcomes.outcomes)
    add_uncommitted_files = told(UncommittedFiles.add_uncommitted_files)
    uncommitted_files = told(UncommittedFiles.uncommitted_files)
    writers_of_uncommitted_files = told(UncommittedFiles.writers_of_uncommitted_files)
    now = told(Schedules.now)
    record_run = told(Schedules.record_run)
    schedule_state = told(Schedules.schedule_state)
    schedule_states = told(Schedules.schedule_states)
    record_turns = told(Schedules.record_turns)
    pause = told(Schedules.pause)
    resume = told(Schedules.resume)
    failures_in_a_row = told(SetAsideTables.failures_in_a_row)
    set_aside = told(SetAsideTables.set_aside)
    put_back = told(SetAsideTables.put_back)
    set_aside_tables = told(SetAsideTables.set_aside_tables)
    append_event = untold(Events.append_event)
    events_after = told(Events.events_after)

    @property
    def quarantine(self) -> Quarantine:
        return WatchedQuarantine(f"{self.name}.quarantine", self.target.quarantine, self.at)

    @property
    def plans(self) -> KeptPlans:
        return WatchedKeptPlans(f"{self.name}.plans", self.target.plans, self.at)

    @property
    def marks(self) -> Marks:
        return self.target.marks

    @property
    def api_keys(self) -> ApiKeys:
        return self.target.api_keys

    @property
    def audit(self) -> Audit:
        return self.target.audit

    @property
    def rooms(self) -> Rooms:
        return self.target.rooms

    @property
    def approvals(self) -> Approvals:
        return self.target.approvals

    @property
    def policies(self) -> StoredPolicies:
        return self.target.policies

    @property
    def workers(self) -> Workers:
        return self.target.workers

    @property
    def writes(self) -> Writes:
        return self.target.writes

    @property
    def totals(self) -> StoreTotals:
        return self.target.totals

    def usage(self, tenant: str, day: date) -> Usage:
        return self.target.usage(tenant, day)

    @property
    def consumers(self) -> Consumers:
        return WatchedConsumers(f"{self.name}.consumers", self.target.consumers, self.at)
