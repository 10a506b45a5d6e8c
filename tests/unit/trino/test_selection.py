from __future__ import annotations

import pytest

from neve.model.errors import CatalogError, InputError
from neve.trino import MaintenanceSettings
from neve.trino.selection import select_tables
from neve.trino.testing import FakeCursor, FakeTrinoError

pytestmark = pytest.mark.promise(32)


@pytest.fixture
def cursor():
    made = FakeCursor()
    made.answer("SHOW SCHEMAS", [["information_schema"], ["lakehouse"], ["lab"], ["other"]])
    made.answer('SHOW TABLES IN "iceberg"."lakehouse"', [["sales"], ["_maintenance_log"], ["v"]])
    made.answer('SHOW TABLES IN "iceberg"."lab"', [["sales"], ["trials"]])
    made.answer("information_schema.views", [["v"]])
    return made


def select(cursor, *patterns):
    places = select_tables(cursor, patterns, MaintenanceSettings(), (FakeTrinoError,))
    return [str(place) for place in places]


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        ([], ["iceberg.lakehouse.sales"]),
        (["sales"], ["iceberg.lakehouse.sales"]),
        (["SALES"], ["iceberg.lakehouse.sales"]),
        (["lab.*"], ["iceberg.lab.sales", "iceberg.lab.trials"]),
        (["iceberg.la*.s*"], ["iceberg.lab.sales", "iceberg.lakehouse.sales"]),
        (["lab.sales", "lab.sales", "sales"], ["iceberg.lab.sales", "iceberg.lakehouse.sales"]),
        (["nothing"], []),
    ],
)
def test_patterns_find_user_tables(cursor, patterns, found):
    assert sorted(select(cursor, *patterns)) == sorted(found)


@pytest.mark.parametrize("pattern", ["", "a..b", "a.b.c.d"])
def test_what_is_no_name_is_refused(cursor, pattern):
    with pytest.raises(InputError, match="names no Trino table"):
        select(cursor, pattern)


def test_a_trino_that_does_not_list_is_an_error_with_a_next_step(cursor):
    cursor.fail("SHOW TABLES", FakeTrinoError("no such schema"))

    with pytest.raises(CatalogError, match="no such schema") as caught:
        select(cursor)
    assert caught.value.next_step is not None
