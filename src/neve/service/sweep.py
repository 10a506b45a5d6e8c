"""One sweep of a table: list, compare, ask the engine, and apply every guard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from neve.model.errors import JobRefused
from neve.model.facts import EPOCH
from neve.model.job import Job
from neve.model.orphans import (
    FileTotals,
    KeptReason,
    ListedFile,
    Listing,
    Orphan,
    OrphanRules,
    QuarantineEntry,
    QuarantineState,
    Sweep,
    SweepReport,
    TableLocation,
)
from neve.model.table import TableRef
from neve.planning.locations import path_of, text_key
from neve.planning.operations import remove_orphan_files as guards
from neve.planning.operations.intent import PATH_TWIN_NEXT_STEP, why_twin_by_path
from neve.service.services import Services

OPEN_STATES = tuple(state for state in QuarantineState if state.is_open)
NEXT_STEP = "Nothing was changed."
FOREIGN_METADATA_NEXT_STEP = (
    "Register it in a catalog that Neve knows, or delete its metadata files if nobody needs it."
)


@dataclass(frozen=True, slots=True)
class Found:
    """One sweep: what it saw, and what it means for entries of the quarantine."""

    sweeper: Sweeper
    sweep: Sweep
    report: SweepReport


@dataclass(frozen=True, slots=True)
class Sweeper:
    services: Services
    table: TableRef
    rules: OrphanRules
    job_id: str

    def look(self) -> Found:
        """List, compare, ask the engine, and apply every guard."""
        services, place = self.services, self.services.surveyor.location(self.table)
        now = services.clock()
        others = [other for other in services.surveyor.locations() if other.table != self.table]
        roots, not_listed = guards.roots_of(place)
        refuse_if(guards.gc_refusal(place))
        twin = services.surveyor.path_twin(self.table)
        refuse_if(why_twin_by_path(self.table, twin), PATH_TWIN_NEXT_STEP)
        refuse_if(guards.overlap_refusal(place, roots, others))
        limit, why = guards.cutoff(now, self.rules, self._unfinished())
        listing = Listing(
            roots=roots,
            foreign=guards.foreign_locations(roots, others),
            partition_fields=place.partition_fields,
            cutoff_ms=_milliseconds(limit),
            now_ms=_milliseconds(now),
        )
        services.reporter(f"Listing files of {self.table} …")
        sweep = services.engine.sweep(
            self.table,
            listing,
            lambda: services.surveyor.reachable(self.table),
            [entry.orphan.path for entry in self._entries(place, OPEN_STATES)],
            services.reporter,
        )
        refuse_if(guards.changed_place_refusal(place, sweep))
        refuse_if(guards.nothing_reached_refusal(sweep))
        refuse_if(guards.elsewhere_refusal(sweep))
        self._refuse_foreign_metadata(place, sweep)
        sweep = self._without_files_of_no_table(self._without_restored(place, sweep))
        sweep = self._second_opinion(sweep)
        needed = services.surveyor.needed(
            self.table, [file.path for file in sweep.candidates], sweep.reachable.paths
        )
        sweep = self._without_needed(sweep, needed)
        report = SweepReport(
            table=self.table,
            table_uuid=place.table_uuid,
            swept_at=now,
            cutoff=limit,
            cutoff_reason=why,
            listed=sweep.listed,
            kept=sweep.kept,
            orphans=self._orphans(sweep),
            found=sweep.orphans,
            not_listed=not_listed,
            referenced_by=tuple(sorted(set(needed.values()) - {self.table})),
            stop=guards.ratio_refusal(sweep, self.rules.max_orphan_ratio),
            is_first=not services.store.quarantine.was_swept(place.table_uuid),
        )
        return Found(self, sweep, report)

    def _unfinished(self) -> list[Job]:
        """Jobs of the table without an end, left behind or running, but this one."""
        store = self.services.store
        jobs = [*store.unfinished(self.table), *store.jobs(self.table)]
        return [job for job in jobs if not job.state.is_final and job.job_id != self.job_id]

    def _entries(
        self, place: TableLocation, states: Sequence[QuarantineState]
    ) -> list[QuarantineEntry]:
        return self.services.store.quarantine.entries(place.table_uuid, states)

    def _without_restored(self, place: TableLocation, sweep: Sweep) -> Sweep:
        """What a person has restored is not marked again, whatever became of it since."""
        restored = {
            text_key(entry.orphan.path)
            for entry in self._entries(place, (QuarantineState.RESTORED,))
        }
        kept = [file for file in sweep.candidates if text_key(file.path) in restored]
        return _with_kept(sweep, KeptReason.RESTORED, kept)

    def _refuse_foreign_metadata(self, place: TableLocation, sweep: Sweep) -> None:
        """Of two tables in one folder, each may need what the other does not reach."""
        owners = self.services.surveyor.metadata_owners(self.table, sweep.metadata_files)
        refuse_if(guards.foreign_metadata_refusal(place, owners), FOREIGN_METADATA_NEXT_STEP)

    def _without_files_of_no_table(self, sweep: Sweep) -> Sweep:
        """What keeps the catalogs and Neve itself going is no orphan, wherever it lies."""
        paths = [file.path for file in sweep.candidates]
        found = self.services.surveyor.not_of_tables(self.table, paths)
        kept = [file for file in sweep.candidates if file.path in found]
        return _with_kept(sweep, KeptReason.NOT_OF_TABLES, kept)

    def _second_opinion(self, sweep: Sweep) -> Sweep:
        """Only what the engine does not reach either stays a candidate."""
        if not sweep.candidates:
            return sweep
        self.services.reporter(
            f"Asking Spark about {len(sweep.candidates)} candidates of {self.table} …"
        )
        paths = [file.path for file in sweep.candidates]
        agreed = set(self.services.engine.unreachable(self.table, paths))
        kept = [file for file in sweep.candidates if file.path not in agreed]
        return _with_kept(sweep, KeptReason.REACHABLE_IN_ENGINE, kept)

    def _without_needed(self, sweep: Sweep, needed: Mapping[str, TableRef]) -> Sweep:
        """What the table reaches by another name stays, and what any other table reaches."""
        for why, is_own in ((KeptReason.REACHABLE, True), (KeptReason.REFERENCED, False)):
            kept = [
                file
                for file in sweep.candidates
                if file.path in needed and (needed[file.path] == self.table) is is_own
            ]
            sweep = _with_kept(sweep, why, kept)
        return sweep

    def _orphans(self, sweep: Sweep) -> tuple[Orphan, ...]:
        written = self.services.store.writers_of_uncommitted_files(self.table)
        leftovers = {path_of(path): job_id for path, job_id in written.items()}
        return tuple(guards.as_orphan(file, leftovers) for file in sweep.candidates)


def _with_kept(sweep: Sweep, why: KeptReason, files: Sequence[ListedFile]) -> Sweep:
    """The sweep with some candidates kept after all, for entries in the quarantine, too."""
    if not files:
        return sweep
    paths = {file.path for file in files}
    total = FileTotals(len(files), sum(file.size_bytes for file in files))
    before = sweep.kept.get(why, FileTotals())
    kept = FileTotals(before.files + total.files, before.size_bytes + total.size_bytes)
    return replace(
        sweep,
        candidates=tuple(file for file in sweep.candidates if file.path not in paths),
        orphans=FileTotals(
            sweep.orphans.files - total.files, sweep.orphans.size_bytes - total.size_bytes
        ),
        kept={**sweep.kept, why: kept},
        watched={
            path: (file, why if path in paths else keep)
            for path, (file, keep) in sweep.watched.items()
        },
    )


def refuse_if(reason: str | None, next_step: str = NEXT_STEP) -> None:
    if reason:
        raise JobRefused(reason, next_step=next_step)


def _milliseconds(moment: datetime) -> int:
    return int((moment - EPOCH).total_seconds() * 1000)
