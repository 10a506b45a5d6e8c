from __future__ import annotations

from pyiceberg.schema import Schema
from pyiceberg.table.statistics import BlobMetadata, StatisticsFile
from pyiceberg.types import LongType, NestedField

from neve.model.facts import (
    ColumnFacts,
    ManifestContent,
    StatisticsFacts,
    StatisticsKind,
)
from neve.testing.local_lake import DELETED, EXISTING, FileEntry, Manifest

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))


def test_manifests_are_described_by_the_manifest_list(lake, survey):
    table = lake.create("db.events", SCHEMA)
    lake.commit(table, Manifest([FileEntry("a"), FileEntry("b"), FileEntry("c", status=DELETED)]))
    old = {"snapshot_id": 1, "sequence_number": 1}
    deletes = [FileEntry("d", content=1), FileEntry("e", content=1, status=EXISTING, **old)]
    lake.commit(table, Manifest(deletes))

    data, of_deletes = survey().manifests

    assert (data.content, data.spec_id, data.added_snapshot_id, data.file_count) == (
        ManifestContent.DATA,
        0,
        1,
        2,
    )
    assert (of_deletes.content, of_deletes.added_snapshot_id, of_deletes.file_count) == (
        ManifestContent.DELETES,
        2,
        2,
    )
    assert data.size_bytes == len(table.io.new_input(data.path))


def test_statistics_are_told_with_their_columns(lake, survey):
    table = lake.create("db.events", SCHEMA)
    snapshot_id = lake.commit(table, Manifest([FileEntry("a")]))
    blob = BlobMetadata(
        type="apache-datasketches-theta-v1",
        **{"snapshot-id": snapshot_id, "sequence-number": 1},
        fields=[1],
    )
    file = StatisticsFile(
        **{
            "snapshot-id": snapshot_id,
            "statistics-path": "s.stats",
            "file-size-in-bytes": 10,
            "file-footer-size-in-bytes": 5,
            "blob-metadata": [blob],
        }
    )
    with table.update_statistics() as update:
        update.set_statistics(file)

    assert survey().statistics == (
        StatisticsFacts(StatisticsKind.TABLE, snapshot_id, "s.stats", 10, frozenset({1})),
    )


def test_columns_of_the_snapshot_are_those_that_it_was_written_with(lake, survey):
    table = lake.create("db.events", SCHEMA)
    lake.commit(table, Manifest([FileEntry("a")]))
    with table.update_schema() as update:
        update.add_column("more", LongType())

    facts = survey()

    assert facts.snapshot_columns == (ColumnFacts(1, "id", "long", False),)
    assert [column.name for column in facts.columns] == ["id", "more"]
