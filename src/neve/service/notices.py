"""Telling people how jobs end: once when a table begins to fail, once when it is well again.

What is failing is a mark in the store, changed by compare-and-set, so that of several workers one
tells it. Nothing in here fails a job: what goes wrong is logged.
"""

from __future__ import annotations

from neve.model.errors import NeveError, NotificationError, StoreError
from neve.model.job import Job, JobState
from neve.model.notices import Notice, NoticeKind
from neve.model.outcome import Outcome
from neve.model.policies import EffectivePolicy
from neve.model.table import TableRef
from neve.service.services import Services

#: How a job ends that somebody should look at; one of unknown end may have to be settled.
FAILED = (JobState.FAILED, JobState.UNKNOWN)
#: Others may change the same mark meanwhile.
MAX_TRIES = 20


def notify_end(services: Services, job: Job | None, outcome: Outcome | None = None) -> None:
    """Tell the channels of the table's policy, where this end is a change for the table.

    A job that is queued again has not ended, and one that was cancelled says nothing of its table.
    """
    if services.notifier is None or job is None:
        return
    if job.state not in (*FAILED, JobState.SUCCEEDED):
        return
    try:
        _tell_change(services, job, outcome)
    except NeveError as error:
        services.warn(f"Nobody was told how job {job.job_id} ended: {error.message}")


def notify_job(services: Services, job_id: str, outcome: Outcome | None = None) -> None:
    """The same by the job's id; the store is asked only where somebody wants to be told."""
    if services.notifier is None:
        return
    try:
        job = services.store.job(job_id)
    except StoreError as error:
        services.warn(f"Nobody was told how job {job_id} ended: {error.message}")
        return
    notify_end(services, job, outcome)


def _tell_change(services: Services, job: Job, outcome: Outcome | None) -> None:
    has_failed = job.state in FAILED
    name = f"failing {job.table}"
    changed = _change(services, name, job.operation, has_failed)
    if changed is None:
        return
    before, after = changed
    if bool(before) == bool(after):
        # Another operation of the table fails already, or still.
        return
    notify = policy_of(services, job.table, is_for_trino=job.request.is_for_trino).notify
    channels = notify.failures if has_failed else notify.recoveries
    notice = _failure(job) if has_failed else _recovery(job, outcome)
    heard = [send(services, channel, notice) for channel in channels]
    if channels and not any(heard):
        # Nobody heard of it, so that the next end of a job tells it.
        services.store.marks.set(name, before, expected=after)


def _change(
    services: Services, name: str, operation: str, has_failed: bool
) -> tuple[str, str] | None:
    """Add the operation to those that fail, or take it off; None where it was so already."""
    marks = services.store.marks
    for _ in range(MAX_TRIES):
        before = marks.get(name)
        known = {item for item in before.split(",") if item}
        wanted = known | {operation} if has_failed else known - {operation}
        if wanted == known:
            return None
        after = ",".join(sorted(wanted))
        if marks.set(name, after, expected=before):
            return before, after
    raise StoreError(f"The mark {name!r} keeps changing.")


def policy_of(
    services: Services, table: TableRef, *, is_for_trino: bool = False
) -> EffectivePolicy:
    """The table's policy; without its properties where the catalog does not tell them."""
    if not is_for_trino:
        try:
            return services.effective(table)
        except NeveError:
            # That a catalog does not answer is the very thing that somebody wants to hear.
            pass
    return services.policies.by_name(table)


def send(services: Services, channel: str, notice: Notice) -> bool:
    """Send it, or log why not."""
    assert services.notifier is not None
    try:
        services.notifier.send(channel, notice)
    except NotificationError as error:
        services.warn(f"The channel {channel!r} was not told {notice.title!r}: {error.message}")
        return False
    return True


def _failure(job: Job) -> Notice:
    state = "failed" if job.state is JobState.FAILED else "ended, nobody knows how"
    lines = [
        job.reason or "No reason was given.",
        "",
        *_facts(job),
        f"Attempts: {job.attempts} of {job.max_attempts}",
        f"Look at it: neve job {job.job_id}",
        "Further failures of the table are not told until it is well again.",
    ]
    return Notice(
        NoticeKind.FAILURE, f"Neve: {job.operation} on {job.table} {state}", "\n".join(lines)
    )


def _recovery(job: Job, outcome: Outcome | None) -> Notice:
    said = outcome.reason if outcome else job.reason
    lines = [said or "It succeeded.", "", *_facts(job)]
    return Notice(
        NoticeKind.RECOVERY,
        f"Neve: {job.operation} on {job.table} succeeds again",
        "\n".join(lines),
    )


def _facts(job: Job) -> list[str]:
    return [
        f"Table: {job.table}",
        f"Operation: {job.operation}",
        f"Job: {job.job_id}",
        f"Ended: {job.updated_at:%Y-%m-%d %H:%M:%S} UTC",
    ]
