"""Rates learned from past outcomes of this deployment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from neve.model.groups import Interval
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.planning.cost import Rates

MB = 1024 * 1024
#: Before anything was learned: an untuned Spark on two cores, wrong by a factor of two perhaps.
DEFAULT_BYTES_PER_SECOND = Interval(low=12 * MB, expected=25 * MB, high=50 * MB)
COPYING = ("copy", "remote_copy")
MIN_SAMPLES = 3
MAX_SAMPLES = 50
#: Runs below this say something about overhead, not about speed or compression.
MIN_BYTES = 8 * MB


def learn_rates(outcomes: Sequence[Outcome], table: TableRef) -> Rates:
    """Speed from all tables, compression from this one: data differs, the cluster does not."""
    runs = [o for o in outcomes if o.status is Status.SUCCEEDED and o.bytes_rewritten > 0]
    runs = sorted(runs, key=lambda outcome: outcome.finished_at)[-MAX_SAMPLES:]
    learned = Rates(DEFAULT_BYTES_PER_SECOND, compression_ratio=_compression_ratio(runs, table))
    if len(runs) < MIN_SAMPLES:
        return learned
    overhead = min(run.seconds for run in runs)
    encoded = _speed([run for run in runs if not _copied(run)], overhead)
    copied = _speed([run for run in runs if _copied(run)], overhead)
    return replace(
        learned,
        bytes_per_second=encoded or learned.bytes_per_second,
        copy_bytes_per_second=copied or learned.copy_bytes_per_second,
        overhead_seconds=overhead,
        samples=len(runs),
        time_error=_time_error(runs),
    )


def _copied(run: Outcome) -> bool:
    """Whether the run mostly kept row groups as they were: that is another speed."""
    copies = sum(count for name, count in run.engines.items() if name in COPYING)
    return copies > sum(run.engines.values()) / 2


def _speed(runs: Sequence[Outcome], overhead: float) -> Interval | None:
    large = [run for run in runs if run.bytes_rewritten >= MIN_BYTES and run.seconds > overhead]
    speeds = sorted(run.bytes_rewritten / (run.seconds - overhead) for run in large)
    if len(speeds) < MIN_SAMPLES:
        return None
    return Interval(_quantile(speeds, 0.1), median(speeds), _quantile(speeds, 0.9))


def _compression_ratio(runs: Sequence[Outcome], table: TableRef) -> float:
    # A run that applied deletes shrank the data for another reason than compression, and one
    # that copied tells nothing of it.
    own = [
        run
        for run in runs
        if run.table == table
        and not _copied(run)
        and run.bytes_rewritten >= MIN_BYTES
        and not (run.proof and run.proof.rows_deleted)
    ]
    if not own:
        return 1.0
    newest = own[-1]
    written = newest.bytes_rewritten - newest.stats.bytes_saved
    # One strange run must not send the next one astray.
    return min(2.0, max(0.5, written / newest.bytes_rewritten))


def _time_error(runs: Sequence[Outcome]) -> float | None:
    errors = [
        abs(run.estimated_cost.seconds.expected - run.seconds) / max(run.seconds, 0.001)
        for run in runs
        if run.estimated_cost is not None
    ]
    return sum(errors) / len(errors) if errors else None


def _quantile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]
