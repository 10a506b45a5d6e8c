"""First-Fit-Decreasing bin packing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


def pack_first_fit_decreasing(
    items: Iterable[Item], *, capacity: int, size_of: Callable[[Item], int]
) -> list[list[Item]]:
    """Put items into as few bins of the capacity as First-Fit-Decreasing finds.

    An item above the capacity gets a bin of its own. The result does not depend on the order of
    items of different sizes. Finding the first bin that fits takes O(log n) steps, by a
    tournament tree over the room that bins have left, so ten thousand items are no problem.
    """
    ordered = sorted(items, key=size_of, reverse=True)
    bins: list[list[Item]] = []
    room = _RoomTree(len(ordered))
    for item in ordered:
        size = size_of(item)
        index = room.first_with(size)
        if index is None or index >= len(bins):
            index = len(bins)
            bins.append([])
            room.set(index, capacity - size)
        else:
            room.set(index, room.get(index) - size)
        bins[index].append(item)
    return bins


def split_evenly(
    items: Iterable[Item], *, parts: int, at_least: int, size_of: Callable[[Item], int]
) -> list[list[Item]]:
    """Cut a list into this many parts, about the same size, or fewer where they would be small."""
    chosen = list(items)
    limit = max(at_least, -(-sum(map(size_of, chosen)) // parts))
    cut: list[list[Item]] = []
    room = 0
    for item in chosen:
        if not cut or (room <= 0 and len(cut) < parts):
            cut.append([])
            room = limit
        cut[-1].append(item)
        room -= size_of(item)
    return cut


class _RoomTree:
    """The room left in each bin; answers which is the first bin with enough of it."""

    def __init__(self, bins: int) -> None:
        self._leaves = 1 << max(0, (bins - 1).bit_length())
        # -1: a bin that is not open yet fits nothing, not even an empty file.
        self._room = [-1] * (2 * self._leaves)

    def get(self, index: int) -> int:
        return self._room[self._leaves + index]

    def set(self, index: int, room: int) -> None:
        node = self._leaves + index
        self._room[node] = room
        while node > 1:
            node //= 2
            self._room[node] = max(self._room[2 * node], self._room[2 * node + 1])

    def first_with(self, size: int) -> int | None:
        if self._room[1] < size:
            return None
        node = 1
        while node < self._leaves:
            node = 2 * node if self._room[2 * node] >= size else 2 * node + 1
        return node - self._leaves
