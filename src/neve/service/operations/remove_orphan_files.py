"""Orphan files: found, put into quarantine, and deleted only after a delay and a second look.

A sweep lists files, reads metadata then, and takes a file for an orphan only where the walk over
the metadata and the engine's own reading agree. Deleting repeats all of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from neve.model.counts import many, verb
from neve.model.errors import InputError
from neve.model.facts import TableFacts
from neve.model.job import JobRequest
from neve.model.operation import Operation
from neve.model.orphans import OrphanRules, QuarantineEntry, QuarantineState, SweepReport
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.plan import Plan
from neve.model.policies import EffectivePolicy
from neve.model.sizes import format_size
from neve.model.steps import RemoveOrphanFiles
from neve.model.table import TableRef
from neve.planning.locations import path_of
from neve.planning.operations.intent import operation_plan
from neve.service.context import JobContext, Prepared, overrides_of
from neve.service.lease import HeldLease
from neve.service.purge import Changes, purge_due
from neve.service.recover import settle_left_behind
from neve.service.services import Services
from neve.service.sweep import OPEN_STATES, Found, Sweeper, refuse_if

OPERATION = str(Operation.REMOVE_ORPHAN_FILES)
#: Paths among the arguments of a request that are to be taken off the list; none means all.
RESTORE = "restore"
FLAGS = ("quarantine", "purge")


def find_orphans(services: Services, table: TableRef, rules: OrphanRules) -> SweepReport:
    """The dry run: nothing is changed, and the store remembers that it was done."""
    job_id = str(uuid.uuid4())
    settle_left_behind(services, table)
    report = Sweeper(services, table, rules, job_id).look().report
    services.store.quarantine.record_sweep(table, report.table_uuid, job_id, report.found)
    return report


@dataclass(frozen=True, slots=True)
class OrphansHandler:
    """Quarantines new orphans, deletes those that waited, or takes some off the list."""

    operation: ClassVar[Operation] = Operation.REMOVE_ORPHAN_FILES
    name: ClassVar[str] = OPERATION
    arguments: ClassVar[tuple[str, ...]] = (RESTORE, *FLAGS)

    def prepare(self, services: Services, request: JobRequest) -> None:
        asked = _asked(request)
        if not isinstance(asked, RemoveOrphanFiles):
            # A path that is not listed is told now, not by a job that fails later.
            chosen_entries(request.table, quarantined(services, request.table), asked)
        if said := overrides_of(request):
            services.policies.effective(services.surveyor.outline(request.table), said)

    def plan(
        self, services: Services, facts: TableFacts, policy: EffectivePolicy
    ) -> Plan[RemoveOrphanFiles]:
        """Whether there are any is only known after listing the files."""
        reason = "Files are listed, and orphans go into quarantine."
        step = RemoveOrphanFiles(quarantine=True, purge=True)
        return operation_plan(self.operation, facts, services.clock(), [step], reason)

    def run(self, context: JobContext, prepared: Prepared | None = None) -> Outcome:
        asked = _asked(context.request)
        if not isinstance(asked, RemoveOrphanFiles):
            return restore(context, asked)
        rules = context.policy(context.services.surveyor.outline(context.table)).remove_orphan_files
        return sweep(context, rules, asked)


def _asked(request: JobRequest) -> RemoveOrphanFiles | list[str]:
    """The sweep that a request asks for, or the paths to restore. Nothing in it is guessed."""
    arguments = request.arguments
    flags = {key: arguments[key] for key in FLAGS if key in arguments}
    if RESTORE in arguments:
        if flags:
            raise InputError("Files are restored or swept, not both.")
        paths = arguments[RESTORE]
        if not isinstance(paths, list | tuple) or not all(isinstance(p, str) for p in paths):
            raise InputError(f"{RESTORE} is {paths!r}, and not a list of paths.")
        return [str(path) for path in paths]
    for key, value in flags.items():
        if not isinstance(value, bool):
            raise InputError(f"{key} is {value!r}, and not true or false.")
    # A policy that asks for sweeps asks for all of one.
    every = not flags
    return RemoveOrphanFiles(
        quarantine=bool(flags.get("quarantine", every)), purge=bool(flags.get("purge", every))
    )


def sweep(context: JobContext, rules: OrphanRules, step: RemoveOrphanFiles) -> Outcome:
    """Delete what has waited long enough, quarantine what is new; a first run only looks."""
    found = Sweeper(context.services, context.table, rules, context.job_id).look()
    changes = _change(found, context.held, quarantine=step.quarantine, purge=step.purge)
    return _outcome(found, changes, context.started_at)


def restore(context: JobContext, paths: Sequence[str]) -> Outcome:
    """Take entries off the list, all of them where none is named; the files stay for good.

    A purge that is under way must end first: what it deletes cannot be restored.
    """
    services = context.services
    chosen = chosen_entries(context.table, quarantined(services, context.table), paths)
    context.check()
    ids = [entry.entry_id for entry in chosen]
    services.store.quarantine.move(ids, QuarantineState.RESTORED, "Restored by a person.")
    return Outcome(
        job_id=context.job_id,
        table=context.table,
        operation=OPERATION,
        status=Status.SUCCEEDED,
        reason=f"{many(len(chosen), 'file')} {verb(len(chosen), 'was', 'were')} taken off the "
        "quarantine.",
        started_at=context.started_at,
        finished_at=services.clock(),
    )


def chosen_entries(
    table: TableRef, entries: list[QuarantineEntry], paths: Sequence[str]
) -> list[QuarantineEntry]:
    if not paths:
        return entries
    wanted = {path_of(path): path for path in paths}
    chosen = [entry for entry in entries if path_of(entry.orphan.path) in wanted]
    missing = wanted.keys() - {path_of(entry.orphan.path) for entry in chosen}
    if missing:
        raise InputError(
            f"{wanted[min(missing)]} is not in the quarantine of table {table}.",
            next_step=f"See neve orphans {table.typed} --list.",
        )
    return chosen


def quarantined(services: Services, table: TableRef) -> list[QuarantineEntry]:
    """Entries of the table that are waiting to be deleted."""
    location = services.surveyor.location(table)
    return services.store.quarantine.entries(location.table_uuid, OPEN_STATES)


def _change(found: Found, held: HeldLease, *, quarantine: bool, purge: bool) -> Changes:
    sweeper, report = found.sweeper, found.report
    list_ = sweeper.services.store.quarantine
    if report.is_first:
        held.check()
        list_.record_sweep(report.table, report.table_uuid, sweeper.job_id, report.found)
        return Changes(
            reason=f"The first sweep of a table only looks: {_sentence(report)} "
            "The next one may quarantine them."
        )
    refuse_if(report.stop)
    changes = Changes()
    if purge:
        purge_due(found, held, changes)
    if quarantine:
        held.check()
        # The report is older than the deletions: what they took must not be listed again.
        settled = changes.settled_paths
        new = [orphan for orphan in report.orphans if orphan.path not in settled]
        changes.quarantined = list_.add(report.table, report.table_uuid, sweeper.job_id, new)
    held.check()
    list_.record_sweep(report.table, report.table_uuid, sweeper.job_id, report.found)
    return changes


def _sentence(report: SweepReport) -> str:
    files, size = report.found.files, format_size(report.found.size_bytes)
    return f"{many(files, 'orphan')} of {size} {verb(files, 'was', 'were')} found."


def _outcome(found: Found, changes: Changes, started_at: datetime) -> Outcome:
    report, sweep = found.report, found.sweep
    snapshots = len(sweep.reachable.snapshot_ids)
    figures = {
        "files": report.listed.files,
        "bytes": report.listed.size_bytes,
        "reachable_files": len(sweep.reachable.paths),
        "orphan_files": report.found.files,
        "orphan_bytes": report.found.size_bytes,
    }
    purged = changes.purged_totals
    did_something = changes.quarantined or purged.files or changes.released
    status = Status.SUCCEEDED if did_something else Status.NOTHING_TO_DO
    return Outcome(
        job_id=found.sweeper.job_id,
        table=report.table,
        operation=OPERATION,
        status=Status.FAILED if changes.left else status,
        reason=changes.reason or _what_happened(report, changes),
        started_at=started_at,
        finished_at=found.sweeper.services.clock(),
        stats=CompactionStats(
            files_before=report.listed.files,
            files_after=report.listed.files - purged.files,
            files_removed=purged.files,
            bytes_before=report.listed.size_bytes,
            bytes_after=report.listed.size_bytes - purged.size_bytes,
            bytes_saved=purged.size_bytes,
        ),
        snapshots_before=snapshots,
        snapshots_after=snapshots,
        figures_before=figures,
        figures_after={
            **figures,
            "files": report.listed.files - purged.files,
            "bytes": report.listed.size_bytes - purged.size_bytes,
            "orphan_files": report.found.files - purged.files,
            "orphan_bytes": report.found.size_bytes - purged.size_bytes,
            "quarantined_files": changes.quarantined,
            "purged_files": purged.files,
            "purged_bytes": purged.size_bytes,
            "released_files": len(changes.released),
        },
    )


def _what_happened(report: SweepReport, changes: Changes) -> str:
    parts, purged = [_sentence(report)], changes.purged_totals
    if changes.quarantined:
        parts.append(
            f"{changes.quarantined} {verb(changes.quarantined, 'was', 'were')} put into quarantine."
        )
    if purged.files:
        were = verb(purged.files, "was", "were")
        parts.append(f"{purged.files} {were} deleted, {format_size(purged.size_bytes)}.")
    if changes.released:
        parts.append(
            f"{len(changes.released)} left the quarantine, because they are orphans no more."
        )
    if changes.left:
        parts.append(f"{changes.left} could not be deleted and stay on the list.")
    return " ".join(parts)
