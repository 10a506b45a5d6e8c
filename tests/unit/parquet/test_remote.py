"""The parts of an upload: the planned bytes in the planned order, and as few as possible sent."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neve.model.errors import ParquetUnsupported
from neve.parquet import remote
from neve.parquet.plan import CopyRange, Encoded, Literal, Part, SourceFile, SplicePlan
from neve.parquet.remote import (
    MIN_PART_BYTES,
    CopyPart,
    GatherPart,
    UploadPlan,
    plan_through_client,
    plan_upload,
)

MAGIC = Literal(b"PAR1")
FOOTER = Literal(b"the footer")
MIB = 1024 * 1024
MINIMUM = 6
MAXIMUM = 25


def plan_of(*parts: Part) -> SplicePlan:
    size = sum(part.length for part in parts)
    sources = max((part.source for part in parts if isinstance(part, CopyRange)), default=-1) + 1
    files = tuple(SourceFile(f"s3://b/{number}", 2**60) for number in range(sources))
    return SplicePlan(files, parts, size, 0, 0, (), ())


def files_of(*sizes: int, start: int = 4) -> list[CopyRange]:
    """The data of files of these sizes."""
    return [CopyRange(number, start, size - start) for number, size in enumerate(sizes)]


def summary(upload: UploadPlan) -> list[tuple[int, ...] | int]:
    """Copied parts as (source, offset, length), gathered ones as their length."""
    return [
        (part.source, part.offset, part.length) if isinstance(part, CopyPart) else part.length
        for part in upload.parts
    ]


def letters(parts: tuple[Part, ...] | tuple[CopyPart, ...]) -> list[object]:
    """Every byte with where it comes from, alike for plans and uploads."""
    found: list[object] = []
    for part in parts:
        if isinstance(part, GatherPart):
            found += letters(part.pieces)
        elif isinstance(part, (Literal, Encoded)):
            found += [(type(part), byte) for byte in part.data]
        else:
            found += [(part.source, part.offset + n) for n in range(part.length)]
    return found


def cheapest(parts: tuple[Part, ...]) -> int:
    """The fewest source bytes that any upload could send, by trying every cut."""
    owners: list[int | None] = []
    for number, part in enumerate(parts):
        owners += [number if isinstance(part, CopyRange) else None] * part.length
    read_before = list(accumulate((owner is not None for owner in owners), initial=0))
    size = len(owners)
    best: list[float] = [0.0] + [float("inf")] * size
    for end in range(1, size + 1):
        for start in range(end if end == size else max(0, end - MINIMUM + 1)):
            inside = set(owners[start:end])
            is_copied = len(inside) == 1 and None not in inside
            cost = 0 if is_copied else read_before[end] - read_before[start]
            best[end] = min(best[end], best[start] + cost)
    return int(best[size])


ranges = st.builds(CopyRange, st.integers(0, 3), st.integers(0, 9), st.integers(1, 16))
literals = st.builds(Literal, st.binary(max_size=8))
encoded = st.builds(Encoded, st.binary(max_size=16))
plans = st.lists(ranges | literals | encoded, max_size=7).map(lambda parts: plan_of(*parts, FOOTER))


@given(plans)
@example(plan_of(MAGIC, CopyRange(0, 4, 2), FOOTER))
@example(plan_of(MAGIC, CopyRange(0, 4, 3), FOOTER))
def test_parts_are_the_planned_bytes_within_the_limits(plan: SplicePlan) -> None:
    upload = plan_upload(plan, min_part_bytes=MINIMUM, max_part_bytes=MAXIMUM)

    sent = letters(upload.parts)
    if plan.parts[0] == MAGIC and isinstance(upload.parts[0], CopyPart):
        assert sent[:4] == [(plan.parts[1].source, byte) for byte in range(4)]
        sent[:4] = letters((MAGIC,))
    assert sent == letters(plan.parts)
    assert all(part.length >= MINIMUM for part in upload.parts[:-1])
    assert all(part.length <= MAXIMUM for part in upload.parts if isinstance(part, CopyPart))


@given(plans)
@example(plan_of(*files_of(8, 8), FOOTER))
@example(plan_of(CopyRange(0, 0, 7), Literal(b"a"), CopyRange(1, 0, 9), Literal(b"b"), FOOTER))
def test_no_upload_sends_fewer_bytes(plan: SplicePlan) -> None:
    upload = plan_upload(plan, min_part_bytes=MINIMUM, max_part_bytes=MAXIMUM)

    assert upload.read_bytes == cheapest(plan.parts)


@given(plans)
def test_a_store_that_does_not_copy_is_sent_everything(plan: SplicePlan) -> None:
    upload = plan_through_client(plan, min_part_bytes=MINIMUM)

    assert letters(upload.parts) == letters(plan.parts)
    assert upload.read_bytes == plan.copied_bytes
    assert upload.copied_bytes == 0


@given(plans)
def test_what_the_store_copies_and_what_is_read_are_all_that_comes_from_sources(
    plan: SplicePlan,
) -> None:
    upload = plan_upload(plan, min_part_bytes=MINIMUM, max_part_bytes=MAXIMUM)

    magic = 4 if plan.parts[0] == MAGIC and isinstance(upload.parts[0], CopyPart) else 0
    assert upload.copied_bytes + upload.read_bytes == plan.copied_bytes + magic


def test_pages_of_ours_are_sent_in_parts_that_a_store_takes() -> None:
    pages = Encoded(bytes(13 * MIB))

    upload = plan_upload(plan_of(MAGIC, pages, CopyRange(0, 4, 20 * MIB), FOOTER))

    sizes = [part.length for part in upload.parts]
    assert [isinstance(part, CopyPart) for part in upload.parts] == [False, False, True, False]
    assert sizes[0] + sizes[1] == 13 * MIB + 4
    assert min(sizes[:-1]) >= MIN_PART_BYTES
    assert upload.read_bytes == 0


def test_few_pages_of_ours_between_large_ranges_borrow_from_one() -> None:
    large = [CopyRange(number, 4, 20 * MIB) for number in range(2)]

    upload = plan_upload(plan_of(MAGIC, large[0], Encoded(bytes(MIB)), large[1], FOOTER))

    assert upload.read_bytes == 4 * MIB
    assert [part.length for part in upload.parts][1] == MIN_PART_BYTES


def test_large_files_pass_as_one_part_each_and_only_the_footer_is_sent() -> None:
    first, second = files_of(6_000_000, 32_000_000)

    upload = plan_upload(plan_of(MAGIC, first, second, FOOTER))

    assert summary(upload) == [(0, 0, 6_000_000), (1, 4, 31_999_996), 10]
    assert upload.read_bytes == 0


def test_a_first_file_that_does_not_begin_at_its_magic_lends_to_it() -> None:
    first = CopyRange(0, 100, 20 * MIB)

    upload = plan_upload(plan_of(MAGIC, first, FOOTER))

    lent = MIN_PART_BYTES - 4
    assert summary(upload) == [MIN_PART_BYTES, (0, 100 + lent, 20 * MIB - lent), 10]


def test_small_files_are_gathered_into_parts_of_a_bounded_size() -> None:
    upload = plan_upload(plan_of(MAGIC, *files_of(*[3 * MIB] * 10), FOOTER))

    sizes = [part.length for part in upload.parts]
    assert len(sizes) == 5
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == 30 * MIB - 40 + 14
    assert upload.copied_bytes == 0


def test_a_small_file_between_large_ones_borrows_from_the_one_before() -> None:
    upload = plan_upload(plan_of(MAGIC, *files_of(20 * MIB, 4 + MIB, 20 * MIB), FOOTER))

    assert summary(upload) == [
        (0, 0, 16 * MIB),
        5 * MIB,
        (2, 4, 20 * MIB - 4),
        10,
    ]


def test_what_one_neighbour_cannot_lend_the_other_does() -> None:
    upload = plan_upload(plan_of(MAGIC, *files_of(7 * MIB, 4 + MIB, 20 * MIB), FOOTER))

    assert summary(upload) == [
        (0, 0, 5 * MIB),
        5 * MIB,
        (2, 4 + 2 * MIB, 18 * MIB - 4),
        10,
    ]


def test_a_neighbour_that_has_too_little_is_gathered_whole() -> None:
    upload = plan_upload(plan_of(MAGIC, *files_of(7 * MIB, 4 + MIB, 6 * MIB + 4), FOOTER))

    assert summary(upload) == [(0, 0, 7 * MIB), 7 * MIB + 10]
    assert upload.read_bytes == 7 * MIB


def test_small_pieces_before_the_footer_need_no_loan() -> None:
    index = CopyRange(0, 6 * MIB, 100)

    upload = plan_upload(plan_of(MAGIC, CopyRange(0, 4, 6 * MIB - 4), index, FOOTER))

    assert summary(upload) == [(0, 0, 6 * MIB), 110]
    assert upload.read_bytes == 100


def test_a_range_beyond_the_largest_part_is_cut_evenly() -> None:
    size = 5 * 1024 * MIB + 2

    upload = plan_upload(plan_of(MAGIC, CopyRange(0, 4, size - 4), FOOTER))

    assert summary(upload) == [(0, 0, size // 2), (0, size // 2, size // 2), 10]


def test_more_parts_than_stores_take_are_refused() -> None:
    plan = plan_of(*(CopyRange(n, 0, MIN_PART_BYTES) for n in range(remote.MAX_PARTS)), FOOTER)

    with pytest.raises(ParquetUnsupported, match="10001 parts is over the limit of 10000"):
        plan_upload(plan)


def test_limits_that_leave_no_room_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="twice"):
        plan_upload(plan_of(FOOTER), min_part_bytes=6, max_part_bytes=11)
