"""Rates learned from past outcomes of this deployment, for each engine by itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from neve.model.groups import Interval
from neve.model.outcome import EngineUse, Outcome, Status
from neve.model.policy import Engine
from neve.model.table import TableRef
from neve.planning.cost import Rates, Speed
from neve.planning.engines import MB, row_of

MIN_SAMPLES = 3
MAX_SAMPLES = 50
#: Time for bytes and time for files are told apart from this many samples on.
MIN_SAMPLES_OF_FILES = 5
#: Work below this says something about overhead, not about speed or compression.
MIN_BYTES = 8 * MB
#: No file takes so long that less than this share of the time is left for its bytes.
MIN_SHARE_OF_BYTES = 0.1


@dataclass(frozen=True, slots=True)
class _Sample:
    """What an engine did in one run; `seconds` are without overhead."""

    files: int
    bytes: int
    seconds: float


def learn_rates(outcomes: Sequence[Outcome], table: TableRef) -> Rates:
    """Speed from all tables, compression from this one: data differs, the cluster does not."""
    runs = [o for o in outcomes if o.status is Status.SUCCEEDED and o.bytes_rewritten > 0]
    runs = sorted(runs, key=lambda outcome: outcome.finished_at)[-MAX_SAMPLES:]
    learned = Rates(compression_ratio=_compression_ratio(runs, table))
    if len(runs) < MIN_SAMPLES:
        return learned
    fixed = {engine: _fixed_seconds(runs, engine) for engine in Engine}
    overhead = _overhead(runs, fixed)
    speeds = {
        engine: _speed(list(_samples(runs, engine, fixed[engine], overhead.low)))
        for engine in Engine
    }
    return replace(
        learned,
        speeds={engine: speed for engine, speed in speeds.items() if speed is not None},
        overhead_seconds=overhead.expected,
        overhead_seen=overhead,
        samples=len(runs),
        time_error=_time_error(runs),
    )


def _uses(run: Outcome) -> tuple[EngineUse, ...]:
    """What each engine did; a run that did not measure it tells something if it had one engine."""
    if run.engine_use:
        return run.engine_use
    named = [name for name, files in run.engines.items() if files]
    if len(named) != 1:
        return ()
    return (EngineUse(named[0], run.stats.files_compacted, run.bytes_rewritten, run.seconds),)


def _fixed_seconds(runs: Sequence[Outcome], engine: Engine) -> float:
    """What an engine takes for next to nothing."""
    small = [
        u.seconds for r in runs for u in r.engine_use if _is(u, engine) and u.bytes < MIN_BYTES
    ]
    return median(small) if small else 0.0


def _overhead(runs: Sequence[Outcome], fixed: dict[Engine, float]) -> Interval:
    """What runs took besides their bytes: those that started an engine far more than the others.

    Of a run that did not measure its engines all of its time may be that, so that the shortest
    is taken, and it tells nothing where others measured theirs.
    """
    measured = [run for run in runs if run.engine_use]
    seen = sorted(max(0.0, run.seconds - _seconds_of_bytes(run, fixed)) for run in measured or runs)
    if not measured:
        return Interval(seen[0], seen[0], seen[0])
    return Interval(seen[0], median(seen), seen[-1])


def _seconds_of_bytes(run: Outcome, fixed: dict[Engine, float]) -> float:
    """The part of a run that grew with its bytes; a run that did not measure it had none."""
    known = [use for use in run.engine_use if use.engine in set(Engine)]
    return math.fsum(max(0.0, use.seconds - fixed[Engine(use.engine)]) for use in known)


def _samples(
    runs: Sequence[Outcome], engine: Engine, fixed: float, overhead: float
) -> Iterator[_Sample]:
    for run in runs:
        without = fixed if run.engine_use else overhead
        for use in _uses(run):
            if _is(use, engine) and use.bytes >= MIN_BYTES and use.seconds > without:
                yield _Sample(use.files, use.bytes, use.seconds - without)


def _speed(samples: Sequence[_Sample]) -> Speed | None:
    if len(samples) < MIN_SAMPLES:
        return None
    per_file = _seconds_per_file(samples)
    speeds = sorted(
        s.bytes / max(s.seconds - per_file * s.files, MIN_SHARE_OF_BYTES * s.seconds)
        for s in samples
    )
    interval = Interval(_quantile(speeds, 0.1), median(speeds), _quantile(speeds, 0.9))
    return Speed(interval, per_file)


def _seconds_per_file(samples: Sequence[_Sample]) -> float:
    """By least squares over bytes and files, where the samples tell them apart."""
    if len(samples) < MIN_SAMPLES_OF_FILES:
        return 0.0
    bb = math.fsum(s.bytes * s.bytes for s in samples)
    bf = math.fsum(s.bytes * s.files for s in samples)
    ff = math.fsum(s.files * s.files for s in samples)
    bt = math.fsum(s.bytes * s.seconds for s in samples)
    ft = math.fsum(s.files * s.seconds for s in samples)
    determinant = bb * ff - bf * bf
    if determinant <= 0.01 * bb * ff:
        return 0.0
    by_byte, by_file = (ff * bt - bf * ft) / determinant, (bb * ft - bf * bt) / determinant
    return by_file if by_byte > 0 and by_file > 0 else 0.0


def _compression_ratio(runs: Sequence[Outcome], table: TableRef) -> float:
    # A run that applied deletes shrank the data for another reason than compression.
    own = [
        (run, _encoded_bytes(run))
        for run in runs
        if run.table == table and not (run.proof and run.proof.rows_deleted)
    ]
    own = [(run, encoded) for run, encoded in own if encoded >= MIN_BYTES]
    if not own:
        return 1.0
    newest, encoded = own[-1]
    # Copies keep their size. And one strange run must not send the next one astray.
    return min(2.0, max(0.5, (encoded - newest.stats.bytes_saved) / encoded))


def _encoded_bytes(run: Outcome) -> int:
    """Bytes that were decoded and encoded again, of those that were committed."""
    decoding = [u.bytes for u in _uses(run) if any(_is(u, e) for e in Engine if row_of(e).decodes)]
    return min(sum(decoding), run.bytes_rewritten)


def _is(use: EngineUse, engine: Engine) -> bool:
    return use.engine == engine.value


def _time_error(runs: Sequence[Outcome]) -> float | None:
    errors = [
        abs(run.estimated_cost.seconds.expected - run.seconds) / max(run.seconds, 0.001)
        for run in runs
        if run.estimated_cost is not None
    ]
    return sum(errors) / len(errors) if errors else None


def _quantile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]
