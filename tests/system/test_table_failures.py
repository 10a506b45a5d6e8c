"""What becomes of a table when its catalog, its storage or its metadata fails."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from py4j.protocol import Py4JJavaError
from pyiceberg.catalog import load_catalog

from neve.model.errors import CatalogError, TableUnreadable
from neve.model.job import JobState
from neve.model.outcome import Status
from neve.testing.lake import SilentReporter
from neve.trino.connect import trino_errors

DAY = "DATE '2024-01-15'"


class Saboteur(SilentReporter):
    """Takes a part of the stack down when a compaction begins to write."""

    def __init__(self, stack, part):
        super().__init__()
        self.stack, self.part = stack, part

    def __call__(self, message):
        super().__call__(message)
        if message.startswith("Compacting"):
            self.stack.command("down", self.part)


def insert(house, engine, order):
    house.run(engine, f"INSERT INTO {house.name()} VALUES ('{order}', 'C', 1.25, NULL, {DAY})")


@pytest.fixture
def sales(house):
    house.create_sales("spark")
    for number in range(3):
        insert(house, "spark", f"s{number}")
    return house


def stored(house):
    """Every file of the table as the storage holds it."""
    folder = house.on_disk(house.facts().location)
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_catalog_that_is_down_is_said_and_nothing_changes(sales):
    files, rows = stored(sales), sales.same_rows()
    maintenance = sales.app().maintenance
    plan = sales.plan()

    with sales.stack.without("rest"):
        for attempt in (
            lambda: maintenance.surveyor.survey(sales.ref()),
            sales.plan,
            sales.compact,
            lambda: maintenance.apply(plan),
        ):
            with pytest.raises(CatalogError, match="cannot be reached") as raised:
                attempt()
            assert raised.value.next_step

    assert stored(sales) == files
    assert sales.same_rows() == rows
    assert maintenance.apply(plan).status is Status.SUCCEEDED
    assert sales.same_rows() == rows


@pytest.mark.parametrize("part", ["rest", "s3"], ids=["catalog", "storage"])
def test_a_part_that_vanishes_during_a_compaction_leaves_the_table_as_it_was(sales, part):
    snapshot_id, rows, paths = sales.head().snapshot_id, sales.same_rows(), sales.paths()

    try:
        with pytest.raises(CatalogError, match="cannot be reached") as raised:
            sales.hasty().compact(reporter=Saboteur(sales.stack, part))
    finally:
        sales.stack.command("up", part)

    assert raised.value.next_step
    # Nobody could look whether something was committed, so that the job stays open.
    (job,) = sales.app().store.jobs(None, 10)
    assert job.state is JobState.UNKNOWN
    assert (sales.head().snapshot_id, sales.paths()) == (snapshot_id, paths)
    assert sales.same_rows() == rows
    assert sales.compact().status is Status.SUCCEEDED
    assert sales.same_rows() == rows


def test_a_storage_that_is_down_fails_writes_and_keeps_the_table(sales, trino_connect):
    snapshot_id, rows = sales.head().snapshot_id, sales.same_rows()
    hurried = trino_connect(session_properties={"query_max_run_time": "2s"}).cursor()
    values = f"('lost', 'C', 1.25, NULL, {DAY})"
    hasty = sales.hasty()

    with sales.stack.without("s3"):
        with pytest.raises(Py4JJavaError):
            insert(hasty, "spark", "lost")
        with pytest.raises(trino_errors()):  # noqa: PT012
            hurried.execute(f"INSERT INTO {sales.name()} VALUES {values}")
            hurried.fetchall()

    assert sales.head().snapshot_id == snapshot_id
    assert sales.same_rows() == rows


@pytest.mark.parametrize(
    ("engine", "files", "rows_per_file", "quota_bytes"),
    [("rewrite", 5, 8_000, 5_000_000), ("remote_copy", 3, 110_000, 30_000_000)],
)
def test_a_quota_exceeded_during_a_compaction_leaves_the_table_as_it_was(
    small_bucket, house, engine, files, rows_per_file, quota_bytes
):
    """Hashes do not compress, so that the table and its copy do not both fit."""
    small_bucket.resize(quota_bytes)
    house.run(
        "spark",
        f"CREATE TABLE {house.name('noise')} (id BIGINT, noise STRING) USING iceberg "
        f"LOCATION 's3://{small_bucket.name}/noise' "
        "TBLPROPERTIES ('write.distribution-mode' = 'none', 'format-version' = '2')",
    )
    made = house.spark.range(0, files * rows_per_file, 1, files)
    made = made.selectExpr("id", "sha2(cast(id AS string), 512) AS noise")
    made.writeTo(house.name("noise")).append()
    in_spark = f"SELECT count(*), sum(id), sum(crc32(noise)) FROM {house.name('noise')}"
    in_trino = f"SELECT count(*), sum(id), checksum(noise) FROM {house.name('noise')}"
    rows = house.run("spark", in_spark), house.run("trino", in_trino)
    snapshot_id, paths = house.head("noise").snapshot_id, house.paths("noise")
    assert (rows[0][0][0], len(paths)) == (files * rows_per_file, files)
    assert {str(step.engine) for step in house.plan("noise").steps} == {engine}

    outcome = house.compact("noise")

    assert outcome.status is Status.FAILED
    assert (house.head("noise").snapshot_id, house.paths("noise")) == (snapshot_id, paths)
    assert (house.run("spark", in_spark), house.run("trino", in_trino)) == rows
    small_bucket.resize(10 * quota_bytes)
    assert house.compact("noise").status is Status.SUCCEEDED
    assert len(house.paths("noise")) == 1
    assert (house.run("spark", in_spark), house.run("trino", in_trino)) == rows


def test_writers_of_two_engines_and_a_compaction_lose_nothing(sales, trino_connect):
    def write(engine, number):
        run = sales.run if engine == "spark" else None
        cursor = trino_connect().cursor()
        for turn in range(3):
            order = f"{engine}-{number}-{turn}"
            statement = f"INSERT INTO {sales.name()} VALUES ('{order}', 'C', 1.25, NULL, {DAY})"
            if run:
                run(engine, statement)
            else:
                cursor.execute(statement)
                cursor.fetchall()

    sales.run(
        "spark",
        f"ALTER TABLE {sales.name()} SET TBLPROPERTIES ('commit.retry.num-retries' = '20')",
    )
    with ThreadPoolExecutor(5) as pool:
        writers = [
            pool.submit(write, engine, number)
            for number in range(2)
            for engine in ("spark", "trino")
        ]
        outcomes = [sales.compact()]
        while not all(writer.done() for writer in writers):
            outcomes.append(sales.compact())
        for writer in writers:
            writer.result()

    assert {outcome.status for outcome in outcomes} <= {Status.SUCCEEDED, Status.NOTHING_TO_DO}
    assert Status.SUCCEEDED in {outcome.status for outcome in outcomes}
    expected = {"s0", "s1", "s2"} | {
        f"{engine}-{number}-{turn}"
        for engine in ("spark", "trino")
        for number in range(2)
        for turn in range(3)
    }
    rows = sales.same_rows()
    assert rows.total() == len(expected) == 15
    assert {row[0] for row in rows} == expected


def test_a_table_whose_metadata_file_is_gone_is_not_called_missing(sales):
    ((current,),) = sales.run(
        "trino",
        f'SELECT file FROM iceberg.{sales.lake.schema}."sales$metadata_log_entries" '
        "ORDER BY timestamp DESC LIMIT 1",
    )
    rows = sales.same_rows()
    there = sales.on_disk(current)
    away = there.rename(there.with_suffix(".away"))

    with pytest.raises(TableUnreadable, match=re.escape(current)) as raised:
        sales.plan()

    assert f"neve doctor {sales.ref()}" in raised.value.next_step
    away.rename(there)
    assert sales.same_rows() == rows


def test_a_table_with_corrupt_metadata_is_recovered_by_its_previous_metadata(sales):
    house = sales
    log = house.run(
        "trino",
        f'SELECT file FROM iceberg.{house.lake.schema}."sales$metadata_log_entries" '
        "ORDER BY timestamp",
    )
    previous, current = log[-2][0], log[-1][0]
    paths = house.paths()
    house.on_disk(current).write_bytes(b'{"format-version": 2, "table-uuid": "')

    for attempt in (house.plan, house.compact):
        with pytest.raises(TableUnreadable, match=re.escape(current)) as raised:
            attempt()
        assert f"neve doctor {house.ref()}" in raised.value.next_step

    catalog = load_catalog("iceberg", **house.catalogs["iceberg"])
    identifier = (house.lake.schema, "sales")
    catalog.drop_table(identifier)
    catalog.register_table(identifier, previous)

    # The last commit is lost with its metadata; all that came before it is there.
    assert house.paths() < paths
    assert {row[0] for row in house.same_rows()} == {"s0", "s1"}
    assert house.compact().status is Status.SUCCEEDED
    insert(house, "trino", "s2")
    assert {row[0] for row in house.same_rows()} == {"s0", "s1", "s2"}
