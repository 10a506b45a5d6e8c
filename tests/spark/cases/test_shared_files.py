"""Files that more than one table needs, or that have more than one name, are not deleted."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from neve.app import build_app
from neve.model.errors import JobRefused
from neve.model.expiry import ExpiryRules
from neve.model.orphans import KeptReason, OrphanRules
from neve.model.outcome import Status
from neve.service.operations.expire_snapshots import ExpireSnapshotsOperation
from neve.service.operations.remove_orphan_files import find_orphans
from neve.spark.tables import iceberg
from neve.testing.lake import SilentReporter
from neve.testing.operations import change_orphans, plan_operation, run_operation

pytestmark = pytest.mark.promise(15, 16, 20)

OPERATION = ExpireSnapshotsOperation(ExpiryRules(undo_window_seconds=1))
RULES = OrphanRules(purge_delay_seconds=0, max_orphan_ratio=0.9)
WEEK = 7 * 86400
#: Other names of a file in the table's folder of data.
WAYS = ("link/{0}", "data/x/../{0}", "data//{0}", "data/./{0}")


@pytest.fixture
def second(tmp_path):
    """Another catalog, which only Neve knows."""
    uri, warehouse = f"sqlite:///{tmp_path / 'second.db'}", (tmp_path / "second").as_uri()
    catalog = SqlCatalog("second", uri=uri, warehouse=warehouse)
    catalog.create_namespace("db")
    yield catalog
    catalog.engine.dispose()


@pytest.fixture
def services(app, second):
    """The service with both catalogs, thirty days from now for expiry."""
    catalogs = {**app.settings.catalogs, "second": dict(second.properties)}
    both = build_app(app.settings.model_copy(update={"catalogs": catalogs}), SilentReporter())
    both.engine.use(app.spark)
    return both.maintenance


@pytest.fixture
def later(services):
    then = datetime.now(tz=UTC) + timedelta(days=30)
    return replace(services, clock=lambda: then)


@pytest.fixture
def own_catalog(lake):
    """The lake's catalog as pyiceberg writes it; a namespace beside the test's own is removed."""
    catalog = lake.app.catalogs.writable("lake")
    name = f"{lake.namespace}_beside"
    catalog.create_namespace(name)
    yield catalog, name
    for identifier in catalog.list_tables(name):
        catalog.drop_table(identifier)
    catalog.drop_namespace(name)


def local(path):
    return Path("/" + path.removeprefix("file:").lstrip("/"))


def metadata_of(lake, table):
    return lake.java(table).operations().current().metadataFileLocation()


def read(catalog, identifier):
    """Rows as pyiceberg reads them: every file must be there."""
    return len(catalog.load_table(identifier).scan().to_arrow())


def overwritten(lake):
    """A table whose second snapshot replaced every file of the first."""
    table = lake.create()
    lake.fill(table, files=2, rows=6)
    lake.sql(f"INSERT OVERWRITE lake.{lake.namespace}.{table.name} VALUES (1, 'x')")
    return table


def replace_name(lake, table, old, new):
    """Commit that the table's only file is called otherwise from now on."""
    loaded = lake.java(table)
    size = local(old).stat().st_size
    files = [
        iceberg(lake.session)
        .DataFiles.builder(loaded.spec())
        .withPath(path)
        .withFormat("PARQUET")
        .withFileSizeInBytes(size)
        .withRecordCount(4)
        .build()
        for path in (old, new)
    ]
    loaded.newOverwrite().deleteFile(files[0]).addFile(files[1]).commit()


def test_a_table_that_is_registered_again_elsewhere_is_not_expired(lake, later, second):
    table = overwritten(lake)
    first = lake.facts(table).snapshots[0].snapshot_id
    second.register_table("db.twin", metadata_of(lake, table))

    for do in (plan_operation, run_operation):
        with pytest.raises(JobRefused, match=r"registered as second\.db\.twin, too"):
            do(later, table, OPERATION)

    twin = second.load_table("db.twin")
    assert len(twin.scan(snapshot_id=first).to_arrow()) == 6
    assert len(lake.facts(table).snapshots) == 2


def test_a_twin_in_another_namespace_is_found(lake, later, own_catalog):
    catalog, namespace = own_catalog
    table = overwritten(lake)
    catalog.register_table(f"{namespace}.twin", metadata_of(lake, table))

    with pytest.raises(JobRefused, match=rf"registered as lake\.{namespace}\.twin, too"):
        run_operation(later, table, OPERATION)

    assert read(catalog, f"{namespace}.twin") == 1


@pytest.mark.parametrize("where", ["second", "beside"])
def test_files_that_another_table_has_taken_over_survive_expiry(
    lake, later, second, own_catalog, where
):
    """As after `snapshot`, `migrate` or `add_files`: another table names the old files."""
    table = overwritten(lake)
    catalog, name = (second, "db.copy") if where == "second" else own_catalog
    name = name if where == "second" else f"{name}.copy"
    first = lake.facts(table).snapshots[0].snapshot_id
    old = later.surveyor.survey(table, snapshot_id=first).data_files
    schema = own_catalog[0].load_table((*table.namespace, table.name)).schema()
    copy = catalog.create_table(name, schema)
    copy.add_files([file.path for file in old])

    step = plan_operation(later, table, OPERATION).steps[0]
    outcome = run_operation(later, table, OPERATION)

    assert outcome.status is Status.SUCCEEDED
    assert step.notes == (
        f"{len(old)} files stay, because table {catalog.name}.{name} reaches them.",
    )
    assert outcome.figures_after["files_freed"] == len(step.freed) > 0
    assert read(catalog, name) == 6


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_live_file_that_an_old_snapshot_calls_otherwise_survives_expiry(lake, later, way, turned):
    table = lake.create()
    lake.fill(table, files=1, rows=4)
    [path] = lake.paths(table)
    folder = local(path).parent.parent
    (folder / "link").symlink_to(folder / "data")
    (folder / "data" / "x").mkdir()
    other = f"file:{folder}/{way.format(local(path).name)}"
    replace_name(lake, table, path, other)
    if turned:
        replace_name(lake, table, other, path)
        lake.sql(f"ALTER TABLE lake.{lake.namespace}.{table.name} SET TBLPROPERTIES ('a' = 'b')")
    rows = lake.rows(table)

    outcome = run_operation(later, table, OPERATION)

    assert (outcome.status, outcome.stats.snapshots_expired) == (
        Status.SUCCEEDED,
        2 if turned else 1,
    )
    assert local(path).exists()
    assert lake.rows(table) == rows


@pytest.mark.parametrize(
    "way", ["link/{0}", "data/x/../{0}", "data//{0}", "data/./{0}", "%64ata/{0}"]
)
def test_the_second_opinion_knows_a_file_by_every_name(lake, way):
    table = lake.create()
    lake.fill(table, files=1, rows=4)
    [path] = lake.paths(table)
    folder = local(path).parent.parent
    (folder / "link").symlink_to(folder / "data")
    other = f"file:{folder}/{way.format(local(path).name)}"
    engine = lake.app.spark

    assert engine.unreachable(table, [other, f"file:{folder}/data/gone"]) == [
        f"file:{folder}/data/gone"
    ]
    renamed = lake.create(name="renamed")
    lake.java(renamed).newAppend().appendFile(
        iceberg(lake.session)
        .DataFiles.builder(lake.java(renamed).spec())
        .withPath(other)
        .withFormat("PARQUET")
        .withFileSizeInBytes(local(path).stat().st_size)
        .withRecordCount(4)
        .build()
    ).commit()
    assert engine.unreachable(renamed, [path, f"file:{folder}/data/gone"]) == [
        f"file:{folder}/data/gone"
    ]


def test_files_below_a_table_that_others_have_taken_over_survive_a_sweep(
    lake, services, second, own_catalog, tmp_path
):
    """A landing folder below the table: tables elsewhere name files in it, by links too."""
    table = lake.create()
    lake.fill(table, files=2, rows=4)
    folder = local(lake.facts(table).location)
    source = lake.create(name="source")
    lake.fill(source, files=1, rows=5)
    [landed] = lake.paths(source)
    landing = folder / "landing"
    landing.mkdir()
    (tmp_path / "way").symlink_to(landing)
    for name in ("near", "far", "linked", "nobodys"):
        (landing / f"{name}.parquet").write_bytes(local(landed).read_bytes())
        os.utime(landing / f"{name}.parquet", (time.time() - WEEK, time.time() - WEEK))
    catalog, namespace = own_catalog
    schema = catalog.load_table((*source.namespace, source.name)).schema()
    near = catalog.create_table(f"{namespace}.near", schema)
    near.add_files([f"file:{landing}/near.parquet", f"file://{tmp_path}/way/linked.parquet"])
    far = second.create_table("db.far", schema)
    far.add_files([f"file://{landing}//far.parquet"])

    report = find_orphans(services, table, RULES)
    assert [Path(orphan.path).name for orphan in report.orphans] == ["nobodys.parquet"]
    assert report.kept[KeptReason.REFERENCED].files == 3
    assert [str(other) for other in report.referenced_by] == [
        f"lake.{namespace}.near",
        "second.db.far",
    ]
    change_orphans(services, table, RULES, quarantine=True, log=False)
    purged = change_orphans(services, table, RULES, purge=True, log=False)

    assert purged.figures_after["purged_files"] == 1
    assert sorted(path.name for path in landing.iterdir()) == [
        "far.parquet",
        "linked.parquet",
        "near.parquet",
    ]
    assert (read(catalog, f"{namespace}.near"), read(second, "db.far")) == (10, 5)


def test_a_file_that_another_table_takes_over_while_it_waits_is_released(lake, services, second):
    table = lake.create()
    lake.fill(table, files=2, rows=4)
    source = lake.create(name="source")
    lake.fill(source, files=1, rows=5)
    [landed] = lake.paths(source)
    stray = local(lake.facts(table).location) / "data" / "stray.parquet"
    stray.write_bytes(local(landed).read_bytes())
    os.utime(stray, (time.time() - WEEK, time.time() - WEEK))
    find_orphans(services, table, RULES)
    marked = change_orphans(services, table, RULES, quarantine=True, log=False)
    assert marked.figures_after["quarantined_files"] == 1
    schema = lake.app.catalogs.load(source).schema()
    second.create_table("db.far", schema).add_files([f"file:{stray}"])

    purged = change_orphans(services, table, RULES, purge=True, log=False)

    assert (purged.figures_after["purged_files"], purged.figures_after["released_files"]) == (0, 1)
    assert read(second, "db.far") == 5
