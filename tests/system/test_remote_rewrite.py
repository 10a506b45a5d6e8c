"""Objects that cannot be copied are rewritten in tasks: the same rows for all engines."""

from __future__ import annotations

from collections import Counter

import pytest
from pyiceberg.catalog import load_catalog
from tests.system.engine_fixtures import CATALOG, House

from neve.model.outcome import Status
from neve.model.policy import Engine

BEFORE = "id, concat('name ', id % 7) AS name, cast(id AS DECIMAL(12, 2)) AS amount"
AFTER = "id, concat('name ', id % 7) AS title, cast(id AS DECIMAL(12, 2)) AS amount, id AS late"
BATCHES = 6
ROWS = 50


def insert(house: House, number: int, columns: str) -> None:
    rows = f"SELECT {columns} FROM range({number * ROWS}, {(number + 1) * ROWS})"
    house.run("spark", f"INSERT INTO {house.name('events')} {rows}")


def make(house: House, version: int) -> str:
    """Small objects whose schema has changed and of which rows are deleted."""
    name = house.name("events")
    house.run(
        "spark",
        f"CREATE TABLE {name} (id BIGINT, name STRING, amount DECIMAL(12, 2)) USING iceberg "
        f"TBLPROPERTIES ('format-version' = '{version}', 'write.delete.mode' = 'merge-on-read')",
    )
    for number in range(BATCHES // 2):
        insert(house, number, BEFORE)
    house.run("spark", f"ALTER TABLE {name} ADD COLUMN late BIGINT")
    house.run("spark", f"ALTER TABLE {name} RENAME COLUMN name TO title")
    for number in range(BATCHES // 2, BATCHES):
        insert(house, number, AFTER)
    house.run("spark", f"DELETE FROM {name} WHERE id % 10 = 3")
    return name


def by_pyiceberg(house: House) -> Counter[tuple[object, ...]]:
    catalog = load_catalog(CATALOG, **house.catalogs[CATALOG])
    rows = catalog.load_table((house.lake.schema, "events")).scan().to_arrow().to_pylist()
    return Counter(tuple(row.values()) for row in rows)


@pytest.mark.promise(1, 2)
@pytest.mark.parametrize("version", [2, 3])
def test_small_objects_with_deletes_become_one_by_our_own_tasks(house: House, version: int) -> None:
    name = make(house, version)
    lineage = ", _row_id, _last_updated_sequence_number" if version == 3 else ""
    before = house.rows("spark", "events", columns=f"*{lineage}")
    by_trino = house.rows("trino", "events") if version == 2 else None

    plan = house.plan("events")
    outcome = house.compact("events")

    assert {step.engine for step in plan.steps} == {Engine.REWRITE}
    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert {kind: count for kind, count in outcome.engines.items() if count} == {"rewrite": 1}
    assert len(house.facts("events").data_files) == 1
    after = house.rows("spark", "events", columns=f"*{lineage}")
    assert after == before
    assert sum(after.values()) == BATCHES * ROWS * 9 // 10
    assert by_pyiceberg(house) == house.rows("spark", "events")
    if by_trino is not None:
        assert house.rows("trino", "events") == by_trino
    assert house.plan("events").steps == (), name
