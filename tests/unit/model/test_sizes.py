from __future__ import annotations

import pytest

from neve.model.errors import InputError
from neve.model.sizes import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("128MB", 134217728),
        ("128 mb", 134217728),
        ("1GiB", 1073741824),
        ("1.5K", 1536),
        ("1048576", 1048576),
        ("1e3", 1000),
        ("2TB", 2 * 1024**4),
    ],
)
def test_sizes_are_read(text, expected):
    assert parse_size(text) == expected


@pytest.mark.parametrize(
    "text", ["0", "0MB", "-1MB", "1e99GB", "NaN", "inf", "", "MB", "12 parsecs", "1e-9", "1_0MB"]
)
def test_what_is_no_size_is_refused(text):
    with pytest.raises(InputError, match="cannot be used as a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KB"),
        (134217728, "128.0 MB"),
        (5 * 1024**4, "5.0 TB"),
    ],
)
def test_sizes_are_written(size_bytes, expected):
    assert format_size(size_bytes) == expected
