"""Orphan files: found, put into quarantine, and deleted only after a delay and a second look.

A sweep lists files, reads metadata then, and takes a file for an orphan only where the walk over
the metadata and the engine's own reading agree. Deleting repeats all of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from neve.model.errors import InputError
from neve.model.job import JobRequest
from neve.model.operation import Operation
from neve.model.orphans import OrphanRules, QuarantineEntry, QuarantineState, SweepReport
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.sizes import format_size
from neve.model.table import TableRef
from neve.planning.locations import path_of
from neve.service.lease import HeldLease
from neve.service.purge import Changes, purge_due
from neve.service.recover import settle_left_behind
from neve.service.run_job import JobContext, run_request
from neve.service.services import Services
from neve.service.sweep import OPEN_STATES, Found, Sweeper, refuse_if

OPERATION = str(Operation.REMOVE_ORPHAN_FILES)


@dataclass(frozen=True, slots=True)
class Swept:
    """The end of a run that may change something, and what it was based on."""

    outcome: Outcome
    #: None where it was cancelled before there was one.
    report: SweepReport | None


def find_orphans(services: Services, table: TableRef, rules: OrphanRules) -> SweepReport:
    """The dry run: nothing is changed, and the store remembers that it was done."""
    job_id = str(uuid.uuid4())
    settle_left_behind(services, table)
    report = Sweeper(services, table, rules, job_id).look().report
    services.store.quarantine.record_sweep(table, report.table_uuid, job_id, report.found)
    return report


def sweep_orphans(
    services: Services, table: TableRef, rules: OrphanRules, *, log: bool = True
) -> Outcome:
    """Delete what has waited long enough, and quarantine what is new; a first run only looks."""
    return change_orphans(services, table, rules, quarantine=True, purge=True, log=log).outcome


def change_orphans(
    services: Services,
    table: TableRef,
    rules: OrphanRules,
    *,
    quarantine: bool = False,
    purge: bool = False,
    log: bool = True,
) -> Swept:
    """Sweep under a claim on the table, then quarantine new orphans, delete due ones, or both."""
    reports: list[SweepReport] = []

    def sweep(context: JobContext) -> Outcome:
        found = Sweeper(context.services, table, rules, context.job_id).look()
        reports.append(found.report)
        changes = _change(found, context.held, quarantine=quarantine, purge=purge)
        return _outcome(found, changes, context.started_at)

    arguments = {"quarantine": quarantine, "purge": purge}
    outcome = run_request(services, JobRequest(table, OPERATION, arguments), sweep, log=log)
    return Swept(outcome, reports[0] if reports else None)


def restore_orphans(
    services: Services, table: TableRef, paths: Sequence[str]
) -> list[QuarantineEntry]:
    """Take entries off the list, all of them where none is named; the files stay for good."""
    entries: list[QuarantineEntry] = []

    def restore(context: JobContext) -> Outcome:
        chosen = _chosen(table, quarantined(context.services, table), paths)
        context.check()
        ids = [entry.entry_id for entry in chosen]
        quarantine = context.services.store.quarantine
        quarantine.move(ids, QuarantineState.RESTORED, "Restored by a person.")
        entries.extend(chosen)
        return Outcome(
            job_id=context.job_id,
            table=table,
            operation=OPERATION,
            status=Status.SUCCEEDED,
            reason=f"{len(chosen)} files were taken off the quarantine.",
            started_at=context.started_at,
            finished_at=context.services.clock(),
        )

    # A purge that is under way must end first: what it deletes cannot be restored.
    request = JobRequest(table, OPERATION, {"restore": list(paths)})
    run_request(services, request, restore, log=False)
    return entries


def _chosen(
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
            next_step=f"See neve orphans {table} --list.",
        )
    return chosen


def quarantined(services: Services, table: TableRef) -> list[QuarantineEntry]:
    """Entries of the table that wait for being deleted."""
    home = services.surveyor.location(table)
    return services.store.quarantine.entries(home.table_uuid, OPEN_STATES)


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
    return f"{report.found.files} orphans of {format_size(report.found.size_bytes)} were found."


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
        parts.append(f"{changes.quarantined} were put into quarantine.")
    if purged.files:
        parts.append(f"{purged.files} were deleted, {format_size(purged.size_bytes)}.")
    if changes.released:
        parts.append(
            f"{len(changes.released)} left the quarantine, because they are orphans no more."
        )
    if changes.left:
        parts.append(f"{changes.left} could not be deleted and stay on the list.")
    return " ".join(parts)
