"""What every store says and reads alike: its refusals, and values from their texts."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from neve.documents import from_text
from neve.model.errors import InputError, LeaseLost, TableBusy
from neve.model.job import Job, Lease
from neve.model.outcome import Outcome
from neve.model.table import TableRef, read_name

CANCELLED_BEFORE = "It was cancelled before it began."


@lru_cache(maxsize=65_536)
def table_of(name: str) -> TableRef:
    """A stored name; one that this version would not accept must not hide all the others."""
    try:
        catalog, *namespace, table = read_name(name)
    except (InputError, ValueError):
        return TableRef("?", (), name)
    return TableRef(catalog, tuple(namespace), table)


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


def outcome_of(job: Job) -> Outcome | None:
    """The job's outcome; one of another version of Neve is not learned from."""
    try:
        return _parse(job.outcome or "")
    except ValueError:
        return None


@lru_cache(maxsize=512)
def _parse(text: str) -> Outcome:
    """Every plan learns from the same past outcomes, and they never change."""
    return from_text(Outcome, text)


def no_job(job_id: str) -> InputError:
    return InputError(f"There is no job {job_id}.", next_step="neve jobs lists them.")


def has_begun(job_id: str) -> TableBusy:
    return TableBusy(
        f"Job {job_id} has begun already, or is over.", next_step="neve jobs shows its state."
    )


def table_busy(holder: str, table: TableRef) -> TableBusy:
    return TableBusy(
        f"Job {holder} is working on table {table}.",
        next_step="Wait for it to end: neve jobs shows it.",
    )


def lease_lost(lease: Lease) -> LeaseLost:
    return LeaseLost(
        f"Job {lease.job_id} lost its claim on table {lease.table} and must not commit.",
        next_step="Run the command again; where this machine stood still meanwhile, raise "
        "state.lease_seconds.",
    )
