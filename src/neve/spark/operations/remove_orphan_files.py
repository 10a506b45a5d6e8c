"""How orphans are found: a listing in Spark, compared there with what metadata reaches.

Tables with few files are listed and compared right in the driver; of others, only sums and
candidates come back to it. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from neve.model.errors import ExecutionError
from neve.model.orphans import FileTotals, KeptReason, ListedFile, Listing, ReachableFiles, Sweep
from neve.planning.locations import store_of
from neve.planning.table_signs import METADATA_FILE, foreign_folders, is_unclear
from neve.spark.errors import engine_errors
from neve.spark.list_files import key_of, list_few, list_files
from neve.spark.operations.sweep_few import MAX_ELSEWHERE, sweep_few
from neve.storage.access import Storage
from neve.storage.listing.folders import split_into_folders

#: What one run takes; the rest is an orphan in the next run, too.
MAX_CANDIDATES = 100_000
ROWS_PER_CHUNK = 50_000
ELSEWHERE = "elsewhere"


@contextmanager
def listing_errors(what: str) -> Iterator[None]:
    """A small table is listed here, and not by a task whose errors Spark tells."""
    try:
        yield
    except OSError as error:
        raise ExecutionError(
            f"{what} failed: {error}.",
            next_step="Check that this machine may read the table's folders.",
        ) from error


def sweep_here(
    listing: Listing,
    storage: Storage,
    read_reachable: Callable[[], ReachableFiles],
    watched: Sequence[str],
) -> Sweep | None:
    """A sweep without a session; None where there are this many files that tasks should share
    them."""
    rows = list_few(split_into_folders(listing.roots, storage), listing, storage)
    return None if rows is None else sweep_few(rows, read_reachable(), watched)


def sweep(
    session: SparkSession,
    listing: Listing,
    storage: Storage,
    read_reachable: Callable[[], ReachableFiles],
    watched: Sequence[str],
) -> Sweep:
    """List first and read metadata then: what is committed in between is reachable."""
    found = sweep_here(listing, storage, read_reachable, watched)
    if found is not None:
        return found
    folders = split_into_folders(listing.roots, storage)
    with engine_errors("Listing files"):
        files = list_files(session, folders, listing, storage).persist(StorageLevel.DISK_ONLY)
        try:
            files.count()
            reachable = read_reachable()
            judged = _judge(session, files, reachable.paths).persist(StorageLevel.DISK_ONLY)
            try:
                return _summarise(session, judged, reachable, watched)
            finally:
                judged.unpersist()
        finally:
            files.unpersist()


def _judge(session: SparkSession, files: DataFrame, paths: Iterable[str]) -> DataFrame:
    """Why each file is kept; null for a candidate. Being reachable comes before all else."""
    stores = sorted({store_of(path) for path in paths})
    reached = _reached(session, paths, stores)
    own_bit = F.lit(0)
    for index, store in enumerate(stores):
        own_bit = F.when(F.col("store") == store, 1 << index).otherwise(own_bit)
    names = F.count("*").over(Window.partitionBy("key"))
    keep = (
        F.when(F.col("stores").bitwiseAND(own_bit) != 0, str(KeptReason.REACHABLE))
        .when(F.col("stores").isNotNull(), ELSEWHERE)
        .when(F.col("keep").isNotNull(), F.col("keep"))
        .when(names > 1, str(KeptReason.AMBIGUOUS))
    )
    joined = files.join(reached, on="key", how="left").withColumn("keep", keep)
    return _without_foreign(session, joined).drop("key", "store", "stores", "sign")


def _without_foreign(session: SparkSession, judged: DataFrame) -> DataFrame:
    """Keep candidates in folders of tables that are not the swept one."""
    is_own = F.max(F.col("stores").isNotNull()).alias("is_own")
    signs = judged.where("sign IS NOT NULL").groupBy("sign").agg(is_own).collect()
    foreign = foreign_folders((row["sign"], row["is_own"]) for row in signs)
    if not foreign:
        return judged
    # None lies in another one, so that no file is joined twice.
    folders = F.broadcast(session.createDataFrame([(f,) for f in foreign], "foreign string"))
    is_below = F.col("keep").isNull() & F.col("path").startswith(F.col("foreign"))
    is_foreign = F.col("foreign").isNotNull()
    keep = F.when(is_foreign, str(KeptReason.OTHER_TABLE)).otherwise(F.col("keep"))
    return judged.join(folders, is_below, "left").withColumn("keep", keep).drop("foreign")


def _reached(session: SparkSession, paths: Iterable[str], stores: Sequence[str]) -> DataFrame:
    """Keys of reachable paths, with a bit for every store that holds such a path."""
    bits = {store: 1 << index for index, store in enumerate(stores)}
    chunks = list(_chunks(iter(paths), bits))
    table = pa.Table.from_batches(chunks, _KEYS)
    return session.createDataFrame(table).groupBy("key").agg(F.bit_or("store").alias("stores"))


_KEYS = pa.schema([("key", pa.binary()), ("store", pa.int64())])


def _chunks(paths: Iterator[str], bits: dict[str, int]) -> Iterator[pa.RecordBatch]:
    while some := list(islice(paths, ROWS_PER_CHUNK)):
        keys = pa.array([key_of(path) for path in some], pa.binary())
        stores = pa.array([bits[store_of(path)] for path in some], pa.int64())
        yield pa.RecordBatch.from_arrays([keys, stores], schema=_KEYS)


def _summarise(
    session: SparkSession, judged: DataFrame, reachable: ReachableFiles, watched: Sequence[str]
) -> Sweep:
    sums = judged.groupBy("keep").agg(F.count("*"), F.sum("size_bytes")).collect()
    totals = {row[0]: FileTotals(row[1], row[2]) for row in sums}
    asked = _watched(session, judged, watched)
    return Sweep(
        reachable=reachable,
        listed=FileTotals(
            sum(total.files for total in totals.values()),
            sum(total.size_bytes for total in totals.values()),
        ),
        orphans=totals.get(None, FileTotals()),
        kept={
            KeptReason(name): total
            for name, total in totals.items()
            if name not in (None, ELSEWHERE)
        },
        candidates=tuple(_files(judged, F.col("keep").isNull(), MAX_CANDIDATES)),
        watched=asked,
        elsewhere=tuple(
            file.path for file in _files(judged, F.col("keep") == ELSEWHERE, MAX_ELSEWHERE)
        ),
        metadata_files=tuple(_unclear(judged)),
    )


def _files(judged: DataFrame, condition: Column, limit: int) -> list[ListedFile]:
    rows = judged.where(condition).limit(limit).toArrow().to_pylist()
    return sorted((_listed(row) for row in rows), key=lambda file: file.path)


def _unclear(judged: DataFrame) -> list[str]:
    """Metadata files that may be another table's; a table that is never swept has thousands."""
    found = judged.where(F.col("path").rlike(f"/{METADATA_FILE}$")).select("path", "keep")
    rows = found.toArrow().to_pylist()
    return sorted(row["path"] for row in rows if is_unclear(row["path"], _keep(row["keep"])))


def _watched(
    session: SparkSession, judged: DataFrame, watched: Sequence[str]
) -> dict[str, tuple[ListedFile, KeptReason | None]]:
    if not watched:
        return {}
    asked = session.createDataFrame(pa.table({"path": pa.array(watched, pa.string())}))
    rows = judged.join(F.broadcast(asked), on="path", how="left_semi").toArrow().to_pylist()
    return {row["path"]: (_listed(row), _keep(row["keep"])) for row in rows}


def _keep(name: str | None) -> KeptReason | None:
    """A file that may be reachable elsewhere is no candidate either; the sweep stops anyway."""
    return KeptReason.AMBIGUOUS if name == ELSEWHERE else KeptReason(name) if name else None


def _listed(row: dict[str, Any]) -> ListedFile:
    return ListedFile(row["path"], row["size_bytes"], row["modified_ms"], row["etag"])
