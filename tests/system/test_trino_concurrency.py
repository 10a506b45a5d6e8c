"""Readers and writers that are busy with a table while it is maintained."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from neve.trino import Outcome, maintain_table, run_optimize
from neve.trino.connect import trino_errors

ROWS = 4_000


def make_many_files(lake: Any) -> None:
    """Twenty buckets written three times over: sixty small files to compact into twenty."""
    lake.sql(
        f"CREATE TABLE {lake.name('busy')} (id bigint) "
        "WITH (partitioning = ARRAY['bucket(id, 20)'])"
    )
    for part in range(3):
        first, last = part * ROWS // 3, (part + 1) * ROWS // 3 - 1
        lake.sql(f"INSERT INTO {lake.name('busy')} SELECT * FROM UNNEST(sequence({first}, {last}))")


def maintain(lake: Any, table: str, cursor: Any) -> list[Outcome]:
    return maintain_table(
        cursor,
        table,
        run_id="run-1",
        clock=lambda: datetime.now(UTC),
        errors=trino_errors(),
        settings=lake.settings(),
    )


def test_readers_are_answered_while_a_table_is_compacted(lake, trino_connect) -> None:
    make_many_files(lake)
    (expected,) = lake.sql(f"SELECT count(*), sum(id) FROM {lake.name('busy')}")
    compacting = trino_connect().cursor()
    read_while_compacting = 0

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(run_optimize, compacting, "busy", **lake.place)
        while not done.done():
            rows = lake.sql(f"SELECT count(*), sum(id) FROM {lake.name('busy')}")
            read_while_compacting += not done.done()
            assert rows == [expected]
        done.result()

    assert read_while_compacting > 0
    assert lake.sql(f"SELECT count(*), sum(id) FROM {lake.name('busy')}") == [expected]


def test_a_query_that_began_before_compaction_ends_with_all_its_rows(lake, trino_connect) -> None:
    make_many_files(lake)
    reader = trino_connect().cursor()
    reader.execute(f"SELECT id FROM {lake.name('busy')}")
    first = reader.fetchone()

    run_optimize(lake.cursor, "busy", **lake.place)

    seen = sorted([first[0], *(number for (number,) in reader.fetchall())])
    assert seen == sorted(number for (number,) in lake.sql(f"SELECT id FROM {lake.name('busy')}"))


def test_rows_that_arrive_during_maintenance_are_kept(lake, trino_connect) -> None:
    make_many_files(lake)
    (before,) = lake.sql(f"SELECT count(*) FROM {lake.name('busy')}")
    cursor = trino_connect().cursor()

    arrived = 0
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(maintain, lake, "busy", cursor)
        while not done.done():
            lake.sql(f"INSERT INTO {lake.name('busy')} VALUES {10_000 + arrived}")
            arrived += 1
            time.sleep(0.1)
        outcomes = done.result()

    assert [str(outcome.status) for outcome in outcomes] == ["succeeded"] * 3
    assert arrived > 0
    assert lake.sql(f"SELECT count(*) FROM {lake.name('busy')}") == [[before[0] + arrived]]


def test_tables_that_are_maintained_at_once_share_one_log(lake, trino_connect) -> None:
    """As mapped tasks do, on a first run: the log does not exist, and all create it."""
    tables = ["a", "b", "c", "d"]
    for table in tables:
        lake.make_table(table, files=2)
    cursors = [trino_connect().cursor() for _ in tables]

    with ThreadPoolExecutor(len(tables)) as pool:
        runs = list(pool.map(maintain, [lake] * len(tables), tables, cursors))

    outcomes = [outcome for run in runs for outcome in run]
    assert [str(outcome.status) for outcome in outcomes] == ["succeeded"] * 12
    assert not any("was not written" in outcome.reason for outcome in outcomes)
    assert sorted(lake.log()) == sorted(
        [table, operation, "completed"]
        for table in tables
        for operation in ("optimize", "expire_snapshots", "remove_orphan_files")
    )
