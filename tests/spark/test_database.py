"""Tables of tenants, read and compacted by Spark as well: what one writes, the other reads."""

from __future__ import annotations

import pytest

from neve.database.bodies import REQUEST
from neve.service.run_job import run_job

FIELDS = {
    "name": {"type": "string", "required": True},
    "age": {"type": "integer"},
    "price": {"type": "decimal(9, 2)"},
    "at": {"type": "timestamptz"},
    "day": {"type": "date"},
    "x": {"type": "double"},
}


@pytest.fixture
def database(lake):
    made = lake.app.database()
    yield made
    made.close()


@pytest.fixture
def ask(lake):
    def ask(operation, **more):
        place = {"tenant_id": lake.namespace, "namespace": "default", "table": "users"}
        return REQUEST.validate_python({"operation": operation, **place, **more})

    return ask


@pytest.fixture
def users(lake, database, ask):
    """Six writes to two partitions, one of them of nulls."""
    partitioning = [{"field": "age"}]
    request = ask("CREATE_TABLE", schema={"fields": FIELDS}, partitioning=partitioning)
    database.create_table(request)
    for number in range(6):
        record = {
            "name": f"n{number}",
            "price": "1.25",
            "at": "2024-02-29T01:02:03Z",
            "day": "2024-02-29",
            "x": number / 3,
        }
        rows = [{**record, "age": 1}, {**record, "x": None}]
        database.write(ask("WRITE", records=rows, idempotency_key=str(number)))
    return database.table(lake.namespace, "default", "users")


def test_a_worker_compacts_what_was_written(lake, database, ask, users):
    before = lake.rows(users)
    assert sum(before.values()) == 12
    begun = database.begin_compact(ask("COMPACT"))
    services = lake.app.maintenance
    while lease := services.store.claim_next(services.lease_seconds):
        run_job(services, lease)
    answer = database.compaction(begun)

    assert (answer.stats.files_before, answer.stats.files_after) == (12, 2)
    assert answer.compacted
    assert lake.rows(users) == before
    # An idempotency key is still known after the compaction.
    assert database.write(ask("WRITE", records=[{"name": "n0"}], idempotency_key="new"))
    assert sum(lake.rows(users).values()) == 13


@pytest.mark.promise(55)
def test_what_was_compacted_without_spark_is_read_by_spark(lake, database, ask, users):
    before = lake.rows(users)
    answer = database.compact_here(ask("COMPACT"))

    assert (answer.engine, answer.stats.files_after) == ("in_process", 2)
    lake.sql(f"REFRESH TABLE lake.`{users.namespace[0]}`.users")
    assert lake.rows(users) == before
    head = lake.head(users)
    assert head.operation == "replace"
    assert sum(lake.rows(users, at=f"VERSION AS OF {head.parent_id}").values()) == 12
    name = f"lake.`{users.namespace[0]}`.users"
    counted = lake.sql(f"SELECT count(*) FROM {name} WHERE age = 1 AND x < 0.5").collect()
    assert counted[0][0] == 2
    files = lake.sql(f"SELECT record_count FROM {name}.files").collect()
    assert [row[0] for row in files] == [6, 6]
