"""Names stay names and values stay values, whatever they contain."""

from __future__ import annotations

import pytest

from neve.model.errors import InputError
from neve.trino.quoting import (
    duration_literal,
    quote_identifier,
    quote_metadata_table,
    quote_table,
    size_literal,
)


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("sales", '"sales"'),
        ("two words", '"two words"'),
        ("Größe", '"Größe"'),
        ('a"b', '"a""b"'),
        ('"; DROP TABLE x --', '"""; DROP TABLE x --"'),
        ("it's", '"it\'s"'),
    ],
)
def test_a_name_is_quoted_and_its_quotes_doubled(name: str, quoted: str) -> None:
    assert quote_identifier(name) == quoted


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_name_that_no_quoting_saves_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="not a name"):
        quote_identifier(name)


def test_a_dot_in_a_name_does_not_reach_into_another_schema() -> None:
    assert quote_table("iceberg", "lake.house", "a.b") == '"iceberg"."lake.house"."a.b"'


def test_a_metadata_table_is_one_quoted_name() -> None:
    quoted = quote_metadata_table("iceberg", "lakehouse", 'odd"name', "files")

    assert quoted == '"iceberg"."lakehouse"."odd""name$files"'


def test_a_dollar_sign_in_a_table_name_is_refused() -> None:
    """Trino would take it for the metadata table of another table."""
    with pytest.raises(InputError, match="dollar"):
        quote_table("iceberg", "lakehouse", "sales$files")
    with pytest.raises(InputError, match="dollar"):
        quote_metadata_table("iceberg", "lakehouse", "sales$files", "snapshots")


@pytest.mark.parametrize("text", ["0B", "10MB", "1.5GB", "512kB", "3TB", "1PB"])
def test_sizes_are_accepted(text: str) -> None:
    assert size_literal(text) == f"'{text}'"


@pytest.mark.parametrize(
    "text",
    ["", "10", "MB", "10mb", "10 MB", "-1MB", "10MB'", "10MB\n", "1e3MB", "٣MB", "9" * 10 + "MB"],
)
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a size"):
        size_literal(text)


@pytest.mark.parametrize("text", ["0s", "7d", "1.5h", "30m", "10ms", "1us", "1ns"])
def test_durations_are_accepted(text: str) -> None:
    assert duration_literal(text) == f"'{text}'"


@pytest.mark.parametrize(
    "text", ["", "7", "d", "7D", "7 d", "-7d", "7d')", "7d\n", "P7D", "7d'; DROP TABLE x --"]
)
def test_what_is_not_a_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a duration"):
        duration_literal(text)
