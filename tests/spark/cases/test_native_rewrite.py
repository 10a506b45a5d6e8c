"""Tables cured by the engine `rewrite`: the same rows, row ids, schema and statistics."""

from __future__ import annotations

import json
import re

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.facts import ENGINE_PROPERTY, PROOF_PROPERTY
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, RewriteMode

pytestmark = pytest.mark.promise(1, 2)

MERGE_ON_READ = {
    f"write.{operation}.mode": "merge-on-read" for operation in ("delete", "update", "merge")
}
COLUMNS = (
    "id BIGINT, kind STRING, small INT, price DECIMAL(12, 2), at TIMESTAMP, day DATE, "
    "x DOUBLE, ok BOOLEAN, raw BINARY, inner STRUCT<a: INT, b: STRING>, tags ARRAY<STRING>, "
    "named MAP<STRING, BIGINT>"
)
VALUES = (
    "id",
    "concat('k', k) kind",
    "if(id % 7 = 0, null, cast(id AS int)) small",
    "cast(id / 3 AS DECIMAL(12, 2)) price",
    "timestamp_seconds(id * 86400) at",
    "date_add(date'1960-01-01', cast(id AS int)) day",
    "if(id % 5 = 0, double('NaN'), -id / 9) x",
    "k = 1 ok",
    "encode(concat('r', id), 'utf-8') raw",
    "if(id % 4 = 0, null, named_struct('a', k, 'b', concat('b', id))) inner",
    "if(id % 3 = 0, array(), array('t', null, concat('t', id))) tags",
    "map('n', id) named",
)


#: What manifests say of a file, besides its name and sizes.
MEASURED = (
    "record_count, value_counts, null_value_counts, nan_value_counts, lower_bounds, upper_bounds, "
    "sort_order_id, spec_id, size(split_offsets) AS row_groups"
)


def cured(lake, table, *, by="rewrite"):
    """Compact, and see that it was done by the engine that the test is about."""
    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert lake.head(table).summary[ENGINE_PROPERTY].startswith(f"{by}="), outcome.reason
    assert outcome.proof.level == "rows"
    return outcome


def by_iceberg(lake, table):
    """The same by Iceberg's own reader and writer."""
    maintenance = lake.app.maintenance
    request = RewriteDataFilesArguments(engine=RewriteMode.SPARK)
    policy = maintenance.effective(table).compaction
    outcome = maintenance.apply(maintenance.plan(table, request, policy=policy))
    assert outcome.status is Status.SUCCEEDED, outcome.reason


def measured(lake, table):
    found = lake.sql(f"SELECT {MEASURED} FROM {table}.data_files").collect()
    return sorted(repr(row.asDict(recursive=True)) for row in found)


def fields_of(lake, table):
    """The schema of each file with ids and physical types, as its footer has it.

    A column that is required in all sources stays so in ours, whatever the table says.
    """
    found = []
    for path in lake.paths(table):
        schema = pq.ParquetFile(path.removeprefix("file:")).schema
        found.append(str(schema).replace("required", "optional").split("\n")[2:])
    return sorted(found)


def both(lake, make, version, columns=COLUMNS, **options):
    """Two tables of one history: one is cured by us, the other by Iceberg."""
    ours = lake.create(columns, name="ours", version=version, **options)
    theirs = lake.create(columns, name="theirs", version=version, **options)
    for table in (ours, theirs):
        make(table)
    return ours, theirs


def check_twins(lake, ours, theirs, version, *, same_fields=True):
    look = lake.lineage if version == 3 else lake.rows
    before, schema = look(ours), lake.session.table(str(ours)).schema
    assert before == look(theirs)

    outcome = cured(lake, ours)
    by_iceberg(lake, theirs)

    assert look(ours) == before
    assert lake.session.table(str(ours)).schema == schema
    assert measured(lake, ours) == measured(lake, theirs)
    if same_fields:
        assert fields_of(lake, ours) == fields_of(lake, theirs)
    assert duckdb_rows(lake, ours) == sum(before.values())
    return outcome


def duckdb_rows(lake, table):
    """How many rows another engine decodes, of all columns."""
    paths = [path.removeprefix("file:") for path in lake.paths(table)]
    return len(duckdb.sql("FROM read_parquet($1)", params=[paths]).fetchall())


@pytest.mark.conformance("an unpartitioned table", engines=("rewrite",))
@pytest.mark.parametrize("version", [1, 2, 3])
def test_tiny_files_become_one_as_iceberg_would_have_written_it(lake, version):
    ours, theirs = both(lake, lambda t: lake.fill(t, *VALUES, files=4, rows=100), version)
    size = sum(file.size_bytes for file in lake.facts(ours).data_files)

    outcome = check_twins(lake, ours, theirs, version)

    assert outcome.reason == "4 files became 1."
    # Plans know the size of what they will read, and nothing of what becomes of it.
    assert [(use.engine, use.files, use.bytes) for use in outcome.engine_use] == [
        ("rewrite", 4, size)
    ]
    assert lake.plan(ours).is_empty


CHANGES = {
    "add": ["ADD COLUMN extra STRING"],
    "add nested": ["ADD COLUMN inner.c STRING"],
    "drop": ["DROP COLUMN small"],
    "drop and add again": ["DROP COLUMN small", "ADD COLUMN small INT"],
    "rename": ["RENAME COLUMN small TO little", "RENAME COLUMN inner.a TO first"],
    "swap": ["RENAME COLUMN kind TO old", "ADD COLUMN kind STRING"],
    "reorder": ["ALTER COLUMN inner FIRST", "ALTER COLUMN inner.b FIRST"],
    "widen": [
        "ALTER COLUMN small TYPE BIGINT",
        "ALTER COLUMN inner.a TYPE BIGINT",
        "ALTER COLUMN price TYPE DECIMAL(20, 2)",
    ],
}


@pytest.mark.conformance(
    "renamed, reordered, dropped and added again, widened, defaults", engines=("rewrite",)
)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("change", CHANGES)
def test_old_files_get_the_current_schema(lake, change, version):
    def make(table):
        lake.fill(table, *VALUES, files=2, rows=40)
        for alteration in CHANGES[change]:
            lake.sql(f"ALTER TABLE {table} {alteration}")

    ours, theirs = both(lake, make, version)

    check_twins(lake, ours, theirs, version)


@pytest.mark.conformance(
    "renamed, reordered, dropped and added again, widened, defaults", engines=("rewrite",)
)
def test_initial_defaults_are_written_out(lake):
    table = lake.create(version=3)
    lake.fill(table)
    update = lake.java(table).updateSchema()
    java, literal = lake.session._jvm.org.apache.iceberg, None
    literal = java.expressions.Expressions.lit("was not there")
    update.addColumn("extra", java.types.Types.StringType.get(), literal).commit()
    before = lake.lineage(table)
    assert "was not there" in next(iter(before))

    cured(lake, table)

    assert lake.lineage(table) == before


@pytest.mark.conformance(
    "position deletes",
    "deletion vectors",
    "removing a data file removes its vector",
    engines=("rewrite",),
)
@pytest.mark.parametrize("version", [2, 3])
def test_rows_deleted_by_position_stay_deleted(lake, version):
    def make(table):
        lake.fill(table, *VALUES, files=3, rows=90)
        lake.sql(f"DELETE FROM {table} WHERE id % 10 = 3")
        lake.sql(f"DELETE FROM {table} WHERE id BETWEEN 20 AND 25")
        lake.fill(table, *VALUES, files=1, rows=10, start=500)

    ours, theirs = both(lake, make, version, properties=MERGE_ON_READ)
    assert lake.facts(ours).delete_files

    check_twins(lake, ours, theirs, version)

    if version == 3:
        # A vector goes with its file.
        assert not lake.facts(ours).delete_files


@pytest.mark.conformance("row ids stay, unpartitioned", engines=("rewrite",))
@pytest.mark.parametrize("version", [2, 3])
def test_updated_rows_keep_their_ids(lake, version):
    def make(table):
        lake.fill(table, *VALUES, files=2, rows=60)
        lake.sql(f"UPDATE {table} SET kind = 'new' WHERE id % 11 = 0")
        lake.sql(f"UPDATE {table} SET small = 7 WHERE id % 9 = 0")

    ours, theirs = both(lake, make, version, properties=MERGE_ON_READ)

    check_twins(lake, ours, theirs, version)
    # Once more: now the sources store what the first rewrite wrote.
    lake.fill(ours, *VALUES, files=2, rows=20, start=900)
    look = lake.lineage if version == 3 else lake.rows
    before = look(ours)
    cured(lake, ours)
    assert look(ours) == before


@pytest.mark.conformance("equality deletes", engines=("rewrite",))
@pytest.mark.parametrize("version", [2, 3])
def test_rows_deleted_by_equal_values_stay_deleted_and_newer_ones_stay(lake, version):
    def make(table):
        lake.fill(table, *VALUES, files=3, rows=90)
        lake.delete_equal(table, "id", 3, 40, 41, 77, 5000)
        lake.fill(table, *VALUES, files=1, rows=50)
        lake.delete_equal(table, "id", 7)

    ours, theirs = both(lake, make, version)

    check_twins(lake, ours, theirs, version)

    assert sum(lake.rows(ours, "id").values()) == 90 + 50 - 4 - 2


@pytest.mark.conformance("a partitioned table", engines=("rewrite",))
@pytest.mark.parametrize("by", ["kind", "bucket(3, id)", "truncate(2, kind)", "days(at)", "small"])
def test_partitions_stay_what_they_were(lake, by):
    def make(table):
        values = [v if not v.startswith("timestamp") else "date'2020-01-01' at" for v in VALUES]
        values[2] = "if(k = 1, null, k) small"
        lake.fill(table, *values, files=2, rows=40)
        lake.fill(table, *values, files=2, rows=40, start=40)

    ours, theirs = both(lake, make, 2, by=by)

    check_twins(lake, ours, theirs, 2)


@pytest.mark.conformance("row ids of an upgraded table", engines=("rewrite",), versions=(2, 3))
def test_an_upgraded_table_gets_row_ids_as_icebergs_own_rewrite_gives_them(lake):
    def make(table):
        lake.fill(table, *VALUES, files=2, rows=40)
        lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
        lake.fill(table, *VALUES, files=2, rows=40, start=40)
        lake.sql(f"DELETE FROM {table} WHERE id % 10 = 3")

    ours, theirs = both(lake, make, 2, properties=MERGE_ON_READ)

    check_twins(lake, ours, theirs, 3)


@pytest.mark.conformance("files without ids under a name mapping", engines=("rewrite",))
def test_files_without_ids_are_read_by_the_name_mapping(lake, tmp_path):
    table = lake.create("id BIGINT, kind STRING, inner STRUCT<a: INT, b: STRING>")
    name = (*table.namespace, table.name)
    loaded = lake.app.catalogs.writable("lake").load_table(name)
    for number in range(3):
        rows = [
            {"id": n, "kind": f"k{n}", "inner": {"a": n, "b": f"b{n}"}}
            for n in range(number * 10, number * 10 + 10)
        ]
        schema = pa.schema(
            [
                ("id", pa.int64()),
                ("kind", pa.string()),
                ("inner", pa.struct([("a", pa.int32()), ("b", pa.string())])),
            ]
        )
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
        loaded.add_files([path.as_uri()])
    lake.sql(f"ALTER TABLE {table} RENAME COLUMN kind TO sort")
    lake.sql(f"REFRESH TABLE {table}")
    before = lake.rows(table)
    assert sum(before.values()) == 30

    cured(lake, table)

    assert lake.rows(table) == before
    assert lake.facts(table).data_files[0].record_count == 30


@pytest.mark.conformance("every row is deleted", engines=("rewrite",))
def test_a_table_without_rows_left_goes_to_iceberg(lake):
    table = lake.create(properties=MERGE_ON_READ)
    lake.fill(table, files=2, rows=10)
    lake.delete_equal(table, "id", *range(10))

    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED
    assert "Every row of the group is deleted" in outcome.reason
    assert not lake.rows(table)


def test_large_row_groups_are_copied_beside_encoded_row_ids(lake):
    def make(table):
        lake.fill(table, "id", "sha2(string(id), 512) noise", "id / 7 x", files=3, rows=3000)

    ours, theirs = both(lake, make, 3, "id BIGINT, noise STRING, x DOUBLE")
    before = lake.lineage(ours)

    outcome = lake.compact(ours, policy=CompactionPolicy(min_row_group_bytes=1024))
    by_iceberg(lake, theirs)

    proof = json.loads(lake.head(ours).summary[PROOF_PROPERTY])
    assert outcome.reason == "3 files became 1."
    assert proof["bytes_by_kind"]["copied"] > 10 * proof["bytes_by_kind"]["encoded"]
    assert lake.lineage(ours) == before
    row_groups = re.compile("'row_groups': [0-9]+")
    found, expected = (row_groups.sub("", measured(lake, t)[0]) for t in (ours, theirs))
    assert found == expected


@pytest.mark.conformance("a source is there twice", engines=("rewrite",))
def test_a_file_that_the_table_lists_twice_is_left_alone_with_a_reason(lake, tmp_path):
    table = lake.create("id BIGINT")
    loaded = lake.app.catalogs.writable("lake").load_table((*table.namespace, table.name))
    for number in range(2):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"id": range(10)}), path)
        loaded.add_files([path.as_uri()])
    loaded.add_files([path.as_uri()], check_duplicate_files=False)

    outcome = lake.compact(table)

    assert outcome.status is Status.NOTHING_TO_DO
    assert f"lists {path.as_uri()} more than once" in outcome.reason
    assert sum(lake.rows(table).values()) == 30
