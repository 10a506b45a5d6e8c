"""The engines that rewrite files, one row each: what every other part asks about them.

A new engine is a row here, a value of `Engine`, and a file in `spark/rewrite/tasks/` if it runs
inside a task.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from neve.model.groups import Interval
from neve.model.policy import Engine, RewriteMode
from neve.model.rewrite import BytesCompared, FileProof, RowFingerprints, StoreDigests
from neve.planning.refusals import (
    GroupFacts,
    refusal_to_copy,
    refusal_to_copy_in_store,
    refusal_to_rewrite,
    refuses_nothing,
)

MB = 1024 * 1024
#: A reader fetches a large file in ranges of about this size, a writer in parts of this size.
READ_RANGE_BYTES = 8 * MB
UPLOAD_PART_BYTES = 32 * MB
#: How tasks that rewrite rows bring objects to their disk, and send new ones.
FETCHED_PIECE_BYTES = 4 * MB
SENT_PART_BYTES = 16 * MB
#: To copy a source, its footer is read, and what is copied is looked at in a few spots.
GETS_PER_COPIED_FILE = 3


@dataclass(frozen=True, slots=True)
class Transfer:
    """What is read and written, as far as requests depend on it."""

    file_sizes: Sequence[int]
    delete_files: int
    bytes_written: int
    output_files: int


@dataclass(frozen=True, slots=True)
class Requests:
    """A part that the store copies is priced as a PUT."""

    gets: int
    puts: int


def requests_of_streams(transfer: Transfer) -> Requests:
    """All bytes come in by ranges and go out by parts."""
    gets = sum(1 + math.ceil(size / READ_RANGE_BYTES) for size in transfer.file_sizes)
    outputs = transfer.output_files
    parts = math.ceil(transfer.bytes_written / max(1, outputs) / UPLOAD_PART_BYTES)
    # One part goes up as a plain PUT; more need a call to begin and one to complete the upload.
    return Requests(gets + transfer.delete_files, outputs * (1 if parts <= 1 else parts + 2))


def requests_of_rewrites(transfer: Transfer) -> Requests:
    """As streams by smaller pieces, and the end of each new object is read once more."""
    gets = sum(math.ceil(size / FETCHED_PIECE_BYTES) for size in transfer.file_sizes)
    outputs = transfer.output_files
    parts = math.ceil(transfer.bytes_written / max(1, outputs) / SENT_PART_BYTES)
    # A look for an object of that name, a call to begin and one to complete the upload.
    return Requests(gets + transfer.delete_files + 2 * outputs, outputs * (parts + 2))


def requests_of_store_copies(transfer: Transfer) -> Requests:
    """A part for every source, one for the footer, a call to begin and one to complete."""
    sources = len(transfer.file_sizes)
    return Requests(GETS_PER_COPIED_FILE * sources, sources + 3 * transfer.output_files)


@dataclass(frozen=True, slots=True)
class EngineRow:
    """One engine: when it is taken, what it costs, where it runs, and how its files are proven."""

    engine: Engine
    #: Why it must leave a group to the next row, or None.
    refuses: Callable[[GroupFacts], str | None]
    #: What it does, in the words of a plan.
    does: str
    #: Whether values are decoded and encoded again; if not, row groups stay as they are.
    decodes: bool
    runs_in_task: bool
    #: Kinds of proof that its bytes may be committed with; none where the table is the proof.
    proofs: tuple[type[FileProof], ...]
    #: Before anything was learned: wrong by a factor perhaps.
    bytes_per_second: Interval
    requests: Callable[[Transfer], Requests]


#: A disk or a store.
COPY_SPEED = Interval(low=40 * MB, expected=250 * MB, high=800 * MB)
#: What Arrow decodes and encodes on two cores, read back.
REWRITE_SPEED = Interval(low=8 * MB, expected=50 * MB, high=200 * MB)
#: An untuned Spark on two cores.
SPARK_SPEED = Interval(low=6 * MB, expected=25 * MB, high=50 * MB)

#: Best first: a group is offered to each in this order, and the last one takes everything.
ENGINES: tuple[EngineRow, ...] = (
    EngineRow(
        Engine.REMOTE_COPY,
        refuses=refusal_to_copy_in_store,
        does="row groups are copied by the store itself, or through Spark where it has no such "
        "call",
        decodes=False,
        runs_in_task=True,
        proofs=(StoreDigests, BytesCompared),
        bytes_per_second=COPY_SPEED,
        requests=requests_of_store_copies,
    ),
    EngineRow(
        Engine.COPY,
        refuses=refusal_to_copy,
        does="row groups are copied as they are",
        decodes=False,
        runs_in_task=True,
        # Objects that pass through a task are sent with their digests.
        proofs=(BytesCompared, StoreDigests),
        bytes_per_second=COPY_SPEED,
        requests=requests_of_streams,
    ),
    EngineRow(
        Engine.REWRITE,
        refuses=refusal_to_rewrite,
        does="column chunks are copied or joined, and what must change is encoded again",
        decodes=True,
        runs_in_task=True,
        proofs=(RowFingerprints,),
        bytes_per_second=REWRITE_SPEED,
        requests=requests_of_rewrites,
    ),
    EngineRow(
        Engine.SPARK,
        refuses=refuses_nothing,
        does="rows are read and written again by Iceberg",
        decodes=True,
        runs_in_task=False,
        proofs=(),
        bytes_per_second=SPARK_SPEED,
        requests=requests_of_streams,
    ),
)

_ROWS = {row.engine: row for row in ENGINES}


def row_of(engine: Engine) -> EngineRow:
    """What is known of an engine."""
    return _ROWS[engine]


def rank_of(engine: Engine) -> int:
    """Where it stands; a lower rank is better."""
    return ENGINES.index(_ROWS[engine])


def allowed(mode: RewriteMode) -> tuple[EngineRow, ...]:
    """The engines that a wish leaves: all, or the one named and those after it."""
    return ENGINES if mode is RewriteMode.AUTO else ENGINES[rank_of(Engine(mode.value)) :]
