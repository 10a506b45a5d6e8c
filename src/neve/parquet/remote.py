"""A planned file as a multipart upload: what the store copies itself, and what is sent to it.

A store copies ranges of its own objects, but every part of an upload except the last must have
5 MiB or more. So a large range becomes parts that the store copies, and whatever is smaller, or
encoded by us, is gathered with its neighbours into a part that passes through the client. Where a
gathered part is still too short, it borrows bytes from the large ranges beside it; a range that has
too little to lend is gathered whole if nothing cheaper helps. Of all ways to do so, one is chosen
that sends the fewest bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from neve.model.errors import ParquetUnsupported
from neve.parquet.layout import MAGIC
from neve.parquet.plan import CopyRange, Encoded, Literal, Part, SplicePlan

MIN_PART_BYTES: Final = 5 * 1024 * 1024
MAX_PART_BYTES: Final = 5 * 1024 * 1024 * 1024
MAX_PARTS: Final = 10_000

#: Larger gathered parts would save requests, and cost memory for each one in flight.
_GATHER_BYTES: Final = 6 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CopyPart:
    """A part that the store copies from one of its objects."""

    source: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class GatherPart:
    """A part that is read, put together and sent."""

    pieces: tuple[Part, ...] = field(repr=False)

    @property
    def length(self) -> int:
        """How many bytes it has."""
        return sum(piece.length for piece in self.pieces)

    @property
    def read_bytes(self) -> int:
        """How many of them come from sources."""
        return sum(piece.length for piece in self.pieces if isinstance(piece, CopyRange))


UploadPart: TypeAlias = CopyPart | GatherPart


@dataclass(frozen=True, slots=True)
class UploadPlan:
    """The parts of an upload, in the order of the new object."""

    parts: tuple[UploadPart, ...] = field(repr=False)

    @property
    def read_bytes(self) -> int:
        """Bytes of the sources that pass through the client."""
        return sum(part.read_bytes for part in self.parts if isinstance(part, GatherPart))

    @property
    def copied_bytes(self) -> int:
        """Bytes that the store copies by itself."""
        return sum(part.length for part in self.parts if isinstance(part, CopyPart))


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Small pieces, and the large range after them; the last stretch has none."""

    small: tuple[Part, ...]
    large: CopyRange | None

    @property
    def small_bytes(self) -> int:
        return sum(piece.length for piece in self.small)


@dataclass(frozen=True, slots=True)
class _Choice:
    """One way to treat all large ranges up to one of them."""

    read_bytes: int
    #: What the range can still lend to the pieces after it; None where it is gathered itself.
    room: int | None
    #: Bytes lent to the part between the range before and this one, by either.
    lent_before: int = 0
    lent: int = 0
    before: _Choice | None = None


def plan_upload(
    plan: SplicePlan,
    *,
    min_part_bytes: int = MIN_PART_BYTES,
    max_part_bytes: int = MAX_PART_BYTES,
) -> UploadPlan:
    """The upload that sends the fewest bytes."""
    if not 0 < 2 * min_part_bytes <= max_part_bytes:
        raise ValueError("The largest part must have at least twice the size of the smallest.")
    stretches = list(_stretches(_with_magic(plan.parts, min_part_bytes), min_part_bytes))
    choices = _choose(stretches[:-1], min_part_bytes)
    parts: list[UploadPart] = []
    zone: list[Part] = []
    for stretch, choice in zip(stretches, choices, strict=False):
        large = stretch.large
        assert large is not None
        if choice.lent_before:
            zone[:0] = _cut_tail(parts, choice.lent_before)
        zone += stretch.small
        if choice.room is None:
            zone.append(large)
            continue
        if choice.lent:
            zone.append(CopyRange(large.source, large.offset, choice.lent))
        parts += _gathered(zone, min_part_bytes)
        zone = []
        parts.append(CopyPart(large.source, large.offset + choice.lent, large.length - choice.lent))
    parts += _gathered([*zone, *stretches[-1].small], min_part_bytes)
    return _upload(_within(parts, max_part_bytes))


def plan_through_client(plan: SplicePlan, *, min_part_bytes: int = MIN_PART_BYTES) -> UploadPlan:
    """The upload for a store that does not copy: every part is gathered."""
    return _upload(_gathered(plan.parts, min_part_bytes))


def _upload(parts: Iterable[UploadPart]) -> UploadPlan:
    upload = UploadPlan(tuple(parts))
    count = len(upload.parts)
    if count > MAX_PARTS:
        raise ParquetUnsupported(f"An upload of {count} parts is over the limit of {MAX_PARTS}.")
    return upload


def _with_magic(parts: Sequence[Part], min_part_bytes: int) -> Sequence[Part]:
    """Take the opening magic from the first source, which begins with the same bytes."""
    match parts:
        case [Literal(data=data), CopyRange() as first, *rest] if (
            data == MAGIC and first.offset == len(MAGIC)
        ):
            length = len(MAGIC) + first.length
            if length >= min_part_bytes:
                return [CopyRange(first.source, 0, length), *rest]
    return parts


def _stretches(parts: Iterable[Part], min_part_bytes: int) -> Iterator[_Stretch]:
    small: list[Part] = []
    for part in parts:
        if isinstance(part, CopyRange) and part.length >= min_part_bytes:
            yield _Stretch(tuple(small), part)
            small = []
        elif part.length:
            small.append(part)
    yield _Stretch(tuple(small), None)


def _choose(stretches: Iterable[_Stretch], minimum: int) -> list[_Choice]:
    """The cheapest way for each large range; found range by range, like a shortest path."""
    choices = [_Choice(read_bytes=0, room=0)]
    for stretch in stretches:
        choices = _worthwhile(
            following
            for choice in choices
            for following in _continuations(choice, stretch, minimum)
        )
    last: _Choice | None = min(choices, key=lambda choice: choice.read_bytes)
    path: list[_Choice] = []
    while last is not None and last.before is not None:
        path.append(last)
        last = last.before
    return path[::-1]


def _continuations(choice: _Choice, stretch: _Stretch, minimum: int) -> Iterator[_Choice]:
    assert stretch.large is not None
    length = stretch.large.length
    missing = 0
    if choice.room is not None and 0 < stretch.small_bytes < minimum:
        missing = minimum - stretch.small_bytes
    # The range before has nobody else to lend to, so it goes first.
    before = min(missing, choice.room or 0)
    lent = missing - before
    if lent <= length - minimum:
        yield _Choice(choice.read_bytes + missing, length - minimum - lent, before, lent, choice)
    yield _Choice(choice.read_bytes + length, None, before=choice)


def _worthwhile(choices: Iterable[_Choice]) -> list[_Choice]:
    """Those that no other one beats both in bytes and in what is left to lend."""
    kept: list[_Choice] = []
    gathered: list[_Choice] = []
    for choice in sorted(choices, key=lambda c: (c.read_bytes, -(c.room or 0))):
        if choice.room is None:
            gathered = gathered or [choice]
        elif not kept or choice.room > (kept[-1].room or 0):
            kept.append(choice)
    return kept + gathered


def _cut_tail(parts: list[UploadPart], length: int) -> list[Part]:
    last = parts[-1]
    assert isinstance(last, CopyPart)
    parts[-1] = CopyPart(last.source, last.offset, last.length - length)
    return [CopyRange(last.source, last.offset + last.length - length, length)]


def _gathered(zone: Sequence[Part], min_part_bytes: int) -> Iterator[GatherPart]:
    """Neighbouring pieces as parts of equal size, none shorter than a part must be."""
    total = sum(piece.length for piece in zone)
    if not total:
        return
    wanted = max(_GATHER_BYTES, min_part_bytes)
    count = max(1, min(-(-total // wanted), total // min_part_bytes))
    pieces = iter(zone)
    rest: Part | None = None
    for number in range(count):
        room = total * (number + 1) // count - total * number // count
        taken: list[Part] = []
        while room:
            piece = rest or next(pieces)
            head, rest = _divide(piece, room)
            room -= head.length
            if head.length:
                taken.append(head)
        yield GatherPart(tuple(taken))


def _divide(piece: Part, at: int) -> tuple[Part, Part | None]:
    if piece.length <= at:
        return piece, None
    if isinstance(piece, (Literal, Encoded)):
        return type(piece)(piece.data[:at]), type(piece)(piece.data[at:])
    head = CopyRange(piece.source, piece.offset, at)
    return head, CopyRange(piece.source, piece.offset + at, piece.length - at)


def _within(parts: Iterable[UploadPart], max_part_bytes: int) -> Iterator[UploadPart]:
    """The same parts, those that the store copies cut into equal ones of a size it accepts."""
    for part in parts:
        if isinstance(part, GatherPart):
            yield part
            continue
        count = -(-part.length // max_part_bytes)
        for number in range(count):
            start = part.length * number // count
            end = part.length * (number + 1) // count
            yield CopyPart(part.source, part.offset + start, end - start)
