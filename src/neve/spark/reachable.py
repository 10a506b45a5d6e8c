"""What Iceberg's metadata tables reach, asked of Spark about a few paths.

This is the second opinion before a file is deleted: it shares neither the readers with the walk in
`neve.catalog` nor the way in which text is compared. What a local name resolves to, only the file
system can tell, and both ask it by the same function.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from neve.model.table import TableRef
from neve.planning.locations import path_of, store_of
from neve.spark.errors import engine_errors
from neve.spark.tables import iceberg, load_table, spark_name
from neve.storage.resolved import Resolver

#: Metadata tables that speak of every snapshot, and their columns of paths.
COLUMNS = {
    "all_files": "file_path",
    "all_manifests": "path",
    "snapshots": "manifest_list",
    "metadata_log_entries": "file",
}
#: Paths that cannot be compared by the functions of SQL alone: they come to the driver.
ODD = r"[^\x20-\x7E]|%25|/\.{1,2}(/|$)"
LOCAL = r"^(?i:file:|/)"
FOLDER, NAME = r"^(.*/)[^/]*$", r"([^/]*)$"
SCHEME_AND_AUTHORITY = r"^[A-Za-z][A-Za-z0-9+.\-]*:(//[^/]*)?"


def unreachable(session: SparkSession, table: TableRef, paths: Sequence[str]) -> list[str]:
    """Of the paths, those that the table as it is now does not reach, in their order."""
    if not paths:
        return []
    loaded = load_table(session, table)
    with engine_errors(f"Reading what table {table} reaches"):
        named = _named(session, table, loaded).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            keys = _keys(session, named)
            asked = _frame(session, _all_names(paths))
            met = asked.join(keys, on="key", how="left_semi").select("path").distinct()
            reached = set(met.toArrow().column("path").to_pylist())
        finally:
            named.unpersist()
    return [path for path in paths if path not in reached]


def _named(session: SparkSession, table: TableRef, loaded: Any) -> DataFrame:
    """Every path that the table's metadata names, as it is written."""
    frames = [
        session.table(f"{spark_name(table)}.{name}").select(F.col(column).alias("path"))
        for name, column in COLUMNS.items()
    ]
    further = pa.array(list(_named_in_metadata(session, loaded)), pa.string())
    frames.append(session.createDataFrame(pa.table({"path": further})))
    return reduce(DataFrame.unionByName, frames)


def _keys(session: SparkSession, named: DataFrame) -> DataFrame:
    """Keys of the paths: of their text, of the real folders behind local ones, and of odd ones."""
    path = F.col("path")
    folders = named.where(path.rlike(LOCAL)).select(F.regexp_extract(path, FOLDER, 1)).distinct()
    odd = named.where(path.rlike(ODD)).distinct()
    names = _all_names(odd.toArrow().column(0).to_pylist())
    keys = [named.select(_key(path).alias("key")), _frame(session, names).select("key")]
    resolver = Resolver()
    moved = [
        (folder, real.removesuffix("x"))
        for folder in folders.toArrow().column(0).to_pylist()
        for real in resolver.real_names(f"{folder}x")
        if folder
    ]
    if moved:
        behind = F.broadcast(session.createDataFrame(moved, "folder string, real string"))
        split = named.select(
            F.regexp_extract(path, FOLDER, 1).alias("folder"),
            F.regexp_extract(path, NAME, 1).alias("name"),
        )
        joined = split.join(behind, on="folder")
        keys.append(joined.select(_key(F.concat("real", "name")).alias("key")))
    return reduce(DataFrame.unionByName, keys)


def _all_names(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Each path with its own name, and with others that mean the same file."""
    resolver = Resolver()
    return [
        (path, name)
        for path in dict.fromkeys(paths)
        for name in {path, f"{store_of(path)}{path_of(path)}", *resolver.real_names(path)}
    ]


def _named_in_metadata(session: SparkSession, loaded: Any) -> Iterator[str]:
    """Files that no metadata table lists, from the metadata file as Iceberg itself writes it."""
    current = loaded.operations().current()
    yield current.metadataFileLocation()
    document = json.loads(iceberg(session).TableMetadataParser.toJson(current))
    for kind in ("statistics", "partition-statistics"):
        yield from (item["statistics-path"] for item in document.get(kind, ()))
    yield f"{current.location()}/metadata/version-hint.text"


def _frame(session: SparkSession, names: Sequence[tuple[str, str]]) -> DataFrame:
    paths = pa.array([path for path, _ in names], pa.string())
    rows = pa.table({"path": paths, "name": pa.array([name for _, name in names], pa.string())})
    return session.createDataFrame(rows).select("path", _key(F.col("name")).alias("key"))


def _key(path: Column) -> Column:
    """The path without store, case and spelling: two files that may be one count as one."""
    bare = F.regexp_replace(path, SCHEME_AND_AUTHORITY, "")
    # A plus is a plus in a path; only percent signs escape.
    decoded = F.try_url_decode(F.replace(bare, F.lit("+"), F.lit("%2B")))
    return F.lower(F.regexp_replace(F.coalesce(decoded, bare), "/+", "/"))
