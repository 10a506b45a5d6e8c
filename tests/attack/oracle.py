"""What must hold of a table whatever happened to a run: judged by pyiceberg and by Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyspark.sql import SparkSession

#: Refs that Neve makes itself, and takes away again.
OWN_REFS = "neve-"
UNDO_REFS = "neve-undo-"
#: What Neve writes into the summaries of its snapshots.
OWN_KEYS = "neve."


@dataclass(frozen=True)
class State:
    """A table as a reader sees it: its rows by two readers, its history, its refs."""

    table_uuid: str
    rows: Counter[str]
    #: The rows with the ids that format version 3 gives them, where each has one.
    lineage: Counter[str] | None
    #: The newest snapshot of main that is not Neve's own: its writer was told that it is there.
    acknowledged: int
    refs: dict[str, int]
    schema: str
    spec: str
    sort_order: str
    properties: dict[str, str]


@dataclass(frozen=True)
class Oracle:
    """Reads tables without anything of Neve's."""

    session: SparkSession
    catalog: Catalog

    def state(self, name: str) -> State:
        table = self._load(name)
        check_files(table)
        by_spark = Counter(
            repr(sorted(row.asDict().items()))
            for row in self.session.sql(f"SELECT * FROM {name}").collect()
        )
        by_pyiceberg = Counter(
            repr(sorted(row.items())) for row in table.scan().to_arrow().to_pylist()
        )
        assert by_spark == by_pyiceberg, f"Two readers of {name} see two tables."
        return State(
            table_uuid=str(table.metadata.table_uuid),
            rows=by_spark,
            lineage=self._lineage(name) if table.metadata.format_version >= 3 else None,
            acknowledged=_newest_of_others(table),
            refs={ref: found.snapshot_id for ref, found in table.metadata.refs.items()},
            schema=repr(table.schema()),
            spec=repr(table.spec()),
            sort_order=repr(table.sort_order()),
            properties=dict(table.properties),
        )

    def check(self, name: str, before: State, told: str) -> None:
        """Nothing that was there before is lost, and nobody's rows or refs have changed."""
        after = self.state(name)
        assert after.rows == before.rows, f"{told}: rows"
        if before.lineage is not None:
            assert after.lineage == before.lineage, f"{told}: row ids"
        assert (after.schema, after.spec) == (before.schema, before.spec), f"{told}: schema"
        assert after.sort_order == before.sort_order, f"{told}: sort order"
        assert after.properties == before.properties, f"{told}: properties"
        assert after.table_uuid == before.table_uuid, f"{told}: another table"
        for ref, snapshot_id in before.refs.items():
            if ref != "main" and not ref.startswith(OWN_REFS):
                assert after.refs.get(ref) == snapshot_id, f"{told}: ref {ref}"
        strangers = {ref for ref in after.refs if not ref.startswith(OWN_REFS)}
        assert strangers == {ref for ref in before.refs if not ref.startswith(OWN_REFS)}, told
        fallen = before.acknowledged not in _ancestry(self._load(name))
        assert not fallen, f"{told}: snapshot {before.acknowledged} fell off main"

    def check_undo_tags(self, name: str, operations: Mapping[str, str], told: str) -> None:
        """Undoing a job that has an end goes exactly to what its first commit was made on."""
        table = self._load(name)
        # Of a job that was rolled back, too: its snapshots are no longer those of main.
        snapshots = sorted(table.metadata.snapshots, key=lambda one: -(one.sequence_number or 0))
        for ref, found in table.metadata.refs.items():
            job_id = ref.removeprefix(UNDO_REFS)
            # What a rollback leaves behind is tagged, and it commits nothing.
            if job_id == ref or operations.get(job_id) == "rollback":
                continue
            own = [snapshot for snapshot in snapshots if _job_of(snapshot) == job_id]
            assert own, f"{told}: {ref} of a job that committed nothing"
            assert found.snapshot_id == own[-1].parent_snapshot_id, f"{told}: {ref}"

    def _lineage(self, name: str) -> Counter[str] | None:
        columns = "*, _row_id, _last_updated_sequence_number"
        rows = self.session.sql(f"SELECT {columns} FROM {name}").collect()
        # Rows from before the table had this format get theirs with the next commit.
        if any(row["_row_id"] is None for row in rows):
            return None
        return Counter(map(repr, rows))

    def _load(self, name: str) -> Table:
        _, namespace, table = (part.strip("`") for part in name.split("."))
        return self.catalog.load_table((namespace, table))


def check_files(table: Table) -> None:
    """Every file that any snapshot reaches is there, with the size that its manifest says."""
    for snapshot in table.metadata.snapshots:
        assert _path(snapshot.manifest_list).exists(), snapshot.manifest_list
        for manifest in snapshot.manifests(table.io):
            written = _path(manifest.manifest_path)
            assert written.exists(), written
            assert written.stat().st_size == manifest.manifest_length, written
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                path = _path(entry.data_file.file_path)
                assert path.exists(), path
                assert path.stat().st_size == entry.data_file.file_size_in_bytes, path
    for statistics in table.metadata.statistics:
        assert _path(statistics.statistics_path).exists(), statistics.statistics_path


def _ancestry(table: Table) -> list[int]:
    """The history of main, also beyond snapshots that have expired: old metadata knows them."""
    parents: dict[int, int | None] = {}
    for path in (_path(table.metadata.location) / "metadata").glob("*.metadata.json"):
        for snapshot in json.loads(path.read_text()).get("snapshots", []):
            parents[snapshot["snapshot-id"]] = snapshot.get("parent-snapshot-id")
    found: list[int] = []
    following = table.metadata.current_snapshot_id
    while following is not None:
        found.append(following)
        following = parents.get(following)
    return found


def _job_of(snapshot: Snapshot) -> str | None:
    summary = snapshot.summary
    return summary.additional_properties.get("neve.job-id") if summary is not None else None


def _newest_of_others(table: Table) -> int:
    for snapshot_id in _ancestry(table):
        snapshot = table.snapshot_by_id(snapshot_id)
        summary = snapshot.summary if snapshot is not None else None
        own = summary.additional_properties if summary is not None else {}
        if not any(key.startswith(OWN_KEYS) for key in own):
            return snapshot_id
    raise AssertionError("Every snapshot of main is Neve's own.")


def _path(location: str) -> Path:
    return Path(unquote(urlparse(location).path))
