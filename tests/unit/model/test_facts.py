from __future__ import annotations

import pytest

from neve.model.facts import PartitionField, SnapshotFacts, display_value
from neve.testing.facts import NOW, partition, snapshot, table_facts


@pytest.mark.parametrize(
    ("transform", "result_type", "value", "expected"),
    [
        ("identity", "string", "a", "a"),
        ("identity", "string", None, "null"),
        ("identity", "date", 19723, "2024-01-01"),
        ("day", "date", 19723, "2024-01-01"),
        ("hour", "int", 24, "1970-01-02-00"),
        ("month", "int", -1, "1969-12"),
        ("year", "int", 54, "2024"),
        ("bucket[16]", "int", 7, "7"),
        ("identity", "boolean", True, "True"),
        ("day", "date", 10**9, "1000000000"),
    ],
)
def test_partition_values_for_people(transform, result_type, value, expected):
    assert display_value(PartitionField("p", transform, "c", result_type), value) == expected


def test_ancestry_leads_from_the_current_snapshot_to_the_oldest():
    facts = table_facts(snapshots=[snapshot(1), snapshot(9, 1), snapshot(2, 1), snapshot(3, 2)])

    assert [s.snapshot_id for s in facts.ancestry()] == [3, 2, 1]


def test_partition_names():
    facts = table_facts()

    assert facts.partition_name(partition("mon")) == "day=mon"


@pytest.mark.parametrize(
    ("text", "figure"),
    [("130000", 130_000), ("0", 0), ("", None), ("-1", None), ("many", None), ("9" * 5_000, None)],
)
def test_a_figure_of_a_summary_is_a_count_or_nothing(text, figure):
    made = SnapshotFacts(1, None, NOW, "append", {"total-records": text})

    assert (made.figure("total-records"), made.figure("added-records")) == (figure, None)
