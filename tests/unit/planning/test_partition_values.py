from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import pytest

from neve.model.facts import PartitionField
from neve.planning.partition_values import to_json_value


@pytest.mark.parametrize(
    ("result_type", "value", "expected"),
    [
        ("string", "a", "a"),
        ("string", None, None),
        ("int", 7, 7),
        ("boolean", True, True),
        ("double", 1.5, 1.5),
        ("date", 19723, "2024-01-01"),
        ("date", -1, "1969-12-31"),
        ("date", 2_932_897, "+10000-01-01"),
        ("date", -719_528, "0000-01-01"),
        ("date", -719_529, "-0001-12-31"),
        ("date", -(2**31), "-5877641-06-23"),
        ("timestamp", 253_402_300_800_000_000, "+10000-01-01T00:00:00.000000"),
        ("timestamp", -(2**63), "-290308-12-21T19:59:05.224192"),
        ("timestamptz", -1, "1969-12-31T23:59:59.999999+00:00"),
        ("time", 3_600_000_001, "01:00:00.000001"),
        ("timestamp", 1_000_001, "1970-01-01T00:00:01.000001"),
        ("timestamptz", 0, "1970-01-01T00:00:00.000000+00:00"),
        ("timestamp_ns", 1_000_000_001, "1970-01-01T00:00:01.000000001"),
        ("timestamptz_ns", -1, "1969-12-31T23:59:59.999999999+00:00"),
        ("decimal(9, 2)", Decimal("1.50"), "1.50"),
        ("binary", b"\x00\xff", "00ff"),
        ("uuid", UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_values_are_written_as_the_specification_says(result_type, value, expected):
    assert to_json_value(PartitionField("p", "identity", "c", result_type), value) == expected


def test_an_unknown_kind_of_value_is_an_error():
    with pytest.raises(TypeError):
        to_json_value(PartitionField("p", "identity", "c", "string"), object())
