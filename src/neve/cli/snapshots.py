"""`neve snapshots`: a table's log with its branches and tags. Reads metadata, starts no JVM."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from neve.cli.context import (
    ConfigOption,
    OutputOption,
    TableArgument,
    application,
)
from neve.cli.output import Format, Output
from neve.cli.render_expiry import render_snapshots
from neve.documents import to_document
from neve.model.facts import RefFacts, SnapshotFacts, TableFacts

#: What a snapshot's summary tells in figures, by the names that we give them.
FIGURES = {
    "files_added": "added-data-files",
    "files_removed": "deleted-data-files",
    "records_added": "added-records",
    "records_removed": "deleted-records",
    "records": "total-records",
}


def snapshots(
    table: TableArgument,
    output: OutputOption = Format.TEXT,
    config: ConfigOption = None,
) -> None:
    """List snapshots, newest first, and the branches and tags that point to them."""
    printer = Output(output)
    with application(printer, config) as neve:
        facts, now = neve.outline(table), neve.now()
    printer.result(snapshots_document(facts, now), lambda: render_snapshots(facts, now))


def snapshots_document(facts: TableFacts, now: datetime) -> dict[str, Any]:
    by_id = {snapshot.snapshot_id: snapshot for snapshot in facts.snapshots}
    newest_first = sorted(
        facts.snapshots, key=lambda item: (item.committed_at, item.snapshot_id), reverse=True
    )
    refs: dict[int, list[RefFacts]] = {}
    for ref in facts.refs:
        refs.setdefault(ref.snapshot_id, []).append(ref)
    return {
        "table": str(facts.table),
        "snapshot_id": facts.snapshot_id,
        "snapshots": [
            {
                **_snapshot_document(snapshot, refs.get(snapshot.snapshot_id, [])),
                "is_current": snapshot.snapshot_id == facts.snapshot_id,
            }
            for snapshot in newest_first
        ],
        "branches": [_ref(ref, by_id, now) for ref in facts.refs if ref.kind == "branch"],
        "tags": [_ref(ref, by_id, now) for ref in facts.refs if ref.kind == "tag"],
    }


def _snapshot_document(snapshot: SnapshotFacts, pointing: list[RefFacts]) -> dict[str, Any]:
    document = to_document(snapshot)
    del document["summary"]
    return {
        **document,
        **{name: snapshot.figure(key) for name, key in FIGURES.items()},
        "job_id": snapshot.job_id,
        "branches": [ref.name for ref in pointing if ref.kind == "branch"],
        "tags": [ref.name for ref in pointing if ref.kind == "tag"],
    }


def _ref(ref: RefFacts, by_id: dict[int, SnapshotFacts], now: datetime) -> dict[str, Any]:
    snapshot = by_id.get(ref.snapshot_id)
    age = (now - snapshot.committed_at).total_seconds() if snapshot else None
    return {**to_document(ref), "age_seconds": age}
