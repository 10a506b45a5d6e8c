"""What work costs: requests, seconds, memory and dollars, with an interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neve.model.groups import Cost, Interval
from neve.model.policy import Engine

#: A reader fetches a large file in ranges of about this size, a writer in parts of this size.
READ_RANGE_BYTES = 8 * 1024 * 1024
UPLOAD_PART_BYTES = 32 * 1024 * 1024
MB = 1024 * 1024
#: Copying row groups before anything was learned: a disk or a store, wrong by a factor perhaps.
DEFAULT_COPY_BYTES_PER_SECOND = Interval(low=80 * MB, expected=250 * MB, high=800 * MB)
#: To copy a source, its footer is read, and what is copied is looked at in a few spots.
GETS_PER_COPIED_FILE = 3


@dataclass(frozen=True, slots=True)
class CostModel:
    """Prices. The defaults are list prices of an S3 standard bucket and of serverless compute."""

    get_usd_per_1000: float = 0.0004
    put_usd_per_1000: float = 0.005
    compute_usd_per_gb_second: float = 0.0000166667
    memory_gb: float = 2.0


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast this deployment rewrites, and how much smaller outputs get."""

    bytes_per_second: Interval
    #: The same where row groups are copied instead of re-encoded.
    copy_bytes_per_second: Interval = DEFAULT_COPY_BYTES_PER_SECOND
    #: What a run takes however little it rewrites: starting the engine, planning, committing.
    overhead_seconds: float = 5.0
    #: Output bytes per input byte.
    compression_ratio: float = 1.0
    #: How many past runs the rates were learned from; 0 means defaults.
    samples: int = 0
    #: Mean relative error of the time estimates of those runs.
    time_error: float | None = None


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
    sizes = list(file_sizes)
    bytes_read = sum(sizes)
    bytes_written = bytes_read if engine.copies else int(bytes_read * rates.compression_ratio)
    gets, puts = _requests(sizes, delete_files, bytes_written, output_files, engine)
    speed = rates.copy_bytes_per_second if engine.copies else rates.bytes_per_second
    seconds = Interval(
        low=bytes_read / speed.high,
        expected=bytes_read / speed.expected,
        high=bytes_read / speed.low,
    )
    requests_usd = (gets * model.get_usd_per_1000 + puts * model.put_usd_per_1000) / 1000
    usd_per_second = model.memory_gb * model.compute_usd_per_gb_second
    return Cost(
        bytes_read=bytes_read,
        bytes_written=bytes_written,
        get_requests=gets,
        put_requests=puts,
        memory_gb=model.memory_gb,
        seconds=seconds,
        usd=Interval(
            low=requests_usd + usd_per_second * seconds.low,
            expected=requests_usd + usd_per_second * seconds.expected,
            high=requests_usd + usd_per_second * seconds.high,
        ),
    )


def _requests(
    sizes: Sequence[int], delete_files: int, bytes_written: int, output_files: int, engine: Engine
) -> tuple[int, int]:
    """GETs and PUTs; a part that the store copies is priced as a PUT."""
    if engine is Engine.REMOTE_COPY:
        # A part for every source, one for the footer, a call to begin and one to complete.
        return GETS_PER_COPIED_FILE * len(sizes), len(sizes) + 3 * output_files
    gets = sum(1 + math.ceil(size / READ_RANGE_BYTES) for size in sizes) + delete_files
    parts = math.ceil(bytes_written / max(1, output_files) / UPLOAD_PART_BYTES)
    # One part goes up as a plain PUT; more need a call to begin and one to complete the upload.
    return gets, output_files * (1 if parts <= 1 else parts + 2)


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
        parts.append(_overhead(model, rates.overhead_seconds))
    return Cost(
        bytes_read=sum(cost.bytes_read for cost in parts),
        bytes_written=sum(cost.bytes_written for cost in parts),
        get_requests=sum(cost.get_requests for cost in parts),
        put_requests=sum(cost.put_requests for cost in parts),
        memory_gb=model.memory_gb,
        seconds=_sum_intervals(cost.seconds for cost in parts),
        usd=_sum_intervals(cost.usd for cost in parts),
    )


def _overhead(model: CostModel, seconds: float) -> Cost:
    usd = seconds * model.memory_gb * model.compute_usd_per_gb_second
    return Cost(
        bytes_read=0,
        bytes_written=0,
        get_requests=0,
        put_requests=0,
        memory_gb=model.memory_gb,
        seconds=Interval(seconds / 2, seconds, seconds * 2),
        usd=Interval(usd / 2, usd, usd * 2),
    )


def _sum_intervals(intervals: Iterable[Interval]) -> Interval:
    parts = list(intervals)
    return Interval(
        low=math.fsum(part.low for part in parts),
        expected=math.fsum(part.expected for part in parts),
        high=math.fsum(part.high for part in parts),
    )
