"""What the log says in words."""

from __future__ import annotations

import pytest

from neve.trino import MaintenanceSettings, Operation
from neve.trino.procedures import OPERATIONS
from neve.trino.sentences import LONGEST_SENTENCE, Counts, describe, error_sentence, intend
from neve.trino.testing import FakeTrinoError

OPTIMIZE, EXPIRE, CLEAN_UP = OPERATIONS


@pytest.mark.parametrize(
    ("operation", "before", "after", "said"),
    [
        (OPTIMIZE, Counts(4, 4), Counts(5, 1), "4 files became 1."),
        (OPTIMIZE, Counts(5, 1), Counts(5, 1), "No files to compact: 1 file as before."),
        (OPTIMIZE, Counts(), Counts(5, 1), "Done; the files could not be counted."),
        (EXPIRE, Counts(5, 1), Counts(1, 1), "5 snapshots became 1."),
        (EXPIRE, Counts(2, 1), Counts(2, 1), "No snapshots to expire: 2 snapshots as before."),
        (
            CLEAN_UP,
            Counts(1, 1),
            Counts(1, 1),
            "Orphan files removed, if any; the table uses 1 file.",
        ),
        (
            CLEAN_UP,
            Counts(1, 1),
            Counts(),
            "Orphan files removed, if any; the table uses an unknown number of files.",
        ),
    ],
)
def test_a_completed_operation_is_summed_up(
    operation: Operation, before: Counts, after: Counts, said: str
) -> None:
    assert describe(operation, before, after) == said


def test_an_error_is_one_line_with_the_query_id() -> None:
    error = FakeTrinoError("line 1:1:\n  no such table", query_id="20260301_1")

    assert error_sentence(error) == "line 1:1: no such table (query 20260301_1)"


def test_an_error_without_words_is_called_by_its_name() -> None:
    assert error_sentence(OSError()) == "OSError"


def test_a_long_error_is_cut_but_keeps_its_query_id() -> None:
    sentence = error_sentence(FakeTrinoError("x" * 5000, query_id="q"))

    assert sentence == "x" * LONGEST_SENTENCE + " (query q)"


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (OPTIMIZE, "Would rewrite files under 10MB; the table has 3 files."),
        (EXPIRE, "Would expire snapshots older than 8d; the table has 1 snapshot."),
        (CLEAN_UP, "Would delete files older than 9d that no snapshot uses."),
    ],
)
def test_what_would_be_done_is_said_with_how_far_it_goes(operation: Operation, said: str) -> None:
    settings = MaintenanceSettings(snapshot_retention="8d", orphan_retention="9d")

    assert intend(operation, Counts(1, 3), settings) == said
