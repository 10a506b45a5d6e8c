"""A stream of small commits by Spark Structured Streaming while maintenance runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from pyiceberg.catalog import load_catalog
from tests.system.engine_fixtures import CATALOG, House

from neve.model.outcome import Status
from neve.testing.spark_cluster import wait_for

ROWS_PER_SECOND = 50


@contextmanager
def streaming(house: House, checkpoint: Path) -> Iterator[Any]:
    """Numbers from zero on, committed as often as Spark gets to it."""
    numbers = house.spark.readStream.format("rate").option("rowsPerSecond", ROWS_PER_SECOND).load()
    query = (
        numbers.selectExpr("value AS id", "timestamp AS at")
        .writeStream.format("iceberg")
        .option("checkpointLocation", str(checkpoint))
        .trigger(processingTime="200 milliseconds")
        .toTable(house.name("stream"))
    )
    try:
        yield query
    finally:
        query.stop()
        query.awaitTermination(60)


def seen_by(house: House) -> dict[str, list[int]]:
    """The numbers, as each reader sees them."""
    name = house.name("stream")
    with load_catalog("python", **house.catalogs[CATALOG]) as catalog:
        table = catalog.load_table((house.lake.schema, "stream"))
        by_python = table.scan().to_arrow()["id"].to_pylist()
    files = [str(house.on_disk(path)) for path in sorted(house.paths("stream"))]
    with duckdb.connect() as connection:
        by_duckdb = connection.sql(f"SELECT id FROM read_parquet({files})").fetchall()
    found = {
        "pyiceberg": by_python,
        "duckdb": [number for (number,) in by_duckdb],
        **{
            engine: [row[0] for row in house.run(engine, f"SELECT id FROM {name}")]
            for engine in ("spark", "trino")
        },
    }
    return {reader: sorted(ids) for reader, ids in found.items()}


def test_all_readers_see_every_row_of_a_stream_once(house: House, tmp_path: Path) -> None:
    house.run("spark", f"CREATE TABLE {house.name('stream')} (id BIGINT, at TIMESTAMP)")

    def commits() -> int:
        return len(house.facts("stream").snapshots)

    with streaming(house, tmp_path / "checkpoint") as query:
        outcomes = []
        for _ in range(2):
            # Several small files since the last time, and a stream that goes on.
            before = commits()
            wait_for("small commits", lambda before=before: commits() >= before + 4)
            outcomes.append(house.compact("stream"))
        after = commits()
        wait_for("another commit of the stream", lambda: commits() > after)
        assert query.exception() is None

    assert [outcome.status for outcome in outcomes] == [Status.SUCCEEDED] * 2
    assert all(outcome.proof is not None and outcome.proof.holds for outcome in outcomes)
    final = house.compact("stream")
    assert final.status in (Status.SUCCEEDED, Status.NOTHING_TO_DO)
    seen = seen_by(house)
    assert seen["spark"] == list(range(len(seen["spark"])))
    assert len(seen["spark"]) > 0
    assert {reader for reader, ids in seen.items() if ids != seen["spark"]} == set()
