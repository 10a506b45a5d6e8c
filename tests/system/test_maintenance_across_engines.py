"""Neve's maintenance of tables that several engines use."""

from __future__ import annotations

from datetime import UTC, datetime

from neve.model.outcome import Status
from neve.model.policy import Engine
from neve.service.operations.rollback import RollbackTarget
from neve.testing.operations import roll_back
from neve.trino import maintain_table
from neve.trino.connect import trino_errors

ROWS_PER_FILE = 110_000


def insert(house, engine, order, day="2024-01-15"):
    values = f"'{order}', 'C-{order}', 1.25, NULL, DATE '{day}'"
    house.run(engine, f"INSERT INTO {house.name()} VALUES ({values})")


def used(outcome):
    return {name: count for name, count in outcome.engines.items() if count}


def test_small_files_of_trino_and_its_deletes_are_compacted(house):
    house.create_sales("trino")
    for number in range(4):
        insert(house, "trino", f"t{number}")
    insert(house, "spark", "s0")
    house.run("trino", f"DELETE FROM {house.name()} WHERE order_id = 't1'")
    rows = house.same_rows()
    assert rows.total() == 4

    outcome = house.compact()

    assert (outcome.status, used(outcome)) == (Status.SUCCEEDED, {"rewrite": 1})
    assert house.same_rows() == rows
    assert [file.record_count for file in house.facts().data_files] == [4]
    assert house.plan().is_empty
    insert(house, "trino", "later")
    assert house.same_rows().total() == 5


def test_large_row_groups_of_trino_are_copied_by_the_store(house):
    """Files of about 7 MB that hardly compress, one row group each."""
    name = house.name("noise")
    house.run("trino", f"CREATE TABLE {name} (id BIGINT, noise VARCHAR)")
    for number in range(3):
        first = number * ROWS_PER_FILE
        house.run(
            "trino",
            f"INSERT INTO {name} SELECT id, to_hex(sha512(to_utf8(cast(id AS varchar)))) FROM "
            f"(SELECT {first} + a * 1000 + b - 1001 AS id "
            f"FROM UNNEST(sequence(1, {ROWS_PER_FILE // 1000})) x(a) "
            "CROSS JOIN UNNEST(sequence(1, 1000)) y(b))",
        )
    in_spark = f"SELECT count(*), sum(id), sum(crc32(cast(noise AS binary))) FROM {name}"
    in_trino = f"SELECT count(*), sum(id), checksum(noise) FROM {name}"
    before = house.run("spark", in_spark), house.run("trino", in_trino)
    plan = house.plan("noise")

    outcome = house.app().maintenance.apply(plan)

    assert {step.engine for step in plan.steps} == {Engine.REMOTE_COPY}
    assert outcome.status is Status.SUCCEEDED
    assert used(outcome) == {"remote_copy": 1}
    assert (house.run("spark", in_spark), house.run("trino", in_trino)) == before
    assert before[0][0][0] == 3 * ROWS_PER_FILE
    assert len(house.paths("noise")) == 1
    # A point lookup uses what footers say about the copied row groups.
    lookup = f"SELECT id FROM {name} WHERE id = {2 * ROWS_PER_FILE + 7}"
    assert house.run("trino", lookup) == house.run("spark", lookup) == [(2 * ROWS_PER_FILE + 7,)]


def test_a_table_that_trino_maintained_is_surveyed_and_planned(house):
    house.create_sales("spark")
    for number in range(3):
        insert(house, "spark", f"s{number}")
    rows = house.same_rows()
    outcomes = maintain_table(
        house.lake.cursor,
        "sales",
        run_id="run-1",
        clock=lambda: datetime.now(UTC),
        errors=trino_errors(),
        settings=house.lake.settings(snapshot_retention="0s", min_retention="0s"),
    )
    assert [str(outcome.status) for outcome in outcomes] == ["succeeded"] * 3

    house.app().maintenance.health(house.ref())

    assert house.plan().is_empty
    facts = house.facts()
    assert (len(facts.data_files), len(facts.snapshots)) == (1, 1)
    assert house.compact().status is Status.NOTHING_TO_DO
    assert house.same_rows() == rows


def test_a_rollback_by_neve_is_seen_by_trino(house):
    house.create_sales("trino")
    insert(house, "trino", "kept")
    rows, snapshot_id = house.same_rows(), house.head().snapshot_id
    insert(house, "trino", "mistaken")
    mistaken = house.same_rows()

    outcome = roll_back(
        house.app().maintenance,
        house.ref(),
        RollbackTarget(snapshot_id=snapshot_id),
        undo_window_seconds=3600,
    )

    assert outcome.status is Status.SUCCEEDED
    assert house.same_rows() == rows
    # What was left behind can be read under its tag until the undo window is over.
    assert house.rows("trino", at=f"FOR VERSION AS OF 'neve-undo-{outcome.job_id}'") == mistaken
    insert(house, "trino", "next")
    assert house.same_rows().total() == 2


def test_undoing_a_compaction_is_seen_by_trino(house):
    house.create_sales("trino")
    for number in range(3):
        insert(house, "trino", f"t{number}")
    rows, paths = house.same_rows(), house.paths()
    compacted = house.compact()
    assert len(house.paths()) == 1

    roll_back(
        house.app().maintenance,
        house.ref(),
        RollbackTarget(job_id=compacted.job_id),
        undo_window_seconds=3600,
    )

    assert house.paths() == paths
    assert house.same_rows() == rows
