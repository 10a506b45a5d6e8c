"""Ids as short as they are unique: shown so, and taken so."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise, takewhile

from neve.model.errors import InputError
from neve.model.facts import TableFacts

#: What is shown of an id at least.
LEAST = 8
MAX_NAMED = 5
#: A snapshot's id has 63 bits.
MAX_DIGITS = 19


def short(job_id: str) -> str:
    """The beginning of a job's or a turn's id; ids of others stay as they are."""
    return job_id[:LEAST] if len(job_id) == 36 else job_id


def shortened(ids: Iterable[str]) -> dict[str, str]:
    """Each id by the beginning that tells it from the others."""
    ordered = sorted(set(ids))
    lengths = dict.fromkeys(ordered, LEAST)
    for one, other in pairwise(ordered):
        same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
        needed = 1 + sum(1 for _ in same)
        lengths[one], lengths[other] = max(lengths[one], needed), max(lengths[other], needed)
    return {name: name[:length] for name, length in lengths.items()}


def resolve(begin: str, known: Iterable[str], what: str, next_step: str | None = None) -> str:
    """The one id that begins so; refuses several, and where there is a next step, none."""
    ids = set(known)
    found = [begin] if begin in ids else sorted(name for name in ids if name.startswith(begin))
    if not begin or not found:
        if begin and next_step is None:
            # Whoever it is given to knows better what to say about it.
            return begin
        raise InputError(f"There is no {what} {begin}.", next_step=next_step)
    if len(found) > 1:
        more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
        raise InputError(
            f"{len(found)} {what}s begin with {begin}: {', '.join(found[:MAX_NAMED])}{more}.",
            next_step="Give more of the id.",
        )
    return found[0]


def snapshot_of(facts: TableFacts, begin: str) -> int:
    """The snapshot whose id begins so, or the one that nobody has."""
    known = [str(snapshot.snapshot_id) for snapshot in facts.snapshots]
    return int(resolve(check_snapshot(begin), known, "snapshot"))


def check_snapshot(begin: str) -> str:
    """Refuse what can be no snapshot's id, before anything is read."""
    if not (begin.isascii() and begin.isdecimal() and len(begin) <= MAX_DIGITS):
        raise InputError(f"{begin!r} is no snapshot's id.", next_step="neve snapshots lists them.")
    return begin
