from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.durations import MAX_DURATION_SECONDS, format_duration, parse_duration
from neve.model.errors import InputError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7d", 604800),
        ("36h", 129600),
        ("1d 12h", 129600),
        ("1.5 days", 129600),
        ("90 minutes", 5400),
        ("720min", 43200),
        ("2W", 1209600),
        ("5s", 5),
    ],
)
def test_durations_are_read(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["7", "7x", "-1d", "0d", "", "d", "4000d", "0.1s", "1d,2h", "1dd"])
def test_what_is_not_a_duration_is_refused(text):
    with pytest.raises(InputError):
        parse_duration(text)


@given(st.integers(1, MAX_DURATION_SECONDS))
def test_a_duration_can_be_written_and_read_back(seconds):
    assert parse_duration(format_duration(seconds)) == seconds
