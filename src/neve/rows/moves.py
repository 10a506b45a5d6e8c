"""Deletes that follow their rows into new files, and the proof that none took another row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from neve.model.errors import ProofFailed, RowsCorrupt
from neve.model.rebase import GroupMove, MovedSource, MovedTarget
from neve.rows.deletes import check_positions, merged
from neve.rows.positions import MovedRange, translate
from neve.rows.roaring import Positions, read_bitmap

_NONE = np.empty(0, dtype=np.int64)


def follow(group: GroupMove, deleted: Mapping[str, Positions]) -> dict[str, Positions]:
    """Which rows of the new files are gone, by the deletes that the sources have now.

    Raises RowsCorrupt where that cannot be told from what the group knows of its rows.
    """
    ranges = [moved for target in group.targets for moved in moved_ranges(target)]
    for source in group.sources:
        own = [moved for moved in ranges if moved.source == source.path]
        _check_source(source, own, deleted[source.path])
    touched = {source.path for source in group.sources}
    return translate(ranges, {path: each for path, each in deleted.items() if path in touched})


def moved_ranges(target: MovedTarget) -> list[MovedRange]:
    """The ranges of a new file with their places in it; they must be all of it."""
    found, at = [], 0
    for one in target.ranges:
        removed = read_bitmap(one.removed) if one.removed else _NONE
        moved = MovedRange(one.path, one.first_row, one.rows, target.path, at, removed)
        at += moved.target_rows
        found.append(moved)
    if not found or at != target.record_count:
        raise RowsCorrupt(f"It is not known where all rows of {target.path} come from.")
    return found


def _check_source(source: MovedSource, ranges: Sequence[MovedRange], deleted: Positions) -> None:
    check_positions(deleted, source.record_count, source.path)
    at = 0
    for moved in sorted(ranges, key=lambda moved: (moved.first, moved.rows)):
        if moved.first != at:
            raise RowsCorrupt(f"Rows of {source.path} are in no new file, or in two.")
        at = moved.end
    if at != source.record_count:
        raise RowsCorrupt(f"Not all rows of {source.path} are accounted for.")
    if source.explains_removed and len(np.setdiff1d(_removed(ranges), deleted)):
        raise RowsCorrupt(f"A row of {source.path} was left out, and is not deleted any more.")


def _removed(ranges: Iterable[MovedRange]) -> Positions:
    return merged(
        moved.removed[(moved.removed >= moved.first) & (moved.removed < moved.end)]
        for moved in ranges
    )


def check_moved(
    group: GroupMove, deleted: Mapping[str, Positions], written: Mapping[str, Positions]
) -> None:
    """Hold what was written about the new files against the sources, row by row.

    Each position is traced back to the row that it takes, without the arithmetic that it was found
    by. The rows must be those that readers of the sources miss and the new files still hold.
    """
    sources = {source.path for source in group.sources}
    gone: dict[str, list[Positions]] = {path: [] for path in sources}
    left_out: dict[str, list[MovedRange]] = {path: [] for path in sources}
    for target in group.targets:
        ranges = moved_ranges(target)
        for moved in ranges:
            left_out.setdefault(moved.source, []).append(moved)
        for path, rows in _origins(target, ranges, written.get(target.path, _NONE)):
            if path not in sources:
                raise ProofFailed(f"A moved delete takes rows from {path}, which has none.")
            gone[path].append(rows)
    for path in sources:
        expected = np.setdiff1d(deleted[path], _removed(left_out[path]))
        if not np.array_equal(merged(gone[path]), expected):
            raise ProofFailed(f"Moved deletes of {path} do not take the rows that they took.")


def _origins(
    target: MovedTarget, ranges: Sequence[MovedRange], positions: Positions
) -> Iterable[tuple[str, Positions]]:
    """Rows of sources that lie at these positions of a new file."""
    if len(positions) and not 0 <= int(positions[0]) <= int(positions[-1]) < target.record_count:
        raise ProofFailed(f"A moved delete takes a row that {target.path} does not have.")
    for moved in ranges:
        start, end = np.searchsorted(
            positions, [moved.target_first, moved.target_first + moved.target_rows]
        )
        if start == end:
            continue
        kept = np.setdiff1d(np.arange(moved.first, moved.end), moved.removed, assume_unique=True)
        yield moved.source, kept[positions[start:end] - moved.target_first]
