"""How snapshots expire: commits that change metadata alone, each of exactly the planned snapshots.

Iceberg's own `expireSnapshots` takes more than it is told: besides the given ids it applies ages
that the table or a branch has set. So the snapshots are taken out of the metadata here, and files
are left to the caller, who reads the table back first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from neve.model.errors import CommitConflict
from neve.model.expiry import ChangeRefs, RemoveSnapshots
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.lists import java_longs
from neve.spark.retries import despite_writers
from neve.spark.tables import iceberg, load_table


def remove_snapshots(
    session: SparkSession, table: TableRef, step: RemoveSnapshots, properties: Mapping[str, str]
) -> None:
    """One commit. Snapshots that somebody else removed meanwhile are not missed."""

    def commit() -> str | None:
        operations = load_table(session, table).operations()
        with engine_errors(f"Expiring snapshots of table {table}"):
            base = operations.refresh()
            if new_ref := _new_ref(base, step):
                return new_ref
            builder = iceberg(session).TableMetadata.buildFrom(base)
            ids = java_longs(session, step.snapshot_ids)
            operations.commit(base, builder.removeSnapshots(ids).build())
        return None

    if new_ref := despite_writers(commit):
        raise CommitConflict(
            f"Branch or tag {new_ref} of table {table} was made or moved since the plan.",
            next_step="Run the command again: it plans anew.",
        )


def _new_ref(base: Any, step: RemoveSnapshots) -> str | None:
    """Taking a snapshot out would take the branch or tag along that points to it."""
    gone, known = set(step.snapshot_ids), set(step.known_refs)
    refs = base.refs()
    return next(
        (name for name in refs if name not in known or refs[name].snapshotId() in gone), None
    )


def change_refs(
    session: SparkSession, table: TableRef, step: ChangeRefs, properties: Mapping[str, str]
) -> None:
    """One commit that sets the tags and drops refs, unless they point elsewhere by now."""
    with engine_errors(f"Changing tags of table {table}"):
        loaded = load_table(session, table)
        refs, manage = loaded.refs(), loaded.manageSnapshots()
        for tag in step.tags:
            set_tag = manage.replaceTag if tag.name in refs else manage.createTag
            set_tag(tag.name, tag.snapshot_id)
            manage.setMaxRefAgeMs(tag.name, tag.max_age_ms)
        for ref in step.dropped_refs:
            if ref.name in refs and refs[ref.name].snapshotId() == ref.snapshot_id:
                drop = manage.removeTag if refs[ref.name].isTag() else manage.removeBranch
                drop(ref.name)
        manage.commit()
