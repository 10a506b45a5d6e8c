"""What the service needs from the world. Engines, catalogs and stores implement these."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from neve.model.facts import PartitionKey, TableFacts
from neve.model.job import Job, JobState, Lease
from neve.model.outcome import Outcome
from neve.model.plan import RewriteDataFiles
from neve.model.rewrite import (
    CopyInputs,
    FileDetails,
    SpliceOrder,
    SpliceReport,
    SpliceRequirements,
)
from neve.model.table import TableRef


class Clock(Protocol):
    """Tells the time."""

    def __call__(self) -> datetime: ...


class Reporter(Protocol):
    """Tells the user what is going on."""

    def __call__(self, message: str) -> None:
        """Say what begins now."""
        ...

    def progress(self, done: int, total: int) -> None:
        """Say how much of it is done."""
        ...


class Surveyor(Protocol):
    """Reads table metadata."""

    def tables(self, pattern: str) -> list[TableRef]: ...

    def survey(
        self, table: TableRef, *, where: str | None = None, snapshot_id: int | None = None
    ) -> TableFacts: ...

    def copy_inputs(
        self,
        table: TableRef,
        snapshot_id: int,
        paths: Collection[str],
        outputs: Sequence[tuple[PartitionKey, Sequence[str]]],
    ) -> CopyInputs: ...


class Engine(Protocol):
    """Changes tables."""

    def rewrite(
        self,
        table: TableRef,
        step: RewriteDataFiles,
        properties: Mapping[str, str],
        say: Reporter,
    ) -> None: ...

    def execute(
        self, table: TableRef, step: object, properties: Mapping[str, str], say: Reporter
    ) -> None: ...

    def splice(
        self,
        table: TableRef,
        orders: Sequence[SpliceOrder],
        wanted: SpliceRequirements,
        say: Reporter,
    ) -> list[SpliceReport]: ...

    def replace_files(
        self,
        table: TableRef,
        snapshot_id: int,
        removed: Sequence[FileDetails],
        added: Sequence[FileDetails],
        properties: Mapping[str, str],
    ) -> None: ...

    def create_tag(self, table: TableRef, snapshot_id: int, name: str, max_age_ms: int) -> None: ...

    def remove_tag(self, table: TableRef, name: str) -> None: ...

    def roll_back(self, table: TableRef, snapshot_id: int) -> None: ...

    def live_rows(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> dict[str, int]: ...

    def write_log(self, outcome: Outcome) -> TableRef: ...


class JobStore(Protocol):
    """Remembers jobs and hands out leases. Every time in it is the store's own."""

    def claim(self, job_id: str, table: TableRef, operation: str, seconds: float) -> Lease:
        """Begin a job as the only writer of the table, or raise TableBusy."""
        ...

    def renew(self, lease: Lease, seconds: float) -> Lease:
        """Hold the table for longer, or raise LeaseLost."""
        ...

    def set_state(self, lease: Lease, state: JobState, reason: str = "") -> None:
        """Move the job on, or raise LeaseLost."""
        ...

    def finish(self, lease: Lease, outcome: Outcome) -> None:
        """End the job with its outcome."""
        ...

    def release(self, lease: Lease) -> None:
        """Give the table free."""
        ...

    def settle(self, job_id: str, state: JobState, reason: str) -> None:
        """Give a job that was left behind the state that the table shows."""
        ...

    def unfinished(self, table: TableRef) -> list[Job]:
        """Jobs of the table that were left without an end, and are not running now."""
        ...

    def add_leftovers(self, job_id: str, table: TableRef, paths: Sequence[str]) -> None:
        """Remember files that were written and not committed. The sweeper will look at them."""
        ...

    def leftovers(self, table: TableRef) -> list[str]:
        """Files that jobs on the table wrote and did not commit."""
        ...

    def jobs(self, table: TableRef | None = None, limit: int = 100) -> list[Job]:
        """Jobs, newest first."""
        ...

    def job(self, job_id: str) -> Job | None: ...

    def outcomes(self, limit: int = 200) -> list[Outcome]:
        """Outcomes of finished jobs, newest first."""
        ...
