"""Which files are known by their manifests to hold just the values of their partition."""

from __future__ import annotations

import struct
import uuid
from dataclasses import replace
from decimal import Decimal

import pytest

from neve.model.exact import ExactFloat
from neve.model.facts import ColumnFacts, PartitionField, SpecFacts
from neve.model.rewrite import ColumnMetrics, FileDetails
from neve.planning.constants import IdentityValues
from neve.testing.facts import data_file, table_facts

ROWS, COLUMN = 100, 7


def doubts(of, value, metrics, transform="identity"):
    """What is in doubt of a file with such a partition value."""
    field = PartitionField("v", transform, "v", of)
    file = replace(data_file("a-1", 1), partition=(0, (value,)), record_count=ROWS)
    facts = replace(
        table_facts(files=(file,)),
        columns=(ColumnFacts(COLUMN, "v", of, required=False),),
        specs={0: SpecFacts(0, (field,))},
    )
    details = FileDetails(file.path, 0, (None,), 1, ROWS, metrics)
    return IdentityValues(facts).in_doubt([file], [details]).get(file.path, ())


def told(lower, upper=None, nulls=0, nans=0):
    return ColumnMetrics(
        null_value_counts={COLUMN: nulls},
        nan_value_counts={COLUMN: nans},
        lower_bounds={COLUMN: lower},
        upper_bounds={COLUMN: lower if upper is None else upper},
    )


SAME = [
    ("string", "é", "é".encode()),
    ("boolean", True, b"\x01"),
    ("int", -5, struct.pack("<i", -5)),
    ("date", 3, struct.pack("<i", 3)),
    ("long", 2**40, struct.pack("<q", 2**40)),
    ("timestamptz_ns", -1, struct.pack("<q", -1)),
    ("double", ExactFloat(-0.0), struct.pack("<d", -0.0)),
    ("decimal(9, 2)", Decimal("-1.28"), b"\x80"),
    ("decimal(38, 0)", Decimal("9" * 38), (10**38 - 1).to_bytes(16, "big")),
    ("uuid", uuid.UUID(int=5), uuid.UUID(int=5).bytes),
    ("binary", b"\xff", b"\xff"),
    ("fixed[2]", b"ab", b"ab"),
]


@pytest.mark.parametrize(("of", "value", "bound"), SAME, ids=[of for of, _, _ in SAME])
def test_a_file_with_one_value_alone_is_not_in_doubt(of, value, bound):
    assert not doubts(of, value, told(bound))
    assert doubts(of, value, told(bound, nulls=1))
    assert doubts(of, value, ColumnMetrics())


def test_a_bound_from_before_the_column_was_widened_says_the_same():
    assert not doubts("long", 5, told(struct.pack("<i", 5)))


def test_what_differs_or_is_cut_is_in_doubt():
    assert doubts("string", "outside", told(b"inside"))
    assert doubts("string", "a" * 17, told(b"a" * 16, b"a" * 15 + b"b"))
    assert doubts("double", ExactFloat(0.0), told(struct.pack("<d", -0.0), struct.pack("<d", 0.0)))
    assert doubts("double", ExactFloat(0.0), told(struct.pack("<d", 0.0), nans=1))


def test_a_partition_of_nulls_holds_nulls_alone():
    assert not doubts("string", None, ColumnMetrics(null_value_counts={COLUMN: ROWS}))
    assert doubts("string", None, ColumnMetrics(null_value_counts={COLUMN: ROWS - 1}))
    assert doubts("string", None, ColumnMetrics()) == ((COLUMN, None),)


def test_only_the_column_itself_stands_for_its_values():
    assert not doubts("int", 3, ColumnMetrics(), transform="bucket[8]")
