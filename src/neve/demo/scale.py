"""How much the demo writes: many small files by default, large row groups for a table of a size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from neve.model.errors import InputError
from neve.model.sizes import format_size

MB: Final = 1024 * 1024
DEFAULT_BATCHES: Final = 50
DEFAULT_EVENTS: Final = 10_000
#: Files of a sized table: above what a row group must have to be copied.
LARGE_FILE_BYTES: Final = 8 * MB
#: What an event with digests for ids takes in a file.
LARGE_EVENT_BYTES: Final = 62
#: Late events of a sized table, for every event of a batch.
LATE_SHARE: Final = 8


@dataclass(frozen=True, slots=True)
class Scale:
    """Micro-batches, and the events in each."""

    batches: int
    events: int
    late_events: int
    #: Whether ids are digests, which no codec makes smaller.
    has_digests: bool = False


def scale_of(
    batches: int | None, events: int | None, size_bytes: int | None, partitions: int
) -> Scale:
    """What was asked for, by the number of events or by the size of the table."""
    if size_bytes is None:
        count = events or DEFAULT_EVENTS
        return Scale(batches or DEFAULT_BATCHES, count, count)
    if batches is not None or events is not None:
        raise InputError(
            "--size says how much is written, so that --batches and --events cannot.",
            next_step="Leave out the one or the others.",
        )
    batch_bytes = LARGE_FILE_BYTES * partitions
    if size_bytes < 2 * batch_bytes:
        raise InputError(
            f"A table of {format_size(size_bytes)} has no two files of "
            f"{format_size(LARGE_FILE_BYTES)} in each of {partitions} partitions.",
            next_step=f"Ask for {format_size(2 * batch_bytes)} or more, or for fewer --partitions.",
        )
    count = batch_bytes // LARGE_EVENT_BYTES
    return Scale(size_bytes // batch_bytes, count, count // LATE_SHARE, has_digests=True)
