"""One commit of data files and delete files on exactly one head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from neve.model.errors import CommitConflict
from neve.model.facts import FIRST_WITH_ROW_IDS, DeleteKind
from neve.model.metadata_change import MadeOn, UndoTag
from neve.model.rebase import DeleteEntry, FileChange
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.functions import content_file_from_json
from neve.spark.rewrite.commit import (
    file_documents,
    java_files,
    metrics_document,
    with_summary,
)
from neve.spark.rewrite.publish import publish_on
from neve.spark.tables import iceberg, load_table


def change_files(
    session: SparkSession,
    table: TableRef,
    made_on: MadeOn,
    change: FileChange,
    properties: Mapping[str, str],
    undo: UndoTag | None = None,
) -> None:
    """Commit the change, or raise CommitConflict where the table has another head.

    Deletes are dropped by the ages of the files that are there, so that what was judged at one head
    holds at that one only.
    """
    loaded = load_table(session, table)
    what = f"Committing to table {table}"
    with engine_errors(what):
        _refuse_old_deletes(loaded, change, what)
        rewrite = with_summary(_rewrite(session, loaded, made_on.snapshot_id, change), properties)
    publish_on(session, loaded, rewrite, made_on, undo, what)


def _refuse_old_deletes(loaded: Any, change: FileChange, what: str) -> None:
    """The table may have been upgraded since delete files were written for it."""
    version = loaded.operations().current().formatVersion()
    kinds = {delete.kind for delete in change.deletes.added}
    if version >= FIRST_WITH_ROW_IDS and DeleteKind.POSITION in kinds:
        raise CommitConflict(
            f"{what} failed: the table has format v{version} now, and its deletes are vectors.",
            next_step="Run the command again: it plans again.",
        )


def _rewrite(session: SparkSession, loaded: Any, head_id: int, change: FileChange) -> Any:
    deletes = change.deletes
    own = [delete for delete in deletes.added if delete.data_sequence_number is None]
    rewrite = loaded.newRewrite().rewriteFiles(
        java_files(session, loaded, change.removed),
        _java_deletes(session, loaded, deletes.removed),
        java_files(session, loaded, change.added),
        _java_deletes(session, loaded, own),
    )
    for delete in deletes.added:
        if delete.data_sequence_number is not None:
            (file,) = _java_deletes(session, loaded, [delete])
            rewrite = rewrite.addFile(file, delete.data_sequence_number)
    if change.data_sequence_number is not None:
        rewrite = rewrite.dataSequenceNumber(change.data_sequence_number)
    return rewrite.validateFromSnapshot(head_id)


def _java_deletes(session: SparkSession, loaded: Any, deletes: Any) -> Any:
    """A Java set of delete files, made in the JVM."""
    jvm: Any = session._jvm
    lists = iceberg(session).relocated.com.google.common.collect.Lists
    nodes = lists.newArrayList(file_documents(session, [delete_document(d) for d in deletes]))
    parse = content_file_from_json(session, loaded.specs())
    return jvm.java.util.HashSet(lists.transform(nodes, parse))


def delete_document(delete: DeleteEntry) -> dict[str, object]:
    """A delete file as Iceberg's content file JSON."""
    is_equality = delete.kind is DeleteKind.EQUALITY
    document: dict[str, object | None] = {
        "spec-id": delete.spec_id,
        "content": "equality-deletes" if is_equality else "position-deletes",
        "file-path": delete.path,
        "file-format": delete.format.lower(),
        "partition": list(delete.partition),
        "file-size-in-bytes": delete.size_bytes,
        "record-count": delete.record_count,
        **metrics_document(delete.metrics),
        "equality-ids": list(delete.equality_ids) or None,
        "sort-order-id": delete.sort_order_id,
        "referenced-data-file": delete.referenced_path,
        "content-offset": delete.content_offset,
        "content-size-in-bytes": delete.content_size_bytes,
    }
    return {key: value for key, value in document.items() if value is not None}
