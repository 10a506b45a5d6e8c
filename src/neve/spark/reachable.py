"""What Iceberg's metadata tables reach, asked of Spark about a few paths.

This is the second opinion before a file is deleted: it shares nothing with the walk in
`neve.catalog`, neither the readers nor the way in which paths are compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.tables import iceberg, load_table, spark_name

#: Metadata tables that speak of every snapshot, and their columns of paths.
COLUMNS = {
    "all_files": "file_path",
    "all_manifests": "path",
    "snapshots": "manifest_list",
    "metadata_log_entries": "file",
}
SCHEME_AND_AUTHORITY = r"^[A-Za-z][A-Za-z0-9+.\-]*:(//[^/]*)?"


def unreachable(session: SparkSession, table: TableRef, paths: Sequence[str]) -> list[str]:
    """Of the paths, those that the table as it is now does not reach, in their order."""
    if not paths:
        return []
    loaded = load_table(session, table)
    with engine_errors(f"Reading what table {table} reaches"):
        asked = _frame(session, list(dict.fromkeys(paths)))
        left = asked.join(_reached(session, table, loaded), on="key", how="left_anti")
        kept = set(left.select("path").toArrow().column("path").to_pylist())
    return [path for path in paths if path in kept]


def _reached(session: SparkSession, table: TableRef, loaded: Any) -> DataFrame:
    frames = [
        session.table(f"{spark_name(table)}.{name}").select(_key(F.col(column)).alias("key"))
        for name, column in COLUMNS.items()
    ]
    named = list(_named_in_metadata(session, loaded))
    return reduce(DataFrame.unionByName, [*frames, _frame(session, named).select("key")])


def _named_in_metadata(session: SparkSession, loaded: Any) -> Iterator[str]:
    """Files that no metadata table lists, from the metadata file as Iceberg itself writes it."""
    current = loaded.operations().current()
    yield current.metadataFileLocation()
    document = json.loads(iceberg(session).TableMetadataParser.toJson(current))
    for kind in ("statistics", "partition-statistics"):
        yield from (item["statistics-path"] for item in document.get(kind, ()))
    yield f"{current.location()}/metadata/version-hint.text"


def _frame(session: SparkSession, paths: Sequence[str]) -> DataFrame:
    rows = pa.table({"path": pa.array(paths, pa.string())})
    return session.createDataFrame(rows).withColumn("key", _key(F.col("path")))


def _key(path: Column) -> Column:
    """The path without store and spelling: two files that may be one count as one."""
    bare = F.regexp_replace(path, SCHEME_AND_AUTHORITY, "")
    # A plus is a plus in a path; only percent signs escape.
    decoded = F.try_url_decode(F.replace(bare, F.lit("+"), F.lit("%2B")))
    return F.regexp_replace(F.coalesce(decoded, bare), "/+", "/")
