"""Who wrote a spliced file: a name that earns no reader's trust beyond the sources' own."""

from __future__ import annotations

import pytest

from neve.model.errors import ParquetUnsupported
from neve.parquet.writers import Writer, check_sizes_are_right, common_name, own_name, parse

JAVA_15 = b"parquet-mr version 1.15.2 (build 859eac165b08f927fa14590c34bc5f476405fb68)"
JAVA_16 = b"parquet-mr version 1.16.0 (build 1)"
JAVA_6 = b"parquet-mr version 1.6.0 (build 2)"
ARROW = b"parquet-cpp-arrow version 26.0.1"
DUCK = b"DuckDB version v2.0.0 (build d54cbbe3df)"


@pytest.mark.parametrize(
    ("created_by", "writer"),
    [
        (JAVA_15, Writer(b"parquet-mr", (1, 15, 2))),
        (ARROW, Writer(b"parquet-cpp-arrow", (26, 0, 1))),
        (DUCK, Writer(b"DuckDB", (2, 0, 0))),
        (b"app version 3.1", Writer(b"app", (3, 1, 0))),
        (b"something else", None),
        (None, None),
    ],
)
def test_names_are_parsed(created_by: bytes | None, writer: Writer | None) -> None:
    assert parse(created_by) == writer


@pytest.mark.parametrize("name", [JAVA_6, JAVA_15, b"something else", b"", None])
def test_one_name_stays(name: bytes | None) -> None:
    assert common_name([name, name], has_int96=True) == name


def test_the_oldest_version_stands_for_one_application() -> None:
    assert common_name([JAVA_16, JAVA_15, JAVA_16], has_int96=True) == JAVA_15


def test_several_applications_get_our_name() -> None:
    name = common_name([JAVA_15, ARROW, DUCK], has_int96=False)

    assert name == own_name()
    assert parse(name) is not None


@pytest.mark.parametrize("other", [JAVA_6, b"something else", None])
def test_distrusted_writers_do_not_hide_among_others(other: bytes | None) -> None:
    with pytest.raises(ParquetUnsupported, match="distrust the statistics"):
        common_name([JAVA_15, other], has_int96=False)


def test_int96_depends_on_the_writer() -> None:
    with pytest.raises(ParquetUnsupported, match="INT96"):
        common_name([JAVA_15, ARROW], has_int96=True)


def test_writers_with_wrong_sizes_are_refused() -> None:
    check_sizes_are_right(ARROW)
    with pytest.raises(ParquetUnsupported, match="misstate the size"):
        check_sizes_are_right(b"parquet-cpp version 1.2.8")
