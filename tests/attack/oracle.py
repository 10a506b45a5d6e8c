"""What must hold of a table whatever happened to a run: judged by pyiceberg and by Spark."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class State:
    """A table as a reader sees it: its rows by two readers, its history, its refs."""

    by_pyiceberg: Counter[str]
    by_spark: Counter[str]
    ancestry: tuple[int, ...]
    refs: dict[str, int]


@dataclass(frozen=True)
class Oracle:
    """Reads tables without anything of Neve's."""

    session: SparkSession
    catalog: Catalog

    def state(self, name: str) -> State:
        table = self._load(name)
        self.check_files(table)
        rows = self.session.sql(f"SELECT * FROM {name}").collect()
        return State(
            by_pyiceberg=Counter(
                repr(sorted(row.items())) for row in table.scan().to_arrow().to_pylist()
            ),
            by_spark=Counter(repr(sorted(row.asDict().items())) for row in rows),
            ancestry=tuple(_ancestry(table)),
            refs={ref: found.snapshot_id for ref, found in table.metadata.refs.items()},
        )

    def check_files(self, table: Table) -> None:
        """Every file that any snapshot reaches is there, with the size that its manifest says."""
        for snapshot in table.metadata.snapshots:
            assert _path(snapshot.manifest_list).exists(), snapshot.manifest_list
            for manifest in snapshot.manifests(table.io):
                assert _path(manifest.manifest_path).exists(), manifest.manifest_path
                for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                    path = _path(entry.data_file.file_path)
                    assert path.exists(), path
                    assert path.stat().st_size >= entry.data_file.file_size_in_bytes, path

    def _load(self, name: str) -> Table:
        _, namespace, table = (part.strip("`") for part in name.split("."))
        return self.catalog.load_table((namespace, table))


def _ancestry(table: Table) -> list[int]:
    found, snapshot = [], table.current_snapshot()
    while snapshot is not None:
        found.append(snapshot.snapshot_id)
        parent = snapshot.parent_snapshot_id
        snapshot = table.snapshot_by_id(parent) if parent is not None else None
    return found


def _path(location: str) -> Path:
    return Path(unquote(urlparse(location).path))
