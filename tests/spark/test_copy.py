"""Compaction by copying row groups: the same rows and statistics, and refusals that are said."""

from __future__ import annotations

import duckdb
import pyarrow.parquet as pq
import pytest

from neve.model.outcome import Status
from neve.model.policy import CompactionPolicy, Engine, Strategy

pytestmark = pytest.mark.promise(1, 3)

#: Test files are tiny, so any row group is worth keeping here.
COPY = CompactionPolicy(min_row_group_bytes=1)
ALL_TYPES = {
    "b": "id % 2 = 0",
    "i": "cast(id AS int)",
    "f": "if(id % 5 = 0, float('NaN'), float(id - 7))",
    "d": "if(id % 7 = 0, double('-0.0'), double(id) / 3)",
    "dec9": "cast(id - 15 AS decimal(9, 2))",
    "dec18": "cast(-id AS decimal(18, 4))",
    "dec38": "cast(id * 1e20 AS decimal(38, 0))",
    "day": "date_add(date'1969-12-20', cast(id AS int))",
    "ts": "timestamp_micros(id - 15)",
    "ntz": "cast(timestamp_micros(id) AS timestamp_ntz)",
    "s": "if(id % 3 = 0, null, concat('é-', id))",
    "empty": "cast(null AS string)",
    "bin": "unhex(concat('ff', lpad(id, 4, '0')))",
    "arr": "array(struct(id AS x, map('k', id) AS m))",
}


def path_of(location):
    return location.removeprefix("file://").removeprefix("file:")


@pytest.mark.conformance("row groups are merged as they are", engines=("copy",))
def test_every_type_is_copied_with_its_rows_and_statistics(lake):
    columns = lake.session.range(1).selectExpr(*(f"{e} AS {n}" for n, e in ALL_TYPES.items()))
    table = lake.create(", ".join(f"{f.name} {f.dataType.simpleString()}" for f in columns.schema))
    lake.fill(table, *(f"{e} AS {n}" for n, e in ALL_TYPES.items()))
    twin = lake.create(
        ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in columns.schema), name="twin"
    )
    lake.fill(twin, *(f"{e} AS {n}" for n, e in ALL_TYPES.items()))
    before = lake.rows(table)

    outcome = lake.compact(table, policy=COPY)
    lake.compact(twin)

    assert (outcome.status, outcome.engines["copy"], outcome.proof.level) == (
        Status.SUCCEEDED,
        1,
        "bytes",
    )
    assert lake.rows(table) == before
    metrics = "value_counts, null_value_counts, nan_value_counts, lower_bounds, upper_bounds"
    ours, theirs = (lake.sql(f"SELECT {metrics} FROM {t}.files").collect() for t in (table, twin))
    assert ours == theirs


@pytest.mark.conformance("sort order id and split offsets", engines=("copy",))
def test_the_new_file_is_ordinary_parquet_with_true_split_offsets(lake):
    table = lake.create()
    lake.fill(table)
    lake.compact(table, policy=COPY)

    # Iceberg shows offsets only together with the size that they are checked against.
    columns = "file_path, file_size_in_bytes, split_offsets, sort_order_id"
    (row,) = lake.sql(f"SELECT {columns} FROM {table}.files").collect()
    path = path_of(row["file_path"])
    parquet = pq.ParquetFile(path)

    starts = [parquet.metadata.row_group(n).column(0).file_offset for n in range(3)]
    assert (parquet.metadata.num_row_groups, row["sort_order_id"]) == (3, 0)
    assert row["split_offsets"] == sorted(row["split_offsets"])
    assert len(row["split_offsets"]) == len(starts)
    with duckdb.connect() as db:
        query = f"SELECT count(*), min(id), max(id) FROM '{path}'"
        assert db.execute(query).fetchall() == [(30, 0, 29)]
    parquet.close()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("ALTER TABLE {t} ADD COLUMN extra INT", "is not in the file"),
        ("ALTER TABLE {t} DROP COLUMN kind", "is not in the current schema"),
        ("ALTER TABLE {t} ALTER COLUMN small TYPE BIGINT", "is not stored as long"),
        (
            "ALTER TABLE {t} SET TBLPROPERTIES ('write.parquet.compression-codec' = 'gzip')",
            "the table wants gzip",
        ),
        (
            "ALTER TABLE {t} SET TBLPROPERTIES "
            "('write.parquet.bloom-filter-enabled.column.id' = 'true')",
            "the table wants bloom filters",
        ),
    ],
)
def test_what_footers_refuse_is_rewritten_and_is_said(lake, statement, reason):
    table = lake.create("id BIGINT, kind STRING, small INT")
    lake.fill(table, "id", "'x' AS kind", "k AS small")
    lake.sql(statement.format(t=table))
    before = lake.rows(table)

    outcome = lake.compact(table, policy=COPY)

    assert outcome.status is Status.SUCCEEDED
    # Only Iceberg's own writer makes bloom filters.
    by = "spark" if "bloom" in reason else "rewrite"
    assert outcome.engines == {**dict.fromkeys(map(str, Engine), 0), by: 1}
    assert reason in outcome.reason
    assert lake.rows(table) == before


def test_a_renamed_column_is_still_found(lake):
    table = lake.create()
    lake.fill(table)
    lake.sql(f"ALTER TABLE {table} RENAME COLUMN kind TO sort")
    before = lake.rows(table)

    outcome = lake.compact(table, policy=COPY)

    assert outcome.engines["copy"] == 1
    assert lake.rows(table) == before


@pytest.mark.parametrize(("version", "engine"), [(1, "copy"), (2, "copy"), (3, "rewrite")])
def test_format_versions(lake, version, engine):
    table = lake.create(version=version)
    lake.fill(table)
    before = lake.rows(table)

    outcome = lake.compact(table, policy=COPY)

    assert (outcome.status, outcome.engines[engine]) == (Status.SUCCEEDED, 1)
    assert lake.rows(table) == before


@pytest.mark.conformance(
    "object storage paths and a data path",
    "paths by hash and a data path elsewhere",
    engines=("copy",),
)
def test_object_storage_paths_and_a_data_path_elsewhere(lake, tmp_path):
    table = lake.create(
        by="kind",
        properties={
            "write.object-storage.enabled": "true",
            "write.data.path": (tmp_path / "elsewhere").as_uri(),
        },
    )
    lake.fill(table)
    before = lake.rows(table)

    outcome = lake.compact(table, policy=COPY)

    assert outcome.engines["copy"] == 2
    assert all(str(tmp_path / "elsewhere") in path for path in lake.paths(table))
    assert lake.rows(table) == before


def during_the_copy(lake, action):
    """Let somebody else write after the files were spliced and before they are committed."""
    engine = lake.app.spark
    run_tasks = engine.run_tasks

    def hooked(*arguments):
        reports = run_tasks(*arguments)
        engine.run_tasks = run_tasks
        action()
        return reports

    engine.run_tasks = hooked


def test_a_concurrent_append_is_kept(lake):
    table = lake.create()
    lake.fill(table)
    during_the_copy(lake, lambda: lake.fill(table, files=1, rows=5, start=100))

    outcome = lake.compact(table, policy=COPY)

    assert (outcome.status, outcome.engines["copy"]) == (Status.SUCCEEDED, 1)
    assert sum(lake.rows(table).values()) == 35


def test_a_file_that_is_overwritten_meanwhile_takes_its_group_out_and_the_other_commits(lake):
    table = lake.create(by="kind", properties={"write.delete.mode": "copy-on-write"})
    lake.fill(table)
    before = lake.rows(table)
    plan = lake.plan(table, policy=COPY)
    during_the_copy(lake, lambda: lake.sql(f"DELETE FROM {table} WHERE id = 3"))

    outcome = lake.app.maintenance.apply(plan)

    assert (outcome.status, outcome.conflicts, outcome.engines["copy"]) == (Status.SUCCEEDED, 1, 1)
    left = lake.rows(table)
    assert sum((before - left).values()) == 1
    assert all("id=3," in row for row in before - left)
    assert len(lake.app.store.uncommitted_files(table)) == 1


def test_an_equality_delete_during_the_copy_is_not_lost(lake):
    table = lake.create("id BIGINT")
    lake.fill(table, "id")
    during_the_copy(lake, lambda: lake.delete_equal(table, "id", 3))

    lake.compact(table, policy=COPY)

    assert "Row(id=3)" not in lake.rows(table)
    assert sum(lake.rows(table).values()) == 29


def test_a_damaged_source_stops_its_group_and_nothing_is_lost(lake):
    table = lake.create()
    lake.fill(table)
    victim = path_of(sorted(lake.paths(table))[0])
    with open(victim, "r+b") as file:
        file.seek(-20, 2)
        file.write(b"\xff" * 8)
    head = lake.head(table).snapshot_id

    outcome = lake.compact(table, policy=COPY)

    assert outcome.status is Status.FAILED
    assert lake.head(table).snapshot_id == head


def test_a_small_row_group_is_rewritten_by_the_plan(lake):
    table = lake.create()
    lake.fill(table)

    (group,) = lake.plan(table).groups

    assert str(group.engine) == "rewrite"
    assert "too small to keep" in group.engine_reason


@pytest.mark.conformance("sort order id and split offsets", engines=("copy",))
def test_a_sorted_table_is_copied_with_the_order_of_its_row_groups(lake):
    table = lake.create()
    lake.sql(f"ALTER TABLE {table} WRITE LOCALLY ORDERED BY id DESC")
    lake.fill(table)
    before = lake.rows(table)
    plan = lake.plan(table, policy=COPY)

    outcome = lake.app.maintenance.apply(plan)

    assert (outcome.status, outcome.engines["copy"]) == (Status.SUCCEEDED, 1)
    assert "each keeps its order" in plan.groups[0].engine_reason
    assert lake.rows(table) == before
    (row,) = lake.sql(f"SELECT file_path, sort_order_id FROM {table}.files").collect()
    assert row["sort_order_id"] == 0
    with pq.ParquetFile(path_of(row["file_path"])) as parquet:
        groups = [parquet.read_row_group(n)["id"].to_pylist() for n in range(3)]
    assert all(ids == sorted(ids, reverse=True) for ids in groups)
    assert lake.plan(table, policy=COPY).is_empty
    assert lake.compact(table, Strategy.SORT, policy=COPY).engines["spark"] == 1
    assert lake.rows(table) == before


def test_what_an_engine_did_is_measured(lake):
    table = lake.create()
    lake.fill(table)
    size = sum(file.size_bytes for file in lake.facts(table).data_files)

    (use,) = lake.compact(table, policy=COPY).engine_use

    assert (use.engine, use.files, use.bytes) == ("copy", 3, size)
    assert use.seconds > 0
