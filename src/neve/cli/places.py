"""Where jobs are asked for: the local state, or a server at an address."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from neve.cli.context import LOGGING, errors_explained, refusals_audited
from neve.cli.interrupt import interruptible
from neve.cli.job_views import JobView, job_view
from neve.cli.output import Output
from neve.cli.short_ids import resolve
from neve.model.errors import EnvironmentProblem, InputError, NotAuthenticated
from neve.model.job import JobState
from neve.model.told_job import ToldEvent

if TYPE_CHECKING:
    from neve.neve import Neve

#: Who asks a server that wants to know; an option would stand in lists of processes.
API_KEY = "NEVE_API_KEY"
POLL_SECONDS = 0.25
#: A job that says nothing for so many looks may have been left behind, which is settled then.
QUIET_LOOKS = 20
#: Jobs that are looked through for one whose id begins so, the newest first.
MAX_JOBS = 20_000
FULL_LENGTH = 36


class JobPlace(Protocol):
    """Somewhere with jobs."""

    def id_of(self, begin: str) -> str:
        """The id of the one job whose id begins so, or an InputError."""
        ...

    def job(self, job_id: str) -> JobView:
        """The job, or an InputError where there is none."""
        ...

    def jobs(self, limit: int, *, running: bool = False) -> list[JobView]:
        """Jobs, newest first."""
        ...

    def cancel(self, job_id: str) -> JobView:
        """A queued job ends at once, a running one at its next boundary."""
        ...

    def events(self, job_id: str, after: int = 0) -> Iterator[ToldEvent]:
        """What the job says, until its end."""
        ...


class LocalJobs:
    """The state that the configuration names."""

    def __init__(
        self,
        neve: Neve,
        sleep: Callable[[float], None] = time.sleep,
        is_served: Callable[[], bool] = lambda: True,
    ) -> None:
        """With `is_served`, a job that waits is not waited for where nobody is there to take it."""
        self._neve = neve
        self._sleep = sleep
        self._is_served = is_served

    def id_of(self, begin: str) -> str:
        if self._neve.job(begin) is not None:
            return begin
        return job_beginning_with(begin, (job.job_id for job in self._neve.history(limit=MAX_JOBS)))

    def job(self, job_id: str) -> JobView:
        found = self._neve.job(job_id)
        if found is None:
            raise no_job(job_id)
        return job_view(found)

    def jobs(self, limit: int, *, running: bool = False) -> list[JobView]:
        return [job_view(report.job) for report in self._neve.jobs(running=running, limit=limit)]

    def cancel(self, job_id: str) -> JobView:
        found = self._neve.cancel(job_id)
        if found is None:
            raise no_job(job_id)
        return job_view(found)

    def events(self, job_id: str, after: int = 0) -> Iterator[ToldEvent]:
        quiet = 0
        while True:
            # The state first: what is told after it is read with the next look.
            job = self.job(job_id)
            told = self._neve.job_events(job_id, after)
            for event in told:
                after = event.number
                yield ToldEvent(
                    number=event.number,
                    state=event.phase,
                    message=event.message,
                    progress=event.progress,
                )
            if told:
                quiet = 0
                continue
            if job.is_over:
                return
            quiet += 1
            if quiet % QUIET_LOOKS == 0 and self._is_left(job):
                return
            self._sleep(POLL_SECONDS)

    def _is_left(self, job: JobView) -> bool:
        """Whether nobody is at the job any more, and it could not be settled by reading."""
        if job.state is JobState.QUEUED:
            if not self._is_served():
                raise EnvironmentProblem(
                    f"The server has gone, and job {job.job_id} waits for one.",
                    next_step=f"Run neve serve again, or neve cancel {job.job_id}.",
                )
            return False
        left = self._neve.jobs(job.table, running=True)
        return any(item.job.job_id == job.job_id and not item.is_running for item in left)


class ServerJobs:
    """A server, through its client."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def id_of(self, begin: str) -> str:
        if len(begin) >= FULL_LENGTH:
            return begin
        return job_beginning_with(begin, (job.job_id for job in self.jobs(MAX_JOBS)))

    def job(self, job_id: str) -> JobView:
        return job_view(self.client.job(job_id))

    def jobs(self, limit: int, *, running: bool = False) -> list[JobView]:
        found = (job_view(job) for job in self.client.jobs(page=min(limit, 500)))
        return list(islice((job for job in found if not (running and job.is_over)), limit))

    def cancel(self, job_id: str) -> JobView:
        return job_view(self.client.cancel(job_id))

    def events(self, job_id: str, after: int = 0) -> Iterator[ToldEvent]:
        yield from self.client.events(job_id, after)


@contextmanager
def job_place(output: Output, config: str | None, server: str | None) -> Iterator[JobPlace]:
    """Where a command finds jobs, with errors explained."""
    if server is not None:
        with output.working(), at_server(output, server) as client:
            yield ServerJobs(client)
        return
    from neve.neve import Neve

    with (
        errors_explained(output),
        output.working(),
        Neve.open(config, reporter=output, log=LOGGING[-1]) as neve,
        interruptible(neve, output),
        refusals_audited(neve),
    ):
        yield LocalJobs(neve)


@contextmanager
def at_server(output: Output, url: str) -> Iterator[Any]:
    """The client of a server, with errors and interrupts explained."""
    with errors_explained(output), interruptible(None, output), connect(url) as client:
        yield client


@contextmanager
def connect(url: str) -> Iterator[Any]:
    """The client of a server; it is an extra."""
    if not url.startswith(("http://", "https://")):
        raise InputError(
            "The address of a server begins with http:// or https://.",
            next_step="Write for example --server http://localhost:8080.",
        )
    try:
        module = import_module("neve.client")
    except ImportError as error:
        raise EnvironmentProblem(
            "The client of a server is not installed.",
            next_step="Install it: pip install 'neve[client]'",
        ) from error
    with module.NeveClient(url, api_key=os.environ.get(API_KEY) or None) as client:
        try:
            yield client
        except NotAuthenticated as error:
            raise NotAuthenticated(
                error.message, next_step=f"Set {API_KEY} to a key of that server: neve keys create."
            ) from error


def job_beginning_with(begin: str, known: Iterable[str]) -> str:
    return resolve(begin, known, "job", "List jobs: neve jobs")


def no_job(job_id: str) -> InputError:
    return InputError(f"There is no job {job_id}.", next_step="List jobs: neve jobs")


def say_event(output: Output, event: ToldEvent, last: Mapping[str, Any]) -> dict[str, Any]:
    """Print what is new in an event; returns what was said."""
    progress, said = event.progress, dict(last)
    if event.state != last.get("state") or event.message not in ("", last.get("message")):
        output.tell(f"{event.state}{': ' if event.message else ''}{event.message}")
        said |= {"state": event.state, "message": event.message}
    if progress is not None and progress.partitions_completed != last.get("partitions"):
        done, total = progress.partitions_completed, progress.partitions_total
        output.tell(f"  {done} of {total} partitions, {progress.files_processed:,} files")
        said["partitions"] = done
    return said


def follow(place: JobPlace, output: Output, job_id: str) -> JobView:
    """Tell what the job says until its end; returns it as it ended."""
    said: dict[str, Any] = {}
    for event in place.events(job_id):
        said = say_event(output, event, said)
    return place.job(job_id)
