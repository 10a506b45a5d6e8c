"""What work costs: requests, seconds, memory and dollars, with an interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from neve.model.groups import Cost, Interval
from neve.model.policy import Engine, RewriteMode
from neve.planning.engines import Transfer, allowed, row_of

#: How far overhead may be from what is expected, once runs were seen, and before.
LEARNED_FACTOR = 2.0
UNKNOWN_FACTOR = 3.0
#: What a run takes besides its bytes where the engine runs already, at least.
WARM_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class CostModel:
    """Prices. The defaults are list prices of an S3 standard bucket and of serverless compute."""

    get_usd_per_1000: float = 0.0004
    put_usd_per_1000: float = 0.005
    compute_usd_per_gb_second: float = 0.0000166667
    memory_gb: float = 2.0


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast an engine rewrites: this many bytes in a second, and some time for each file."""

    bytes_per_second: Interval
    seconds_per_file: float = 0.0

    def seconds(self, files: int, size_bytes: int) -> Interval:
        """How long it takes for these files."""
        opening, speed = self.seconds_per_file * files, self.bytes_per_second
        return Interval(
            low=opening + size_bytes / speed.high,
            expected=opening + size_bytes / speed.expected,
            high=opening + size_bytes / speed.low,
        )


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast this deployment rewrites, and how much smaller outputs get."""

    #: Speeds that were learned; an engine without one has that of its row.
    speeds: Mapping[Engine, Speed] = field(default_factory=dict)
    #: What a run takes however little it rewrites: starting the engine, planning, committing.
    #: Before anything was learned, that of a JVM which is not running yet.
    overhead_seconds: float = 15.0
    #: From the run that took the least besides its bytes to the one that took the most: some
    #: started an engine, and others found it running.
    overhead_seen: Interval | None = None
    #: Output bytes per input byte, where rows are encoded again.
    compression_ratio: float = 1.0
    #: How many past runs the rates were learned from; 0 means defaults.
    samples: int = 0
    #: Mean relative error of the time estimates of those runs.
    time_error: float | None = None

    def speed_of(self, engine: Engine) -> Speed:
        """What was learned of the engine, or of the one that it falls back to, or the default."""
        own = row_of(engine)
        for row in allowed(RewriteMode(engine.value)):
            if row.decodes == own.decodes and row.engine in self.speeds:
                return self.speeds[row.engine]
        return Speed(own.bytes_per_second)


def estimate(
    model: CostModel,
    rates: Rates,
    *,
    file_sizes: Iterable[int],
    delete_files: int,
    output_files: int,
    engine: Engine = Engine.SPARK,
) -> Cost:
    """The cost of reading those files with their deletes and writing the outputs."""
    sizes, row = list(file_sizes), row_of(engine)
    bytes_read = sum(sizes)
    bytes_written = int(bytes_read * rates.compression_ratio) if row.decodes else bytes_read
    requests = row.requests(Transfer(sizes, delete_files, bytes_written, output_files))
    seconds = rates.speed_of(engine).seconds(len(sizes), bytes_read)
    requests_usd = (
        requests.gets * model.get_usd_per_1000 + requests.puts * model.put_usd_per_1000
    ) / 1000
    usd_per_second = model.memory_gb * model.compute_usd_per_gb_second
    return Cost(
        bytes_read=bytes_read,
        bytes_written=bytes_written,
        get_requests=requests.gets,
        put_requests=requests.puts,
        memory_gb=model.memory_gb,
        seconds=seconds,
        usd=Interval(
            low=requests_usd + usd_per_second * seconds.low,
            expected=requests_usd + usd_per_second * seconds.expected,
            high=requests_usd + usd_per_second * seconds.high,
        ),
    )


def actual_usd(model: CostModel, estimated: Cost, seconds: float) -> float:
    """What a finished run cost: its requests, and the time that it really took."""
    requests = (
        estimated.get_requests * model.get_usd_per_1000
        + estimated.put_requests * model.put_usd_per_1000
    ) / 1000
    return requests + model.memory_gb * model.compute_usd_per_gb_second * seconds


def total(costs: Iterable[Cost], model: CostModel, rates: Rates) -> Cost:
    """The sum over groups and the run's overhead; memory does not add up: groups share it."""
    parts = list(costs)
    if parts:
        factor = LEARNED_FACTOR if rates.samples else UNKNOWN_FACTOR
        parts.append(_overhead(model, rates, factor))
    return Cost(
        bytes_read=sum(cost.bytes_read for cost in parts),
        bytes_written=sum(cost.bytes_written for cost in parts),
        get_requests=sum(cost.get_requests for cost in parts),
        put_requests=sum(cost.put_requests for cost in parts),
        memory_gb=model.memory_gb,
        seconds=_sum_intervals(cost.seconds for cost in parts),
        usd=_sum_intervals(cost.usd for cost in parts),
    )


def _overhead(model: CostModel, rates: Rates, factor: float) -> Cost:
    expected, seen = rates.overhead_seconds, rates.overhead_seen
    low, high = expected / factor, expected * factor
    if not rates.samples:
        # Nobody knows whether the engine runs when the plan does.
        low = min(low, WARM_SECONDS)
    if seen is not None:
        low, high = min(low, seen.low), max(high, seen.high)
    usd = model.memory_gb * model.compute_usd_per_gb_second
    return Cost(
        bytes_read=0,
        bytes_written=0,
        get_requests=0,
        put_requests=0,
        memory_gb=model.memory_gb,
        seconds=Interval(low, expected, high),
        usd=Interval(low * usd, expected * usd, high * usd),
    )


def _sum_intervals(intervals: Iterable[Interval]) -> Interval:
    parts = list(intervals)
    return Interval(
        low=math.fsum(part.low for part in parts),
        expected=math.fsum(part.expected for part in parts),
        high=math.fsum(part.high for part in parts),
    )
