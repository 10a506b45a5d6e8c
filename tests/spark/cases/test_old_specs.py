"""Files of an old partition spec: Iceberg's action moves their rows, the plan says so, and rows,
partitions and counts are those of before.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from neve.model.outcome import Status
from neve.model.policy import Engine, Verify
from neve.spark.rewrite import stage

pytestmark = pytest.mark.promise(1, 2, 7)

COLUMNS = "id BIGINT, kind STRING, at TIMESTAMP"
VALUES = ("id", "if(k = 0, null, concat('kind', id % 3)) kind", "timestamp_seconds(id * 40000) at")
#: The current spec, and what it says of a row in Spark's words.
SPECS = {
    "bucket(4, id)": "lake.system.bucket(4, id)",
    "truncate(4, kind)": "lake.system.truncate(4, kind)",
    "years(at)": "lake.system.years(at)",
    "months(at)": "lake.system.months(at)",
    "days(at)": "lake.system.days(at)",
    "hours(at)": "lake.system.hours(at)",
    "kind": "kind",
}


@pytest.fixture
def lake(lake):
    return replace(lake, verify=Verify.FULL)


@pytest.mark.parametrize("by", SPECS)
def test_rows_go_to_their_partitions_and_are_proven(lake, by):
    table = lake.create(COLUMNS)
    lake.fill(table, *VALUES, files=3, rows=24)
    lake.sql(f"ALTER TABLE {table} ADD PARTITION FIELD {by}")
    rows = lake.rows(table)

    plan = lake.plan(table)
    outcome = lake.app.maintenance.apply(plan)

    (group,) = plan.groups
    assert group.engine is Engine.SPARK
    assert "old partition spec, and Iceberg moves rows to the current one" in group.engine_reason
    assert (outcome.status, outcome.proof.level) == (Status.SUCCEEDED, "rows"), outcome.reason
    assert lake.rows(table) == rows
    facts = lake.facts(table)
    assert {file.partition[0] for file in facts.data_files} == {facts.current_spec_id}
    found = lake.sql(f"SELECT _partition.* FROM {table}").collect()
    wanted = lake.sql(f"SELECT {SPECS[by]} FROM {table}").collect()
    assert sorted(str(row[-1]) for row in found) == sorted(str(row[0]) for row in wanted)


def test_a_dropped_field_makes_a_table_without_partitions_of_its_rows(lake):
    table = lake.create(COLUMNS, by="kind", version=1)
    lake.fill(table, *VALUES, files=2, rows=24)
    lake.sql(f"ALTER TABLE {table} DROP PARTITION FIELD kind")
    rows = lake.rows(table)

    outcome = lake.compact(table)

    assert (outcome.status, outcome.proof.level) == (Status.SUCCEEDED, "rows"), outcome.reason
    assert lake.rows(table) == rows


def test_a_row_that_changes_on_its_way_to_another_partition_is_found_out(lake, monkeypatch):
    table = lake.create()
    lake.fill(table, files=3)
    lake.sql(f"ALTER TABLE {table} ADD PARTITION FIELD kind")
    before, right = lake.facts(table), stage._Stager._rows

    def exchanged(*all_):
        frame = right(*all_)
        return frame.filter("id <> 7").union(frame.filter("id = 8"))

    monkeypatch.setattr(stage._Stager, "_rows", exchanged)

    outcome = lake.compact(table)

    assert outcome.status is Status.FAILED
    assert lake.facts(table).snapshot_id == before.snapshot_id
