"""First row ids of format 3: data files inherit them from manifests, and those from the list."""

from __future__ import annotations

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import LongType, NestedField, StringType

from neve.catalog.whole_avro import ProjectedAvroFile

FIRST_FORMAT_WITH_LINEAGE = 3
_LIST_SCHEMA = Schema(
    NestedField(500, "manifest_path", StringType(), required=True),
    NestedField(520, "first_row_id", LongType(), required=False),
)


def read_first_row_ids(loaded: Table, snapshot: Snapshot) -> dict[str, int | None]:
    """By manifest the id that its first file without one gets; empty before format 3."""
    if loaded.metadata.format_version < FIRST_FORMAT_WITH_LINEAGE:
        return {}
    with ProjectedAvroFile(loaded.io.new_input(snapshot.manifest_list), _LIST_SCHEMA) as reader:
        return {record[0]: record[1] for record in reader}


class RowIds:
    """Hands out ids to the live files of a manifest, in its order."""

    def __init__(self, first: int | None) -> None:
        self._next = first

    def next(self, own: int | None, record_count: int) -> int | None:
        """The file's own id, or the next one. A manifest without one has no files with any."""
        if self._next is None or own is not None:
            return None if self._next is None else own
        given, self._next = self._next, self._next + record_count
        return given
