from __future__ import annotations

import math
import struct
from uuid import UUID

import pytest

from neve.model.facts import DeleteKind
from neve.model.rewrite import ColumnMetrics, DeleteDetails, FileDetails, LeafColumn
from neve.planning.delete_reach import reach_in_doubt

COLUMNS = (LeafColumn(1, "double"), LeafColumn(2, "uuid"), LeafColumn(3, "long"))
LOW, HIGH, HIGHEST = (UUID(int=number) for number in (5, 1 << 127, (1 << 127) + 9))


def encoded(value):
    if isinstance(value, UUID):
        return value.bytes
    return struct.pack("<d" if isinstance(value, float) else "<q", value)


def told(nulls=0, nans=None, **bounds):
    """Statistics of columns by their names below, each of a lower and an upper bound."""
    ids = {"d": 1, "u": 2, "n": 3}
    lower = {ids[name]: encoded(low) for name, (low, _) in bounds.items()}
    upper = {ids[name]: encoded(high) for name, (_, high) in bounds.items()}
    counts = {} if nulls is None else dict.fromkeys(lower, nulls)
    return ColumnMetrics(
        null_value_counts=counts,
        nan_value_counts=None if nans is None else {1: nans},
        lower_bounds=lower,
        upper_bounds=upper,
    )


def in_doubt(keys, data, *ids):
    delete = DeleteDetails(
        "delete", DeleteKind.EQUALITY, "parquet", 1, 1, 2, equality_ids=ids, metrics=keys
    )
    return reach_in_doubt([delete], [FileDetails("data", 0, (), 1, 9, data)], COLUMNS) is not None


@pytest.mark.parametrize(
    ("keys", "data", "expected"),
    [
        (told(d=(9.0, 9.0)), told(d=(1.0, 1.0)), True),
        (told(d=(9.0, 9.0), nans=1), told(d=(1.0, 1.0), nans=2), True),
        (told(d=(9.0, 9.0), nans=0), told(d=(1.0, 1.0)), False),
        (told(d=(9.0, 9.0)), told(d=(1.0, 1.0), nans=0), False),
        (told(d=(0.5, 1.5)), told(d=(1.0, 2.0)), False),
        # Where both have nulls, the delete is opened whatever its bounds say.
        (told(d=(9.0, 9.0), nulls=1), told(d=(1.0, 1.0), nulls=1), False),
        (told(d=(9.0, 9.0), nulls=None), told(d=(1.0, 1.0), nulls=None), False),
        (told(d=(9.0, 9.0), nulls=1), told(d=(1.0, 1.0), nulls=0), True),
        (told(), told(d=(1.0, 1.0)), False),
        (told(d=(math.nan, math.nan)), told(d=(1.0, 1.0)), False),
    ],
)
def test_no_bound_speaks_of_nan(keys, data, expected):
    assert in_doubt(keys, data, 1) is expected


@pytest.mark.parametrize(
    ("keys", "data", "expected"),
    [
        # By bytes the highest lies within, as two signed numbers below.
        ((HIGHEST, HIGHEST), (LOW, HIGHEST), True),
        ((LOW, LOW), (LOW, HIGHEST), True),
        ((HIGHEST, HIGHEST), (HIGH, HIGHEST), False),
        ((LOW, LOW), (LOW, LOW), False),
        ((LOW, LOW), (HIGH, HIGHEST), False),
    ],
)
def test_uuids_have_two_orders(keys, data, expected):
    assert in_doubt(told(u=keys), told(u=data), 2) is expected


def test_another_column_of_the_key_can_settle_it():
    data = told(d=(1.0, 1.0), n=(1, 5))

    assert in_doubt(told(d=(9.0, 9.0), n=(5, 7)), data, 1, 3)
    assert not in_doubt(told(d=(9.0, 9.0), n=(6, 7)), data, 1, 3)


def test_other_deletes_and_other_types_are_in_no_doubt():
    assert not in_doubt(told(n=(9, 9)), told(n=(1, 1)), 3)
    positions = DeleteDetails("delete", DeleteKind.POSITION, "parquet", 1, 1, 2)
    assert reach_in_doubt([positions], [FileDetails("data", 0, (), 1, 9)], COLUMNS) is None
