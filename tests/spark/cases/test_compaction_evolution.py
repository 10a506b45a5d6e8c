"""Tables whose schema or partitioning has changed since their files were written."""

from __future__ import annotations

import pytest

from neve.model.outcome import Status
from neve.model.policy import Strategy

#: What happened to `id BIGINT, kind STRING, small INT, inner STRUCT<a: INT, b: INT>`.
SCHEMA_CHANGES = {
    "add": ["ADD COLUMN extra STRING"],
    "add nested": ["ADD COLUMN inner.c STRING"],
    "drop": ["DROP COLUMN small"],
    "drop and add again": ["DROP COLUMN small", "ADD COLUMN small INT"],
    "rename": ["RENAME COLUMN small TO little", "RENAME COLUMN inner.a TO first"],
    "swap": [
        "RENAME COLUMN kind TO old",
        "ADD COLUMN kind STRING",
    ],
    "reorder": ["ALTER COLUMN inner FIRST", "ALTER COLUMN inner.b FIRST"],
    "widen": ["ALTER COLUMN small TYPE BIGINT", "ALTER COLUMN inner.a TYPE BIGINT"],
}
COLUMNS = "id BIGINT, kind STRING, small INT, inner STRUCT<a: INT, b: INT>"
VALUES = ("id", "concat('k', k) kind", "k small", "named_struct('a', k, 'b', -k) inner")


@pytest.mark.parametrize("change", SCHEMA_CHANGES)
def test_old_files_are_rewritten_in_the_current_schema(lake, change):
    table = lake.create(COLUMNS)
    lake.fill(table, *VALUES)
    old = lake.paths(table)
    for alteration in SCHEMA_CHANGES[change]:
        lake.sql(f"ALTER TABLE {table} {alteration}")
    assert lake.paths(table) == old
    before, schema = lake.rows(table), lake.session.table(str(table)).schema

    outcome = lake.compact(table)

    assert outcome.reason == "3 files became 1."
    assert lake.rows(table) == before
    assert lake.session.table(str(table)).schema == schema


def test_files_of_two_schemas_are_merged(lake):
    table = lake.create("id INT, kind STRING")
    lake.fill(table, "cast(id AS int) id", "concat('k', k) kind", files=2)
    lake.sql(f"ALTER TABLE {table} ALTER COLUMN id TYPE BIGINT")
    lake.sql(f"ALTER TABLE {table} ADD COLUMN extra DOUBLE FIRST")
    lake.fill(table, "id / 3 AS extra", "id + 5000000000 AS id", "'new' AS kind", files=2)
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert outcome.reason == "4 files became 1."
    assert lake.rows(table) == before


def test_initial_defaults_are_kept(lake):
    table = lake.create(version=3)
    lake.fill(table)
    schema_update = lake.java(table).updateSchema()
    iceberg = lake.session._jvm.org.apache.iceberg
    literal = iceberg.expressions.Expressions.lit("unknown")
    of = iceberg.types.Types.StringType.get()
    schema_update.addColumn("origin", of, literal).commit()
    before = lake.rows(table)

    outcome = lake.compact(table)

    assert all("origin='unknown'" in row for row in before)
    assert outcome.status is Status.SUCCEEDED
    assert lake.rows(table) == before


#: Partitioning before, the change, and partitions of the thirty rows afterwards.
SPEC_CHANGES = {
    "partition by": ("", ["ADD PARTITION FIELD kind"], 2),
    "unpartition": ("kind", ["DROP PARTITION FIELD kind"], 1),
    "replace": ("kind", ["REPLACE PARTITION FIELD kind WITH bucket(2, id)"], 2),
    "refine": ("kind", ["ADD PARTITION FIELD truncate(10, id)"], 6),
}


@pytest.mark.conformance("files of an old spec move to the current one")
@pytest.mark.parametrize(
    ("change", "version"),
    [*((change, 2) for change in SPEC_CHANGES), ("refine", 1), ("replace", 3)],
)
def test_files_of_an_old_spec_move_to_the_current_one(lake, change, version):
    by, alterations, partitions = SPEC_CHANGES[change]
    table = lake.create(by=by, version=version)
    lake.fill(table)
    for alteration in alterations:
        lake.sql(f"ALTER TABLE {table} {alteration}")
    before = lake.rows(table)

    outcome = lake.compact(table)

    after = lake.facts(table)
    assert outcome.status is Status.SUCCEEDED
    assert {file.partition[0] for file in after.data_files} == {after.current_spec_id}
    assert len({file.partition for file in after.data_files}) == partitions
    assert len(after.data_files) == partitions
    assert lake.rows(table) == before
    assert lake.plan(table).is_empty


@pytest.mark.conformance("files of an old spec move to the current one")
def test_files_of_two_specs_converge(lake):
    table = lake.create()
    lake.fill(table)
    lake.sql(f"ALTER TABLE {table} ADD PARTITION FIELD kind")
    lake.fill(table, start=30)
    before = lake.rows(table)

    outcomes = [lake.compact(table) for _ in range(3)]

    assert outcomes[0].status is Status.SUCCEEDED
    assert outcomes[-1].status is Status.NOTHING_TO_DO
    assert len(lake.paths(table)) <= 4
    assert lake.rows(table) == before


def test_a_partition_column_can_be_dropped(lake):
    table = lake.create("id BIGINT, kind STRING, day STRING", by="kind")
    lake.fill(table, "id", "concat('k', k) kind", "'mon' AS day")
    lake.sql(f"ALTER TABLE {table} DROP PARTITION FIELD kind")
    lake.sql(f"ALTER TABLE {table} ADD PARTITION FIELD day")
    lake.sql(f"ALTER TABLE {table} DROP COLUMN kind")
    before = lake.rows(table)

    outcome = lake.compact(table, Strategy.SMALL_FILES)

    assert outcome.status is Status.SUCCEEDED
    assert lake.rows(table) == before
