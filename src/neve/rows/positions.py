"""Where a row of a replaced file went, so that deletes of it can follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from neve.model.errors import RowsCorrupt
from neve.rows.deletes import merged
from neve.rows.roaring import Positions


@dataclass(frozen=True, slots=True)
class MovedRange:
    """Rows of a source, one after the other, that lie one after the other in a target.

    `removed` are positions in the source that the rewrite left out, in ascending order; it may
    speak of the whole source.
    """

    source: str
    first: int
    rows: int
    target: str
    target_first: int
    removed: Positions

    @property
    def end(self) -> int:
        return self.first + self.rows

    @property
    def target_rows(self) -> int:
        """How many rows the target got."""
        start, end = np.searchsorted(self.removed, [self.first, self.end])
        return self.rows - int(end - start)


def translate(
    ranges: Sequence[MovedRange], deletes: Mapping[str, Positions]
) -> dict[str, Positions]:
    """New deletes on sources, as positions in the targets; ascending, each once.

    A row that the rewrite left out is gone already. A position that no range covers is refused:
    nobody knows where that row went.
    """
    by_source: dict[str, list[MovedRange]] = {}
    for moved in ranges:
        by_source.setdefault(moved.source, []).append(moved)
    found: dict[str, list[Positions]] = {}
    for source, positions in deletes.items():
        covered = 0
        for moved in _checked(by_source.get(source, [])):
            start, end = np.searchsorted(positions, [moved.first, moved.end])
            covered += int(end - start)
            found.setdefault(moved.target, []).append(_moved(moved, positions[start:end]))
        if covered != len(positions):
            raise RowsCorrupt(f"A new delete takes a row from {source} that was not rewritten.")
    return {target: all_ for target, parts in found.items() if len(all_ := merged(parts))}


def _checked(ranges: Sequence[MovedRange]) -> list[MovedRange]:
    """The ranges of one source in order, none over another."""
    ordered = sorted(ranges, key=lambda moved: moved.first)
    for one, other in pairwise(ordered):
        if one.end > other.first:
            raise RowsCorrupt(f"Rows of {one.source} were rewritten twice.")
    return ordered


def _moved(moved: MovedRange, positions: Positions) -> Positions:
    """Target positions of those source positions that are still there."""
    removed = moved.removed
    rank = np.searchsorted(removed, positions)
    before = np.searchsorted(removed, moved.first)
    is_gone = np.zeros(len(positions), dtype=np.bool_)
    inside = rank < len(removed)
    is_gone[inside] = removed[rank[inside]] == positions[inside]
    shifted = moved.target_first + (positions - moved.first) - (rank - before)
    kept: Positions = shifted[~is_gone]
    return kept
