"""One commit for all files, in a constant number of calls into the JVM.

A call into the JVM takes about half a millisecond, so nothing here loops over files: they cross as
one JSON text, and Iceberg's own parser makes the Java objects.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from neve.model.metadata_change import MadeOn, UndoTag
from neve.model.rewrite import ColumnMetrics, FileDetails
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.rewrite.listed_anew import RemovedFiles
from neve.spark.rewrite.publish import publish
from neve.spark.rewrite.stage import Staged
from neve.spark.tables import iceberg, load_table


def replace_files(
    session: SparkSession,
    table: TableRef,
    made_on: MadeOn,
    removed: Sequence[FileDetails],
    added: Sequence[FileDetails],
    properties: Mapping[str, str],
    undo: UndoTag | None = None,
) -> None:
    """Replace data files by others, unless a writer has touched the replaced ones since.

    No sequence number is set: a delete that lands meanwhile conflicts instead of being lost.
    """
    loaded = load_table(session, table)
    what = f"Committing to table {table}"
    with engine_errors(what):
        gone = java_files(session, loaded, removed)
        rewrite = loaded.newRewrite().rewriteFiles(gone, java_files(session, loaded, added))
        rewrite = with_summary(rewrite.validateFromSnapshot(made_on.snapshot_id), properties)
        unnumbered = any(file.first_row_id is None for file in removed)
    sources = RemovedFiles(session, loaded, what, made_on.snapshot_id, gone, unnumbered)
    publish(session, loaded, rewrite, made_on, undo, what, sources.refuse_if_listed_anew)


def with_summary(rewrite: Any, properties: Mapping[str, str]) -> Any:
    """The rewrite, told what its snapshot says of itself."""
    for key, value in properties.items():
        rewrite = rewrite.set(key, value)
    return rewrite


def commit_staged(
    session: SparkSession,
    table: TableRef,
    made_on: MadeOn,
    handles: Sequence[Staged],
    properties: Mapping[str, str],
    undo: UndoTag | None = None,
) -> None:
    """Replace files by what was staged for them, unless a writer has touched them since."""
    jvm: Any = session._jvm
    what = f"Committing to table {table}"
    with engine_errors(what):
        removed, vectors, added = (jvm.java.util.HashSet() for _ in range(3))
        for handle in handles:
            removed.addAll(handle.removed)
            vectors.addAll(handle.vectors)
            added.addAll(handle.added)
        # The table of the scan: it still knows the snapshot if that expires meanwhile.
        loaded = handles[0].table
        unnumbered = any(handle.unnumbered for handle in handles)
        rewrite = loaded.newRewrite()
        rewrite = rewrite.rewriteFiles(removed, vectors, added, jvm.java.util.HashSet())
        rewrite = with_summary(rewrite.validateFromSnapshot(made_on.snapshot_id), properties)
    sources = RemovedFiles(session, loaded, what, made_on.snapshot_id, removed, unnumbered)
    publish(session, loaded, rewrite, made_on, undo, what, sources.refuse_if_listed_anew)


def java_files(session: SparkSession, loaded: Any, files: Sequence[FileDetails]) -> Any:
    """A Java set of data files. The parser of scan responses and a file group make it in bulk."""
    jvm: Any = session._jvm
    package = iceberg(session)
    tree = file_documents(
        session, {"file-scan-tasks": [{"data-file": file_document(f)} for f in files]}
    )
    tasks = package.rest.TableScanResponseParser.parseFileScanTasks(
        tree, jvm.java.util.ArrayList(), loaded.specs(), True
    )
    return package.actions.RewriteFileGroup(None, tasks, 0, 1, 1, 1).rewrittenFiles()


def file_documents(session: SparkSession, documents: object) -> Any:
    """JSON as the tree that Iceberg's parsers read."""
    jackson = iceberg(session).shaded.com.fasterxml.jackson
    # Partition values may be NaN or infinite, as Python spells them.
    allow_nan = jackson.core.JsonParser.Feature.valueOf("ALLOW_NON_NUMERIC_NUMBERS")
    mapper = jackson.databind.ObjectMapper().configure(allow_nan, True)
    return mapper.readTree(json.dumps(documents))


def file_document(file: FileDetails) -> dict[str, object]:
    """A data file as Iceberg's content file JSON."""
    document: dict[str, object] = {
        "spec-id": file.spec_id,
        "content": "data",
        "file-path": file.path,
        "file-format": "parquet",
        "partition": list(file.partition),
        "file-size-in-bytes": file.size_bytes,
        "record-count": file.record_count,
        **metrics_document(file.metrics),
    }
    if file.split_offsets:
        document["split-offsets"] = list(file.split_offsets)
    if file.sort_order_id is not None:
        document["sort-order-id"] = file.sort_order_id
    return document


def metrics_document(metrics: ColumnMetrics) -> dict[str, object]:
    counts = {
        "column-sizes": metrics.column_sizes,
        "value-counts": metrics.value_counts,
        "null-value-counts": metrics.null_value_counts,
        "nan-value-counts": metrics.nan_value_counts,
    }
    bounds = {"lower-bounds": metrics.lower_bounds, "upper-bounds": metrics.upper_bounds}
    document: dict[str, object] = {
        name: {"keys": list(values), "values": list(values.values())}
        for name, values in counts.items()
        if values
    }
    for name, found in bounds.items():
        if found:
            encoded = [bound.hex().upper() for bound in found.values()]
            document[name] = {"keys": list(found), "values": encoded}
    return document
