"""Which cases are run: a seeded sample, or all of them.

`ATTACK_SEED` chooses another sample, `ATTACK_CASES` is how many points each pair of an operation
and what happens to it gets, and `ATTACK_FULL=1` takes every point of every pair.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import pytest

SEED = int(os.environ.get("ATTACK_SEED", "20261117"))
IS_FULL = os.environ.get("ATTACK_FULL", "") not in ("", "0")
#: Without it, not every pair has its turn.
POINTS_PER_PAIR = int(os.environ.get("ATTACK_CASES", "0"))
IS_SAMPLE = not (IS_FULL or POINTS_PER_PAIR)
#: No operation has more points than this; `Attack.points_of` sees to it.
MAX_POINTS = 400


def choices(*parts: object) -> random.Random:
    """The same choices for the same case, whatever ran before it."""
    return random.Random(f"{SEED}:{':'.join(map(str, parts))}")


def cases(
    operations: Iterable[str], happenings: Sequence[str], *, each: int, of: int | None = None
) -> list[Any]:
    """Operation, what happens, number of the point.

    By default `each` operation gets this many, or each `of` this many. Happenings are dealt
    like cards, so that a sample leaves none out which it has room for.
    """
    names = sorted(operations)
    picked: list[tuple[str, str, int]] = []
    if not IS_SAMPLE:
        numbers = range(MAX_POINTS if IS_FULL else POINTS_PER_PAIR)
        picked = list(product(names, happenings, numbers))
    else:
        deck: list[str] = []
        shuffled = choices("operations", happenings).sample(names, of or len(names))
        for number, operation in enumerate(name for name in shuffled for _ in range(each)):
            if not deck:
                deck = choices("deck", number).sample(list(happenings), len(happenings))
            picked.append((operation, deck.pop(), 0))
    return [
        # One worker learns the points of an operation, and runs all of its cases.
        pytest.param(*case, id="-".join(map(str, case)), marks=pytest.mark.xdist_group(case[0]))
        for case in picked
    ]


def point_of(points: Sequence[str], *case: object) -> str:
    """The point of a case, whose last part is its number."""
    if not IS_FULL:
        return choices(*case).choice(list(points))
    number = int(str(case[-1]))
    if number >= len(points):
        pytest.skip("The operation has fewer points.")
    return points[number]
