"""Trino as the engine of jobs: it runs an operation whole, and says how the table counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from neve.model.errors import CatalogError, InputError, NeveError
from neve.model.operation import Operation
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.table import TableRef
from neve.trino.cursor import Cursor, Errors
from neve.trino.operations import run_expire_snapshots, run_optimize, run_remove_orphan_files
from neve.trino.quoting import place_of
from neve.trino.selection import select_tables
from neve.trino.sentences import Counts, describe, error_sentence, intend
from neve.trino.settings import DEFAULT_SETTINGS, MaintenanceSettings
from neve.trino.tables import get_file_count, get_snapshot_count

#: In the order in which they are run.
OPERATIONS = (
    Operation.REWRITE_DATA_FILES,
    Operation.EXPIRE_SNAPSHOTS,
    Operation.REMOVE_ORPHAN_FILES,
)
NO_ANSWER = "Trino did not answer, and may have done it, or do it yet:"
Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class TrinoProcedures:
    """Operations over one cursor; `errors` are what its driver raises."""

    cursor: Cursor
    errors: Errors
    settings: MaintenanceSettings = DEFAULT_SETTINGS
    #: Of the errors, those after which nobody knows how far Trino came.
    lost: Errors = (OSError,)

    @property
    def operations(self) -> tuple[Operation, ...]:
        return OPERATIONS

    def find(self, patterns: Sequence[str]) -> list[TableRef]:
        """Tables of users that any of the patterns is for; those of the schema without any."""
        found = select_tables(self.cursor, patterns, self.settings, self.errors)
        if patterns and not found:
            raise InputError(
                f"No table in Trino matches {' '.join(patterns)}.",
                next_step="Check the spelling, and trino.catalog and trino.schema in neve.yaml.",
            )
        return found

    def plan(self, table: TableRef) -> dict[Operation, str]:
        """What each operation would be asked to do; raises where the table cannot be read."""
        try:
            counts = self._count(table)
        except self.errors as error:
            raise CatalogError(
                f"Trino cannot read table {table}: {error_sentence(error)}",
                next_step="Look at the table with SELECT in Trino.",
            ) from error
        return {operation: intend(operation, counts, self.settings) for operation in OPERATIONS}

    def run(self, table: TableRef, operation: Operation, job_id: str, clock: Clock) -> Outcome:
        """Run it to its end. A failure is an outcome, too; unknown, where nobody answered."""
        started_at = clock()
        before = self._count_if_possible(table)
        status, problem = self._execute(table, operation)
        after = self._count_if_possible(table)
        return Outcome(
            job_id=job_id,
            table=table,
            operation=str(operation),
            status=status,
            reason=problem or describe(operation, before, after),
            started_at=started_at,
            finished_at=clock(),
            stats=CompactionStats(files_before=before.files, files_after=after.files),
            snapshots_before=before.snapshots,
            snapshots_after=after.snapshots,
            figures_before=before.figures(),
            figures_after=after.figures(),
        )

    def _execute(self, table: TableRef, operation: Operation) -> tuple[Status, str]:
        """How it ended, and what is wrong, if anything is."""
        try:
            self._action(table, operation)()
        except NeveError as error:
            # Refused before anything was sent: a name that Trino cannot address.
            return Status.FAILED, error.message
        except self.lost as error:
            return Status.UNKNOWN, f"{NO_ANSWER} {error_sentence(error)}"
        except self.errors as error:
            return Status.FAILED, error_sentence(error)
        return Status.SUCCEEDED, ""

    def _action(self, table: TableRef, operation: Operation) -> Callable[[], None]:
        settings, place = self.settings, place_of(table)
        match operation:
            case Operation.REWRITE_DATA_FILES:
                return partial(
                    run_optimize,
                    self.cursor,
                    table.name,
                    file_size_threshold=settings.file_size_threshold,
                    **place,
                )
            case Operation.EXPIRE_SNAPSHOTS:
                return partial(
                    run_expire_snapshots,
                    self.cursor,
                    table.name,
                    retention=settings.snapshot_retention,
                    min_retention=settings.min_retention,
                    **place,
                )
            case Operation.REMOVE_ORPHAN_FILES:
                return partial(
                    run_remove_orphan_files,
                    self.cursor,
                    table.name,
                    retention=settings.orphan_retention,
                    min_retention=settings.min_retention,
                    **place,
                )
        raise InputError(f"Trino has no operation {operation}.")

    def _count(self, table: TableRef) -> Counts:
        return Counts(
            snapshots=get_snapshot_count(self.cursor, table.name, **place_of(table)),
            files=get_file_count(self.cursor, table.name, **place_of(table)),
        )

    def _count_if_possible(self, table: TableRef) -> Counts:
        """A table that cannot be counted may still be maintained."""
        try:
            return self._count(table)
        except NeveError:
            return Counts()
        except self.errors:
            return Counts()
