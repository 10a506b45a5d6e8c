"""The daily digest: one for each channel, about the tables whose policies name it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta

from neve.documents import from_text
from neve.model.errors import NeveError
from neve.model.job import Job, JobState
from neve.model.notices import Notice
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.planning.digest import (
    Digest,
    EndedJob,
    TableDay,
    bounds_of,
    day_before,
    table_day,
)
from neve.planning.digest_text import digest_notice
from neve.service.digest_turn import DigestTurn, begin_turn
from neve.service.notices import policy_of, send
from neve.service.services import Services

ATTEMPTS = 3
PAUSE_SECONDS = 5.0
FIRST_JOBS = 1000
MAX_JOBS = 1_000_000
#: A job that waited for longer before it ran is left out.
LONGEST_WAIT = timedelta(days=7)
KEY = "notify.digest"


def digest_if_due(services: Services, now: datetime | None = None) -> list[str]:
    """Send the digest of yesterday, if its hour has come and nobody has sent it.

    Whoever goes by a clock may call it as often as he likes.
    """
    if services.notifier is None:
        return []
    hour = services.digest_time
    day = day_before(now or services.clock(), hour.at, hour.timezone)
    return digest(services, day) if day is not None else []


def digest(services: Services, day: date) -> list[str]:
    """Send the digest of a day, once, whoever asks; returns the channels that got it now."""
    if services.notifier is None:
        return []
    sent: list[str] = []
    try:
        turn = begin_turn(services.store, day)
        if turn is not None:
            for channel, notice in _notices(services, day):
                if channel not in turn.told and _sent(services, turn, channel, notice):
                    sent.append(channel)
            turn.end()
    except NeveError as error:
        services.warn(f"The digest of {day} did not get to all: {error.message}")
    return sent


def _notices(services: Services, day: date) -> list[tuple[str, Notice]]:
    """What each channel is told."""
    days = _tables_by_channel(services, _ended(services, day))
    set_aside = tuple((item.table, item.reason) for item in services.store.set_aside_tables())
    found = []
    for channel, tables in sorted(days.items()):
        opens = sum(table.file_opens_saved for table in tables)
        saved = opens * services.cost_model.get_usd_per_1000 / 1000
        found.append((channel, digest_notice(Digest(day, tuple(tables), saved, set_aside))))
    return found


def _sent(services: Services, turn: DigestTurn, channel: str, notice: Notice) -> bool:
    """Send it and remember that, unless another process goes on with the turn by now."""
    for attempt in range(ATTEMPTS):
        if attempt:
            services.sleep(PAUSE_SECONDS)
        if not turn.keep():
            return False
        if send(services, channel, notice):
            turn.told.append(channel)
            turn.keep()
            return True
    return False


def _ended(services: Services, day: date) -> dict[TableRef, list[EndedJob]]:
    begin, end = bounds_of(day, services.digest_time.timezone)
    found: dict[TableRef, list[EndedJob]] = {}
    for job in reversed(_jobs_since(services, begin - LONGEST_WAIT)):
        is_over = job.state.is_final or job.state is JobState.UNKNOWN
        if is_over and begin <= job.updated_at < end:
            found.setdefault(job.table, []).append(EndedJob(job, _outcome(job)))
    return found


def _jobs_since(services: Services, begin: datetime) -> Sequence[Job]:
    limit = FIRST_JOBS
    while True:
        jobs = services.store.jobs(limit=limit)
        if len(jobs) < limit or jobs[-1].created_at < begin or limit >= MAX_JOBS:
            return jobs
        limit *= 10


def _outcome(job: Job) -> Outcome | None:
    try:
        return from_text(Outcome, job.outcome) if job.outcome else None
    except ValueError:
        # Written by another version.
        return None


def _tables_by_channel(
    services: Services, ended: Mapping[TableRef, Sequence[EndedJob]]
) -> dict[str, list[TableDay]]:
    """What each channel hears of; one that is configured hears also that nothing ran."""
    channels: dict[str, list[TableDay]] = {name: [] for name in _configured(services)}
    for table, jobs in sorted(ended.items(), key=lambda item: str(item[0])):
        is_for_trino = any(item.job.request.is_for_trino for item in jobs)
        policy = policy_of(services, table, is_for_trino=is_for_trino)
        if policy.notify.digest:
            day = table_day(table, jobs, policy.compaction.target_file_size_bytes)
            for channel in policy.notify.digest:
                channels.setdefault(channel, []).append(day)
    return channels


def _configured(services: Services) -> Iterable[str]:
    book = services.policies.current
    named = [rule.values.get(KEY, ()) for rule in book.rules]
    if general := book.general.get(KEY):
        named.append(general.value or ())
    return {name for names in named if isinstance(names, tuple) for name in names}
