"""COMPACT: whether there is work, which jobs do it, and the ten statistics of what they did."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

from neve.database.bodies import Compact, CompactAnswer, CompactionStatistics
from neve.database.cutting import cut_plan
from neve.database.detecting import count_small
from neve.documents import to_text
from neve.model.database import MAX_FORMAT_VERSION, DatabaseRules
from neve.model.errors import CompactionFailed, EngineNeeded
from neve.model.facts import TableFacts
from neve.model.job import OVERRIDES, Job, JobRequest, JobState, Trigger
from neve.model.operation import Operation
from neve.model.plan import CompactionPlan
from neve.model.policy import Engine
from neve.model.table import TableRef
from neve.planning.own_files import refuse_others_files
from neve.service.kept_plans import keep_plan, key_of, submit_kept
from neve.service.operations.registry import planned_handler
from neve.service.operations.rewrite_data_files import MAY_SHRINK, OPERATION, PLAN
from neve.service.run_job import run, submit
from neve.service.services import Services

MB = 1024 * 1024
OPTIONS = "rewrite_data_files.options"
#: Jobs that are about to be queued; what is entered with them refuses, or tells where room is held.
Admit = Callable[[Sequence[JobRequest]], AbstractContextManager[str]]


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks for a compaction, and what stands between them and the queue."""

    name: str = ""
    trigger: Trigger = Trigger.API
    admit: Admit = lambda _: nullcontext("")


@dataclass(frozen=True, slots=True)
class Compaction:
    """Jobs that were asked for, and the table as it was then."""

    table: TableRef
    statistics: CompactionStatistics
    reason: str
    rewrite_job_id: str | None = None
    expire_job_id: str | None = None

    @property
    def job_ids(self) -> list[str]:
        return [job_id for job_id in (self.rewrite_job_id, self.expire_job_id) if job_id]


def begin(
    services: Services, table: TableRef, request: Compact, rules: DatabaseRules, asker: Asker
) -> Compaction:
    """Queue what is to be done; a table with few small files is left alone unless forced."""
    facts = _survey(services, table)
    small = count_small(facts, rules.small_file_bytes)
    untouched = _untouched(facts, small)
    if reason := _too_few(small, request, rules):
        return Compaction(table, untouched, reason)
    plan = _named(services, _cut(services, facts, request, rules), request)
    rewriting = [_rewrite(table, request, asker)] if not plan.is_empty else []
    expiring = [_expiry(table, request, asker)] if request.expire_snapshots else []
    rewrite = expire = None
    wanted = [*rewriting, *expiring]
    with asker.admit(wanted) if wanted else nullcontext("") as room:
        if rewriting:
            kept = keep_plan(services, plan, asker.name)
            # Nobody looked at the plan: that another compaction did it before is no failure.
            asked = replace(rewriting[0], room=room, arguments={MAY_SHRINK: True})
            rewrite = submit_kept(services, kept, asked)
        if expiring:
            expire = submit(services, replace(expiring[0], room=room))
    return Compaction(
        table,
        untouched,
        plan.reason,
        rewrite.job_id if rewrite else None,
        expire.job_id if expire else None,
    )


def run_here(
    services: Services, table: TableRef, request: Compact, rules: DatabaseRules, asker: Asker
) -> CompactAnswer:
    """The same in this process, by the services' engine; what that cannot do is refused first."""
    facts = _survey(services, table)
    small = count_small(facts, rules.small_file_bytes)
    if reason := _too_few(small, request, rules):
        return _here(False, reason, _untouched(facts, small))
    _refuse_what_is_for_spark(facts, rules)
    plan = _cut(services, facts, request, rules)
    for group in plan.groups:
        if group.engine is Engine.SPARK:
            raise _needs_service(f"its files need Spark: {group.engine_reason}")
    kept = "Snapshots were not expired: that needs a service." if request.expire_snapshots else ""
    if plan.is_empty:
        return _here(False, f"{plan.reason} {kept}".strip(), _untouched(facts, small))
    job = replace(_rewrite(table, request, asker), arguments={PLAN: json.loads(to_text(plan))})
    with asker.admit([job]) as room:
        outcome = run(services, replace(job, room=room))
    if not outcome.status.is_good:
        raise CompactionFailed(f"The compaction {outcome.status}: {outcome.reason}")
    stats = CompactionStatistics(**asdict(outcome.stats))
    answer = _here(stats.files_compacted > 0, f"{outcome.reason} {kept}".strip(), stats)
    return answer.model_copy(update={"job_id": outcome.job_id})


def _survey(services: Services, table: TableRef) -> TableFacts:
    """The table, if its files are its own: a rewrite would bring rows of others into its folder."""
    facts = services.surveyor.survey(table)
    paths = [file.path for file in facts.data_files]
    paths += [file.path for file in facts.delete_files]
    refuse_others_files(table, paths, facts.location)
    return facts


def _refuse_what_is_for_spark(facts: TableFacts, rules: DatabaseRules) -> None:
    if facts.total_bytes > rules.local_compact_bytes:
        limit = f"{rules.local_compact_bytes // MB} MB"
        raise _needs_service(f"it is larger than {limit}, which is all that is compacted here")
    if facts.delete_files:
        raise _needs_service("some of its rows are deleted by delete files")
    if facts.format_version > MAX_FORMAT_VERSION:
        raise _needs_service(f"it has format version {facts.format_version}")
    fields = [field for spec in facts.specs.values() for field in spec.fields]
    if any(field.result_type == "double" for field in fields):
        # The library that rewrites manifests here keeps 32 of their 64 bits.
        raise _needs_service("it is or was partitioned by doubles")


def _needs_service(why: str) -> EngineNeeded:
    return EngineNeeded(
        f"The table is not compacted in this process: {why}.",
        next_step="Set database.service_url to a Neve server, whose workers have Spark.",
    )


def _here(compacted: bool, reason: str, stats: CompactionStatistics) -> CompactAnswer:
    return CompactAnswer(compacted=compacted, reason=reason, stats=stats, engine="in_process")


def _too_few(small: int, request: Compact, rules: DatabaseRules) -> str | None:
    if request.force or small >= rules.min_files_to_compact:
        return None
    return (
        f"{small} files are smaller than {rules.small_file_bytes // MB} MB; "
        f"{rules.min_files_to_compact} are needed to compact."
    )


def plan_of(
    services: Services, facts: TableFacts, overrides: Mapping[str, object]
) -> CompactionPlan:
    policy = services.policies.effective(facts, overrides)
    plan = planned_handler(Operation.REWRITE_DATA_FILES).plan(services, facts, policy)
    assert isinstance(plan, CompactionPlan)
    return plan


def overrides_of(request: Compact, rules: DatabaseRules) -> dict[str, object]:
    """What the request says, as the strongest layer of the table's policy."""
    said: dict[str, object] = {f"{OPTIONS}.min-input-files": 2}
    target = request.target_file_size_mb
    if target is not None:
        said[f"{OPTIONS}.target-file-size-bytes"] = str(target * MB)
    if target is None or rules.small_file_bytes < target * MB:
        said[f"{OPTIONS}.min-file-size-bytes"] = str(rules.small_file_bytes)
    if request.partition_filter is not None:
        said["rewrite_data_files.where"] = request.partition_filter
    return said


def _cut(
    services: Services, facts: TableFacts, request: Compact, rules: DatabaseRules
) -> CompactionPlan:
    plan = plan_of(services, facts, overrides_of(request, rules))
    return cut_plan(plan, request.max_files or rules.max_files_per_compaction)


def _named(services: Services, plan: CompactionPlan, request: Compact) -> CompactionPlan:
    """The plan under a name that the same request at the same head has, too.

    A plan becomes one job, so that those who ask at once, or again, wait for the same one. After
    its end it is asked for anew.
    """
    files = [[file.path for file in group.files] for group in plan.groups]
    said = [plan.table_uuid, plan.snapshot_id, files, request.model_dump()]
    name = hashlib.sha256(json.dumps(said).encode()).hexdigest()[: len(plan.plan_id)]
    known = services.store.job_of_key(key_of(name))
    return plan if known is not None and known.state.is_final else replace(plan, plan_id=name)


def _rewrite(table: TableRef, request: Compact, asker: Asker) -> JobRequest:
    who, tenant = asker.name, request.tenant_id
    return JobRequest(table, str(OPERATION), {}, who, asker.trigger, tenant=tenant)


def _expiry(table: TableRef, request: Compact, asker: Asker) -> JobRequest:
    older_than = f"{request.snapshot_retention_hours}h"
    return replace(
        _rewrite(table, request, asker),
        operation=str(Operation.EXPIRE_SNAPSHOTS),
        arguments={OVERRIDES: {"expire_snapshots.older_than": older_than}},
    )


def answer(begun: Compaction, jobs: Mapping[str, Job | None]) -> CompactAnswer | None:
    """What came of the jobs; None while one of them has no end."""
    found = [jobs.get(job_id) for job_id in begun.job_ids]
    if any(job is not None and not job.state.is_final for job in found):
        return None
    rewrite = jobs.get(begun.rewrite_job_id or "")
    expire = jobs.get(begun.expire_job_id or "")
    if rewrite is not None and rewrite.state is not JobState.SUCCEEDED:
        raise CompactionFailed(
            f"The compaction {rewrite.state}: {rewrite.reason}",
            next_step=f"GET /api/v1/jobs/{rewrite.job_id} tells more.",
        )
    done = _stats(rewrite)
    statistics = CompactionStatistics(**done) if done else begun.statistics
    expired = int(_stats(expire).get("snapshots_expired", 0)) if expire else 0
    statistics = statistics.model_copy(update={"snapshots_expired": expired})
    reasons = [rewrite.reason if rewrite else begun.reason, *_trouble(expire)]
    return _told(begun, statistics.files_compacted > 0, " ".join(reasons), statistics)


def still_running(begun: Compaction) -> CompactAnswer:
    return _told(begun, False, "Its jobs still run.", None)


def _told(
    begun: Compaction, compacted: bool, reason: str, stats: CompactionStatistics | None
) -> CompactAnswer:
    return CompactAnswer(
        compacted=compacted,
        reason=reason,
        stats=stats,
        job_id=begun.rewrite_job_id,
        expire_job_id=begun.expire_job_id,
    )


def _trouble(expire: Job | None) -> list[str]:
    if expire is None or expire.state is JobState.SUCCEEDED:
        return []
    return [f"Snapshots were not expired: {expire.reason}"]


def _stats(job: Job | None) -> dict[str, Any]:
    if job is None or job.outcome is None:
        return {}
    found: dict[str, Any] = json.loads(job.outcome)["stats"]
    return found


def _untouched(facts: TableFacts, small: int) -> CompactionStatistics:
    files, size = len(facts.data_files), facts.total_bytes
    return CompactionStatistics(
        files_before=files,
        files_after=files,
        files_compacted=0,
        files_removed=0,
        bytes_before=size,
        bytes_after=size,
        bytes_saved=0,
        snapshots_expired=0,
        compaction_time_ms=0.0,
        small_files_remaining=small,
    )
