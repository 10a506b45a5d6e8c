"""Figures in the text format of Prometheus. They are the store's: every process tells the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from neve.model.figures import DURATION_BOUNDS_SECONDS, Durations, Figures, TableFigures
from neve.model.job import JobState
from neve.model.operation import Operation

COMPACTION = str(Operation.REWRITE_DATA_FILES)
#: What a compaction's end is called; dashboards of others know these words.
STATUS = {JobState.SUCCEEDED: "success", JobState.FAILED: "failed", JobState.CANCELLED: "cancelled"}
NOTHING = Durations((0,) * len(DURATION_BOUNDS_SECONDS), 0, 0.0)


def exposition(figures: Figures) -> bytes:
    """The figures as a scrape gets them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once(figures))
    return generate_latest(registry)


class _Once(Collector):
    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        yield from _compaction(self._figures)
        yield from _jobs(self._figures)
        yield from _tables(self._figures.tables)
        build = GaugeMetricFamily("neve_build_info", "The running version", labels=["version"])
        build.add_metric([_version()], 1)
        yield build


def _compaction(figures: Figures) -> Iterator[Metric]:
    jobs = CounterMetricFamily(
        "compaction_jobs", "Total number of compaction jobs", labels=["status"]
    )
    for state, status in STATUS.items():
        jobs.add_metric([status], figures.ended.get((COMPACTION, state), 0))
    yield jobs
    seconds = HistogramMetricFamily("compaction_duration_seconds", "Compaction job duration")
    taken = figures.durations.get(COMPACTION, NOTHING)
    seconds.add_metric([], _buckets(taken), taken.seconds)
    yield seconds
    yield CounterMetricFamily(
        "files_compacted", "Total files compacted", value=figures.files_compacted
    )


def _jobs(figures: Figures) -> Iterator[Metric]:
    ended = CounterMetricFamily(
        "neve_jobs", "Jobs that came to an end", labels=["operation", "status"]
    )
    for (operation, state), count in sorted(figures.ended.items()):
        ended.add_metric([operation, STATUS[state]], count)
    yield ended
    seconds = HistogramMetricFamily(
        "neve_job_duration_seconds", "How long jobs took", labels=["operation"]
    )
    for operation, taken in sorted(figures.durations.items()):
        seconds.add_metric([operation], _buckets(taken), taken.seconds)
    yield seconds
    yield CounterMetricFamily(
        "neve_bytes_rewritten", "Bytes of files that were replaced", value=figures.bytes_rewritten
    )
    yield GaugeMetricFamily("neve_jobs_queued", "Jobs that wait", value=figures.queued)
    yield GaugeMetricFamily(
        "neve_jobs_begun", "Jobs that began and have no end", value=figures.begun
    )
    yield GaugeMetricFamily("neve_jobs_dead", "Jobs that failed for good", value=figures.dead)
    yield GaugeMetricFamily(
        "neve_tables_set_aside", "Tables that workers leave alone", value=figures.set_aside
    )
    yield GaugeMetricFamily("neve_workers", "Workers that are there", value=figures.workers)
    yield GaugeMetricFamily(
        "neve_workers_ready", "Those whose engine has started", value=figures.workers_ready
    )


def _tables(tables: Iterable[TableFigures]) -> Iterator[Metric]:
    labels = ["table"]
    ended = GaugeMetricFamily(
        "neve_table_last_job_timestamp_seconds", "When the newest job ended", labels=labels
    )
    good = GaugeMetricFamily(
        "neve_table_last_job_success", "Whether it ended well: 1 or 0", labels=labels
    )
    files = GaugeMetricFamily("neve_table_data_files", "Data files after it", labels=labels)
    small = GaugeMetricFamily("neve_table_small_files", "Small ones among them", labels=labels)
    size = GaugeMetricFamily("neve_table_size_bytes", "Their size together", labels=labels)
    for table in tables:
        name = [str(table.table)]
        ended.add_metric(name, table.finished_at.timestamp())
        good.add_metric(name, float(table.state is JobState.SUCCEEDED))
        # Only a compaction has counted all files.
        if table.operation == COMPACTION and table.data_files is not None:
            files.add_metric(name, table.data_files)
            small.add_metric(name, table.small_files)
            size.add_metric(name, table.total_bytes)
    yield from (ended, good, files, small, size)


def _buckets(taken: Durations) -> list[tuple[str, float]]:
    bounds = zip(DURATION_BOUNDS_SECONDS, taken.within, strict=True)
    return [*((str(bound), float(count)) for bound, count in bounds), ("+Inf", float(taken.count))]


def _version() -> str:
    try:
        return version("neve")
    except PackageNotFoundError:
        return "unknown"
