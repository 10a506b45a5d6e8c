"""A table falls ill, is judged, is cured, and is shown to hold the same rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from neve.app import App
from neve.demo.scale import MB, scale_of
from neve.demo.twin import Comparison, compare, twin_of
from neve.model.errors import InputError
from neve.model.facts import TableFacts
from neve.model.outcome import Outcome
from neve.model.plan import CompactionPlan
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import Engine
from neve.model.table import TableRef
from neve.planning.engines import row_of

if TYPE_CHECKING:
    from neve.spark.samples import TimedQuery

QUERY_RUNS = 5
LATE_BATCHES = 5
#: A query may be this much slower afterwards before the demo calls it worse.
SLOWER_ALLOWED = 1.2


@dataclass(frozen=True, slots=True)
class FileMetrics:
    """The layout of a table in six figures."""

    total_files: int
    total_size_mb: float
    avg_file_size_mb: float
    min_file_size_mb: float
    max_file_size_mb: float
    num_partitions: int


@dataclass(frozen=True, slots=True)
class Validation:
    """One thing that must hold at the end."""

    name: str
    holds: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Story:
    """What the demo saw, from the first batch to the last check."""

    table: TableRef
    events: int
    before: FileMetrics
    after: FileMetrics
    query_before: TimedQuery
    query_after: TimedQuery
    plan: CompactionPlan
    compaction: Outcome
    partition: str
    partition_compaction: Outcome
    #: Where a twin was compacted by Iceberg's procedure.
    comparison: Comparison | None
    validations: tuple[Validation, ...]
    seconds: float

    @property
    def cured_by(self) -> str:
        """Who rewrote the files, in a sentence."""
        used = {name: files for name, files in self.compaction.engines.items() if files}
        told = " and ".join(
            f"{name} ({files} new file{'s' if files != 1 else ''})" for name, files in used.items()
        )
        if used and all(row_of(Engine(name)).runs_in_task for name in used):
            return f"Cured by Neve's own engine {told}, inside of Spark's tasks."
        reasons = {group.engine_reason for step in self.plan.steps for group in step.groups}
        return f"Cured by {told or 'nobody'}: {'; '.join(sorted(reasons))}."


def _event_types(partitions: str | None) -> tuple[str, ...]:
    from neve.spark.samples import EVENT_TYPES

    if partitions is None:
        return EVENT_TYPES
    names = tuple(dict.fromkeys(name.strip() for name in partitions.split(",") if name.strip()))
    if not names:
        raise InputError("--partitions names no event type.", next_step="Write click,search.")
    return names


def tell_story(
    app: App,
    batches: int | None = None,
    events: int | None = None,
    partitions: str | None = None,
    size_bytes: int | None = None,
    *,
    has_twin: bool = False,
) -> Story:
    """Write many small files, compact them, and compare."""
    from neve.spark import samples

    event_types = _event_types(partitions)
    scale = scale_of(batches, events, size_bytes, len(event_types))
    started = time.perf_counter()
    reporter, maintenance = app.maintenance.reporter, app.maintenance
    table = TableRef(app.catalogs.default, ("demo",), "events")
    _make_room(app.catalogs.properties(table.catalog))
    session = app.spark.session
    watched = "purchase" if "purchase" in event_types else event_types[0]
    tables = [table, twin_of(table)] if has_twin else [table]
    for each in tables:
        samples.create_events(session, each)
    reporter(f"Writing {scale.batches} micro-batches of {scale.events:,} events …")
    for batch in range(scale.batches):
        for each in tables:
            samples.write_batch(
                session, each, batch, scale.events, event_types, digests=scale.has_digests
            )
        reporter.progress(batch + 1, scale.batches)
    written = samples.count_rows(session, table)
    before = file_metrics(maintenance.surveyor.survey(table))
    reporter("Timing a query on many small files …")
    query_before = samples.time_query(session, table, watched, QUERY_RUNS)
    policy = maintenance.effective(table).compaction
    plan = maintenance.plan(table, RewriteDataFilesArguments(), policy=policy)
    clock = time.perf_counter()
    compaction = maintenance.apply(plan)
    seconds, comparison = time.perf_counter() - clock, None
    if has_twin:
        comparison = compare(app, table, compaction, seconds, policy.target_file_size_bytes)
    after = file_metrics(maintenance.surveyor.survey(table))
    reporter("Timing the query again …")
    query_after = samples.time_query(session, table, watched, QUERY_RUNS)
    kept = samples.count_rows(session, table)
    reporter(f"Writing {LATE_BATCHES} late micro-batches …")
    for batch in range(scale.batches, scale.batches + LATE_BATCHES):
        samples.write_batch(
            session, table, batch, scale.late_events, event_types, digests=scale.has_digests
        )
    only = f"event_type = '{watched.replace(chr(39), chr(39) * 2)}'"
    others_before = _paths_outside(maintenance.surveyor.survey(table), watched)
    partition_compaction = maintenance.compact(
        table, RewriteDataFilesArguments(where=only), policy=policy
    )
    others_after = _paths_outside(maintenance.surveyor.survey(table), watched)
    return Story(
        table=table,
        events=written,
        before=before,
        after=after,
        query_before=query_before,
        query_after=query_after,
        plan=plan,
        compaction=compaction,
        partition=watched,
        partition_compaction=partition_compaction,
        comparison=comparison,
        validations=(
            *_validate_twin(comparison),
            *_validate(written, kept, before, after, query_before, query_after),
            Validation(
                "Only the chosen partition was rewritten",
                partition_compaction.status.is_good and others_before == others_after,
                f"{partition_compaction.stats.files_compacted} files of {watched}",
            ),
        ),
        seconds=time.perf_counter() - started,
    )


def _make_room(properties: dict[str, str]) -> None:
    """The embedded catalog's folder, which the first demo finds missing."""
    uri = properties.get("uri", "")
    if uri.startswith("sqlite:///"):
        folder = Path(uri.removeprefix("sqlite:///")).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"The folder {folder} cannot be made: {error.strerror}.") from error


def _paths_outside(facts: TableFacts, event_type: str) -> set[str]:
    return {file.path for file in facts.data_files if file.partition[1] != (event_type,)}


def file_metrics(facts: TableFacts) -> FileMetrics:
    sizes = [file.size_bytes / MB for file in facts.data_files]
    return FileMetrics(
        total_files=len(sizes),
        total_size_mb=round(sum(sizes), 2),
        avg_file_size_mb=round(sum(sizes) / len(sizes), 4),
        min_file_size_mb=round(min(sizes), 4),
        max_file_size_mb=round(max(sizes), 4),
        num_partitions=len({file.partition for file in facts.data_files}),
    )


def _validate_twin(comparison: Comparison | None) -> Iterator[Validation]:
    if comparison is not None:
        yield Validation(
            "Same rows as after Iceberg's procedure",
            comparison.has_same_rows,
            f"{comparison.neve_files} files beside {comparison.iceberg_files}",
        )


def _validate(
    written: int,
    kept: int,
    before: FileMetrics,
    after: FileMetrics,
    query_before: TimedQuery,
    query_after: TimedQuery,
) -> tuple[Validation, ...]:
    return (
        Validation("No data loss", kept == written, f"{written:,} → {kept:,} records"),
        Validation(
            "Fewer files",
            after.total_files < before.total_files,
            f"{before.total_files} → {after.total_files}",
        ),
        Validation(
            "Larger files",
            after.avg_file_size_mb > before.avg_file_size_mb,
            f"{before.avg_file_size_mb} MB → {after.avg_file_size_mb} MB on average",
        ),
        Validation(
            "Same query results",
            query_before.rows == query_after.rows and bool(query_after.rows),
            str(query_after.rows[0].asDict()) if query_after.rows else "no rows",
        ),
        Validation(
            "Queries not slower",
            query_after.seconds <= query_before.seconds * SLOWER_ALLOWED,
            f"{query_before.seconds:.3f} s → {query_after.seconds:.3f} s (median of {QUERY_RUNS})",
        ),
    )
