"""What must hold of new files before they are committed; each check can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import ProofFailed
from neve.model.groups import Cost, FileGroup, Interval, PlannedFile
from neve.model.policy import Engine, Verify
from neve.model.rewrite import (
    BytesCompared,
    ColumnMetrics,
    FooterRead,
    RowsCounted,
    SourceRange,
    StoreDigests,
    TaskResult,
    WrittenFile,
)
from neve.planning.written import check_result

NOTHING = Interval(0, 0, 0)
ROWS = (100, 50, 25)
GROUP = FileGroup(
    group_id=3,
    spec_id=0,
    partition="day=mon",
    partition_values=(),
    files=tuple(PlannedFile(f"file:///{n}", 10, rows) for n, rows in enumerate(ROWS)),
    delete_files=0,
    input_bytes=30,
    records=175,
    expected_output_files=2,
    engine=Engine.COPY,
    engine_reason="",
    rule="",
    gain=0,
    cost=Cost(0, 0, 0, 0, 0, NOTHING, NOTHING),
)
FIRST = WrittenFile(
    path="file:///new-0",
    size_bytes=1010,
    inputs=(0, 1),
    rows_in=150,
    rows_deleted=0,
    rows_out=150,
    segments={Engine.COPY: 1000},
    proof=BytesCompared(1000, 1000),
    split_offsets=(4, 500),
)
SECOND = replace(FIRST, path="file:///new-1", inputs=(2,), rows_in=25, rows_out=25)
RANGES = (SourceRange("file:///1", 0, 50), SourceRange("file:///0", 0, 100))
#: As a file that was decoded would have it.
OWN_METRICS = {"metrics": ColumnMetrics()}


def check(*files: WrittenFile) -> None:
    check_result(GROUP, TaskResult(3, files))


def test_two_outputs_that_hold_all_rows_pass() -> None:
    check(FIRST, SECOND)
    check(replace(FIRST, proof=StoreDigests(7)), SECOND)
    check(replace(FIRST, ranges=RANGES), SECOND)


def test_rows_that_deletes_explain_may_be_missing_where_metrics_are_its_own() -> None:
    check(replace(FIRST, rows_deleted=9, rows_out=141, **OWN_METRICS), SECOND)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows_out": 149}, "made of 150 rows, 0 of them deleted, and holds 149"),
        ({"rows_out": 151}, "and holds 151"),
        ({"rows_in": 149, "rows_out": 149}, "149 rows of files that hold 150"),
        ({"rows_in": 149, "rows_out": 149, **OWN_METRICS}, "new files account for 174"),
        ({"rows_deleted": 1, "rows_out": 149}, "rows of files that hold 150"),
        ({"rows_deleted": -1, "rows_out": 151, **OWN_METRICS}, "fewer rows than none"),
        ({"inputs": (0,), "rows_in": 100, "rows_out": 100}, "account for 125"),
        ({"inputs": (0, 0)}, "files that hold 200"),
        ({"inputs": (0, 9)}, "files that hold 100"),
        ({"inputs": (0, 2), **OWN_METRICS}, "made of others"),
        ({"proof": BytesCompared(1000, 999)}, "1000 bytes of data, and 999 were compared"),
        ({"proof": StoreDigests(None)}, "parts without a digest"),
        ({"segments": {Engine.COPY: 999, Engine.SPARK: 1}}, "bytes by spark, which bytes cannot"),
        ({"segments": {}}, "does not tell who wrote it"),
        ({"segments": {Engine.COPY: -1}}, "does not tell who wrote it"),
        ({"split_offsets": (500, 4)}, "row groups out of order"),
        ({"split_offsets": (4, 4)}, "row groups out of order"),
        ({"ranges": RANGES[:1]}, "rows of other files"),
        ({"ranges": (*RANGES, SourceRange("file:///2", 0, 0))}, "rows of other files"),
        ({"ranges": (RANGES[0], SourceRange("file:///0", 0, 99))}, "accounts for 149"),
        ({"ranges": (*RANGES, SourceRange("file:///0", 0, 0))[1:]}, "rows of other files"),
        ({"ranges": (*RANGES, SourceRange("file:///0", -1, 0))}, "rows that no file has"),
        ({"size_bytes": 999}, "smaller than what was written"),
    ],
)
def test_whatever_does_not_add_up_is_not_committed(change: dict, message: str) -> None:
    with pytest.raises(ProofFailed, match=message):
        check(replace(FIRST, **change), SECOND)
    with pytest.raises(ProofFailed):
        check(SECOND, replace(FIRST, **change))


def test_a_file_out_of_nothing_is_not_committed() -> None:
    empty = {"inputs": (), "rows_in": 0, "rows_out": 0}

    with pytest.raises(ProofFailed, match="made of no file"):
        check(FIRST, SECOND, replace(FIRST, **empty, **OWN_METRICS))


@pytest.mark.parametrize(
    "files", [(), (FIRST,), (SECOND,), (FIRST, FIRST), (FIRST, SECOND, SECOND)]
)
def test_rows_are_neither_left_out_nor_written_twice(files: tuple[WrittenFile, ...]) -> None:
    with pytest.raises(ProofFailed):
        check(*files)


@pytest.mark.conformance("a writer that loses or invents rows")
@given(st.integers(0, 200), st.integers(-5, 200), st.integers(-5, 200), st.booleans())
def test_only_one_sum_of_rows_passes(
    rows_in: int, rows_deleted: int, rows_out: int, has_metrics: bool
) -> None:
    file = replace(FIRST, rows_in=rows_in, rows_deleted=rows_deleted, rows_out=rows_out)
    file = replace(file, **OWN_METRICS) if has_metrics else file
    holds = rows_in == 150 and rows_deleted >= 0 and rows_out == 150 - rows_deleted >= 0
    holds = holds and (has_metrics or rows_deleted == 0)

    try:
        check(file, SECOND)
        passed = True
    except ProofFailed:
        passed = False

    assert passed == holds


UNREAD = (FooterRead(150, 150), RowsCounted())


@pytest.mark.parametrize("engine", [Engine.COPY, Engine.REMOTE_COPY, Engine.REWRITE])
@pytest.mark.parametrize(
    ("verify", "enough"), [("full", ()), ("metadata", UNREAD[:1]), ("off", UNREAD)]
)
def test_a_proof_is_as_strong_as_was_asked_for(engine, verify, enough):
    for proof in UNREAD:
        first = replace(FIRST, proof=proof, segments={engine: 10})
        second = replace(SECOND, proof=proof, segments={engine: 10})
        result = TaskResult(3, (first, second))
        if proof in enough:
            check_result(GROUP, result, Verify(verify))
        else:
            with pytest.raises(ProofFailed, match=f"which {proof.level} cannot prove"):
                check_result(GROUP, result, Verify(verify))


def test_a_footer_with_other_rows_proves_nothing():
    odd = replace(FIRST, proof=FooterRead(150, 149))

    with pytest.raises(ProofFailed, match="has 149 rows by its footer, and 150 were planned"):
        check_result(GROUP, TaskResult(3, (odd, SECOND)), Verify.METADATA)


def test_a_stronger_proof_than_was_asked_for_is_one():
    check_result(GROUP, TaskResult(3, (FIRST, SECOND)), Verify.OFF)
