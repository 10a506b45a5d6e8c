"""Diagnosis with every file opened, on tables that Spark wrote; each damage has its sound twin."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.catalog.inspect import CatalogInspector
from neve.service.diagnose import Examination, diagnose
from neve.spark.tables import iceberg
from neve.testing.lake import SilentReporter

pytestmark = pytest.mark.promise(33, 37)

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


@pytest.fixture
def look(lake):
    def examine(table, *, deep=True, **how):
        return diagnose(
            CatalogInspector(lake.app.catalogs),
            lambda: lake.app.spark,
            table,
            Examination(deep, **how),
            SilentReporter(),
        )

    return examine


def local(location):
    return Path(location.removeprefix("file:"))


def codes(diagnosis):
    return {finding.code for finding in diagnosis.findings}


def digest(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(str(p).encode() + p.read_bytes() for p in files)).hexdigest()


def append_file(lake, table, path, rows):
    """Commit a file that some other writer left, with the count that it claims."""
    loaded = lake.java(table)
    builder = iceberg(lake.session).DataFiles.builder(loaded.spec()).withPath(f"file:{path}")
    builder = builder.withFormat("PARQUET").withFileSizeInBytes(path.stat().st_size)
    loaded.newAppend().appendFile(builder.withRecordCount(rows).build()).commit()


def test_files_that_are_cut_flipped_or_gone(lake, look, lake_folder):
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table, files=4)
    lake.sql(f"DELETE FROM {table} WHERE id = 3")
    before = digest(lake_folder)
    sound = look(table)

    assert (sound.findings, sound.coverage.opened_files) == ((), 5)
    assert digest(lake_folder) == before

    cut, flipped, gone = (local(path) for path in sorted(lake.paths(table))[:3])
    cut.write_bytes(cut.read_bytes()[:-20])
    data = bytearray(flipped.read_bytes())
    data[-10] ^= 0xFF
    flipped.write_bytes(data)
    gone.unlink()
    damaged = look(table)

    assert codes(damaged) == {"size_differs", "footer_unreadable", "data_file_missing"}
    evidence = {finding.code: finding.evidence for finding in damaged.findings}
    assert len(evidence["footer_unreadable"]) == 2
    assert evidence["data_file_missing"] == (f"data file file:{gone}",)


def test_counts_and_columns_that_are_not_what_manifests_say(lake, look, tmp_path):
    table = lake.create("id BIGINT")
    lake.fill(table, "id", files=1)
    ids = {"right": b"1", "unknown": b"77"}
    for name, field_id in ids.items():
        field = pa.field("id", pa.int64(), metadata={b"PARQUET:field_id": field_id})
        pq.write_table(pa.table([[1, 2]], pa.schema([field])), tmp_path / name)
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "none")
    append_file(lake, table, tmp_path / "right", 2)
    assert look(table).findings == ()

    append_file(lake, table, tmp_path / "unknown", 2)
    append_file(lake, table, tmp_path / "none", 7)
    found = {finding.code: finding.evidence for finding in look(table).findings}

    assert found == {
        "record_count_differs": (f"file:{tmp_path}/none: 2 rows in the file, 7 in the manifest",),
        "field_ids_missing": (f"file:{tmp_path}/none: column id",),
        "field_ids_unknown": (f"file:{tmp_path}/unknown: column id, id 77",),
    }


def test_deletion_vectors_that_are_broken(lake, look):
    table = lake.create(version=3, properties=MERGE_ON_READ)
    lake.fill(table, files=2)
    lake.sql(f"DELETE FROM {table} WHERE id IN (1, 2, 20)")
    sound = look(table)
    assert (sound.findings, sound.coverage.opened_files) == ((), 4)

    puffin = local(lake.facts(table).delete_files[0].path)
    data = bytearray(puffin.read_bytes())
    data[20] ^= 0xFF
    puffin.write_bytes(data)

    assert codes(look(table)) == {"vector_unreadable"}


def test_the_way_back_can_be_followed_with_spark(lake, look):
    table = lake.create()
    lake.fill(table, rows=10)
    rows = lake.rows(table)
    lake.fill(table, rows=10, start=10)
    current = CatalogInspector(lake.app.catalogs).integrity(table).metadata_location
    local(current).write_bytes(local(current).read_bytes()[:500])

    diagnosis = look(table)

    assert codes(diagnosis) == {"metadata_unreadable"}
    register, count = diagnosis.recovery.statements
    lake.sql(register)
    assert lake.sql(count).collect()[0][0] == 10
    assert lake.rows(lake.ref("events_recovered")) == rows


def test_a_lost_manifest_list_is_left_behind_by_the_shown_statement(lake, look):
    table = lake.create()
    lake.fill(table, rows=10)
    rows = lake.rows(table)
    lake.fill(table, rows=10, start=10)
    facts = CatalogInspector(lake.app.catalogs).integrity(table)
    local(facts.snapshot(facts.current_snapshot_id).manifest_list).unlink()

    (finding,) = (f for f in look(table).findings if f.code == "current_snapshot_unreadable")
    lake.sql(finding.next_step[finding.next_step.index("CALL ") :])

    assert lake.rows(table) == rows
