"""`neve maintain --server`: the server queues the jobs of each table, and they are followed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neve.cli.hand_over import follow_to_end
from neve.cli.job_views import JobView
from neve.cli.output import Output
from neve.cli.places import ServerJobs
from neve.model.errors import InputError, NeveError
from neve.model.job import JobState
from neve.model.maintenance import OperationReport, ReportStatus, TableReport
from neve.model.operation import Operation
from neve.model.table import TableRef, split_name

#: What a job has become of which nobody counted anything.
STATUSES = {
    JobState.FAILED: ReportStatus.FAILED,
    JobState.CANCELLED: ReportStatus.CANCELLED,
    JobState.SUCCEEDED: ReportStatus.SUCCEEDED,
}


def maintain_at_server(
    client: Any, output: Output, patterns: Sequence[str], asked: Mapping[str, bool]
) -> list[TableReport]:
    """Let the server maintain every table that it finds; one table's trouble is its own."""
    found = dict.fromkeys(
        name
        for pattern in patterns or ("*",)
        for name in client.tables(pattern)
        if not split_name(name)[-1].startswith("_")
    )
    if not found:
        raise InputError("The server has no such table.", next_step="List tables: neve tables")
    answers = {name: _ask(client, name, asked) for name in found}
    return [_report(client, output, name, answer) for name, answer in answers.items()]


def _ask(client: Any, table: str, asked: Mapping[str, bool]) -> dict[str, Any] | NeveError:
    try:
        answer: dict[str, Any] = client.maintain(table, **asked)
    except NeveError as error:
        return error
    return answer


def _report(
    client: Any, output: Output, name: str, answer: dict[str, Any] | NeveError
) -> TableReport:
    catalog, *namespace, table = split_name(name)
    ref = TableRef(catalog, tuple(namespace), table)
    if isinstance(answer, NeveError):
        return TableReport(ref, (), problem=answer.message, next_step=answer.next_step)
    if answer.get("skipped"):
        return TableReport(ref, (), skipped=answer["skipped"])
    place = ServerJobs(client)
    jobs = [follow_to_end(place, output, item["job_id"]) for item in answer["jobs"]]
    return TableReport(ref, (*_planned(answer["plans"]), *map(_ended, jobs)))


def _planned(plans: Iterable[dict[str, Any]]) -> list[OperationReport]:
    return [
        OperationReport(
            Operation(plan["operation"]),
            ReportStatus.PLANNED if plan["has_work"] else ReportStatus.NOTHING_TO_DO,
            plan["reason"],
        )
        for plan in plans
    ]


def _ended(job: JobView) -> OperationReport:
    outcome = job.outcome
    status = (
        ReportStatus(outcome.status.value)
        if outcome
        else STATUSES.get(job.state, ReportStatus.UNKNOWN)
    )
    reason = outcome.reason if outcome else job.reason
    return OperationReport(Operation(job.operation), status, reason, outcome=outcome)
