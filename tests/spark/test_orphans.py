from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from neve.model.errors import ExecutionError, JobRefused, TableUnreadable
from neve.model.orphans import KeptReason, Listing, OrphanRules, QuarantineState
from neve.model.outcome import Status
from neve.service.operations.remove_orphan_files import find_orphans
from neve.spark.tables import iceberg, spark_name
from neve.testing.lake import SilentReporter
from neve.testing.operations import change_orphans, restore_orphans, sweep_orphans

pytestmark = pytest.mark.promise(20)

#: No waiting in quarantine, and small tables may be half orphans.
RULES = OrphanRules(purge_delay_seconds=0, max_orphan_ratio=0.9)
WEEK = 7 * 86400


def folder_of(lake, table):
    return Path(lake.java(table).location().removeprefix("file:"))


def grow_old(folder):
    """All files of the table become a week old, so that only reachability keeps them."""
    then = time.time() - WEEK
    for path in folder.rglob("*"):
        os.utime(path, (then, then), follow_symlinks=False)


def plant(path, text="orphan", age=WEEK):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def names(orphans):
    return {Path(orphan.path).name for orphan in orphans}


def adopt(lake, table, path):
    """Commit a file that is there already."""
    loaded = lake.java(table)
    builder = iceberg(lake.session).DataFiles.builder(loaded.spec()).withPath(path)
    builder = builder.withFormat("PARQUET").withFileSizeInBytes(6).withRecordCount(1)
    loaded.newAppend().appendFile(builder.build()).commit()


def add_statistics(lake, table):
    """Register a puffin file."""
    loaded = lake.java(table)
    package = iceberg(lake.session)
    path = f"{loaded.location()}/metadata/stats.puffin"
    plant(Path(path.removeprefix("file:")))
    statistics = package.GenericStatisticsFile(
        loaded.currentSnapshot().snapshotId(), path, 6, 1, lake.session._jvm.java.util.ArrayList()
    )
    loaded.updateStatistics().setStatistics(statistics).commit()


def add_double_slash(lake, table):
    """Commit a data file whose path has a doubled slash, and one whose name is escaped."""
    folder = lake.java(table).location()
    for spelling in (f"{folder}/data//twice.parquet", f"{folder}/data/a%20b"):
        plant(Path(spelling.removeprefix("file:").replace("%20", " ")))
        adopt(lake, table, spelling)


@pytest.fixture
def swept(lake):
    """A table with every kind of reachable file and several orphans, all a week old."""
    table = lake.create(properties={"write.wap.enabled": "true"})
    name = spark_name(table)
    lake.fill(table, files=1, rows=2)
    # From here on, only the first snapshot reaches the first file.
    lake.sql(f"DELETE FROM {name}")
    lake.sql(f"ALTER TABLE {name} CREATE BRANCH audit")
    lake.session.range(2).selectExpr("id", "'b' AS kind").writeTo(f"{name}.branch_audit").append()
    lake.session.conf.set("spark.wap.id", "staged")
    lake.fill(table, files=1, rows=2)
    lake.session.conf.unset("spark.wap.id")
    add_statistics(lake, table)
    add_double_slash(lake, table)
    folder = folder_of(lake, table)
    grow_old(folder)
    plant(folder / "data" / "old.parquet")
    plant(folder / "data" / "c%20d.parquet")
    plant(folder / "metadata" / "old-m0.avro")
    plant(folder / "data" / "e%20f.parquet")
    plant(folder / "data" / "e f.parquet")
    plant(folder / "data" / "young.parquet", age=3600)
    plant(folder / "data" / "_temporary" / "part")
    (folder / "data" / "link.parquet").symlink_to(folder / "data" / "old.parquet")
    os.utime(folder / "data" / "link.parquet", (1e9, 1e9), follow_symlinks=False)
    os.utime(plant(folder / "data" / "timeless"), (0, 0))
    return table


@pytest.mark.conformance("reachable files are kept")
def test_exactly_the_orphans_are_found_quarantined_and_deleted(lake, swept):
    services, folder = lake.app.maintenance, folder_of(lake, swept)
    expected = {"old.parquet", "c%20d.parquet", "old-m0.avro"}
    before = {path for path in folder.rglob("*") if not path.is_dir()}

    report = find_orphans(services, swept, RULES)
    assert names(report.orphans) == expected
    assert report.is_first
    kept = {why: total.files for why, total in report.kept.items()}
    assert (
        kept[KeptReason.TOO_YOUNG]
        == kept[KeptReason.NOT_A_FILE]
        == kept[KeptReason.UNKNOWN_TIME]
        == 1
    )
    assert kept[KeptReason.AMBIGUOUS] == 2
    assert kept[KeptReason.HIDDEN] >= 1
    assert sum(kept.values()) + 3 == report.listed.files == len(before)

    marked = change_orphans(services, swept, RULES, quarantine=True)
    assert marked.figures_after["quarantined_files"] == 3
    assert {path for path in folder.rglob("*") if not path.is_dir()} == before

    purged = change_orphans(services, swept, RULES, purge=True)
    assert (purged.status, purged.figures_after["purged_files"]) == (Status.SUCCEEDED, 3)
    after = {path for path in folder.rglob("*") if not path.is_dir()}
    assert {path.name for path in before - after} == expected
    reached = lake.app.maintenance.surveyor.reachable(swept).paths
    assert lake.app.spark.unreachable(swept, sorted(reached)) == []


def test_many_files_are_judged_as_few_are(lake, swept, monkeypatch):
    folder, surveyor = folder_of(lake, swept), lake.app.maintenance.surveyor
    adopt(lake, swept, f"file://elsewhere{folder}/data/old.parquet")
    plant(folder / "metadata" / "new.gz.metadata.json", age=60)
    now_ms = int(time.time() * 1000)
    listing = Listing((f"file:{folder}",), (), frozenset(), now_ms - 86_400_000, now_ms)
    watched = [f"file:{folder}/data/{name}" for name in ("old.parquet", "c%20d.parquet", "gone")]
    reachable = surveyor.reachable(swept)

    def sweep():
        return lake.app.spark.sweep(swept, listing, lambda: reachable, watched, SilentReporter())

    few = sweep()
    monkeypatch.setattr("neve.spark.list_files.FEW_FILES", -1)
    assert sweep() == few
    assert names(few.candidates) == {"c%20d.parquet", "old-m0.avro"}
    assert few.elsewhere == (f"file:{folder}/data/old.parquet",)
    assert few.metadata_files == (f"file:{folder}/metadata/new.gz.metadata.json",)


@pytest.mark.parametrize("files", ["few", "many"])
def test_tables_below_that_no_catalog_knows_survive_a_sweep(lake, monkeypatch, files):
    """One that is known by its path alone, and one that was dropped without its files."""
    table, dropped = lake.create(), lake.create(name="dropped")
    lake.fill(table, files=2)
    folder = folder_of(lake, table)
    loaded, java = lake.java(table), lake.session._jvm.org.apache.iceberg.hadoop
    tables = java.HadoopTables(lake.session.sparkContext._jsc.hadoopConfiguration())
    tables.create(loaded.schema(), loaded.spec(), {}, f"file:{folder}/by_path")
    rows = lake.session.range(3).selectExpr("id", "'a' AS kind")
    rows.write.format("iceberg").mode("append").save(f"{folder}/by_path")
    lake.fill(dropped, files=1)
    folder_of(lake, dropped).rename(folder / "dropped")
    lake.app.catalogs.writable("lake").drop_table((*dropped.namespace, dropped.name))
    grow_old(folder)
    orphan = plant(folder / "by_path_not" / "old.parquet")
    before = {path for path in folder.rglob("*") if not path.is_dir()}
    if files == "many":
        monkeypatch.setattr("neve.spark.list_files.FEW_FILES", -1)
    services = lake.app.maintenance

    report = find_orphans(services, table, RULES)
    change_orphans(services, table, RULES, quarantine=True)
    purged = change_orphans(services, table, RULES, purge=True)

    assert names(report.orphans) == {orphan.name}
    assert purged.figures_after["purged_files"] == 1
    assert before - {path for path in folder.rglob("*") if not path.is_dir()} == {orphan}
    assert lake.session.read.format("iceberg").load(f"{folder}/by_path").count() == 3


@pytest.mark.conformance("a dry run")
def test_a_sweep_looks_first_then_marks_then_deletes_and_then_rests(lake):
    table = lake.create()
    lake.fill(table, files=2)
    folder = folder_of(lake, table)
    orphan = plant(folder / "data" / "old.parquet")
    services = lake.app.maintenance
    first = sweep_orphans(services, table, RULES, log=False)
    assert (first.status, first.figures_after["quarantined_files"]) == (Status.NOTHING_TO_DO, 0)
    marked = sweep_orphans(services, table, RULES, log=False)
    assert marked.figures_after["quarantined_files"] == 1
    assert orphan.exists()
    waiting = sweep_orphans(services, table, replace(RULES, purge_delay_seconds=3600), log=False)
    assert waiting.status is Status.NOTHING_TO_DO
    deleted = sweep_orphans(services, table, RULES, log=True)
    assert deleted.figures_after["purged_files"] == 1
    assert not orphan.exists()
    assert sweep_orphans(services, table, RULES, log=False).status is Status.NOTHING_TO_DO
    log = lake.sql(f"SELECT operation FROM {spark_name(table.sibling('_maintenance_log'))}")
    assert [row[0] for row in log.collect()] == ["remove_orphan_files"]


def test_what_was_restored_or_became_reachable_is_not_deleted(lake):
    table = lake.create()
    lake.fill(table, files=1)
    folder = folder_of(lake, table)
    restored, adopted = plant(folder / "data" / "restored"), plant(folder / "data" / "adopted")
    changed = plant(folder / "data" / "changed")
    services = lake.app.maintenance
    find_orphans(services, table, RULES)
    change_orphans(services, table, RULES, quarantine=True, log=False)
    restore_orphans(services, table, [f"file:{restored}"])
    plant(changed, text="something else")
    adopt(lake, table, f"file:{adopted}")

    outcome = change_orphans(services, table, RULES, purge=True, log=False)
    assert outcome.figures_after["purged_files"] == 0
    assert outcome.figures_after["released_files"] == 2
    assert restored.exists()
    assert adopted.exists()
    assert changed.exists()
    home = services.surveyor.location(table)
    released = services.store.quarantine.entries(home.table_uuid, [QuarantineState.RELEASED])
    assert {Path(e.orphan.path).name: e.state_reason for e in released} == {
        "adopted": "It is reachable now.",
        "changed": "It has changed since it was marked.",
    }
    assert names(find_orphans(services, table, RULES).orphans) == {"changed"}


@pytest.mark.conformance("metadata is read after the listing")
def test_files_are_listed_before_metadata_is_read(lake):
    table = lake.create()
    lake.fill(table, files=1)
    folder = folder_of(lake, table)
    early = plant(folder / "data" / "early")
    surveyor = lake.app.maintenance.surveyor
    now_ms = int(time.time() * 1000)
    listing = Listing((f"file:{folder}",), (), frozenset(), now_ms - 86_400_000, now_ms)

    def read_late():
        plant(folder / "data" / "late")
        return surveyor.reachable(table)

    found = lake.app.spark.sweep(table, listing, read_late, [f"file:{early}"], SilentReporter())
    assert names(found.candidates) == {"early"}
    assert found.watched == {f"file:{early}": (found.candidates[0], None)}


@pytest.mark.conformance("schemes, authorities and slashes")
def test_a_path_that_is_reachable_under_another_authority_stops_everything(lake):
    table = lake.create()
    lake.fill(table, files=1)
    folder = folder_of(lake, table)
    plant(folder / "data" / "old.parquet")
    services = lake.app.maintenance
    assert names(find_orphans(services, table, RULES).orphans) == {"old.parquet"}
    adopt(lake, table, f"file://elsewhere{folder}/data/old.parquet")
    with pytest.raises(JobRefused, match="file://elsewhere"):
        sweep_orphans(services, table, RULES)


def test_a_missing_manifest_stops_everything(lake):
    table = lake.create()
    lake.fill(table, files=1)
    folder = folder_of(lake, table)
    plant(folder / "data" / "old.parquet")
    services = lake.app.maintenance
    find_orphans(services, table, RULES)
    for manifest in (folder / "metadata").glob("*-m0.avro"):
        manifest.unlink()
    with pytest.raises(TableUnreadable):
        sweep_orphans(services, table, RULES)
    assert (folder / "data" / "old.parquet").exists()
    with pytest.raises(ExecutionError):
        lake.app.spark.unreachable(table, [f"file:{folder}/data/old.parquet"])


def test_a_folder_that_cannot_be_read_is_the_tables_own_trouble(lake, monkeypatch):
    table = lake.create()
    lake.fill(table, files=1, rows=2)

    def forbidden(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("neve.storage.listing.local.os.scandir", forbidden)

    with pytest.raises(ExecutionError, match=r"Listing files of table .* Permission denied"):
        find_orphans(lake.app.maintenance, table, RULES)
