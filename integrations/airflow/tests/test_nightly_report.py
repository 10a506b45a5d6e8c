"""The report of dags/nightly_table_compaction.py, from summaries of snapshots."""

from __future__ import annotations

import importlib.util
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

DAG = Path(__file__).parents[3] / "dags" / "nightly_table_compaction.py"
BEGUN = datetime(2025, 1, 17, 2, tzinfo=UTC)
MB = 1024 * 1024


@pytest.fixture(scope="module")
def nightly():
    spec = importlib.util.spec_from_file_location("nightly_table_compaction", DAG)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def snapshot(number, minutes, **summary):
    said = {name.replace("_", "-"): value for name, value in summary.items()}
    if said.pop("by-neve", True):
        said["neve.job-id"] = f"job-{number}"
    at = BEGUN + timedelta(minutes=minutes)
    return SimpleNamespace(
        snapshot_id=number,
        parent_snapshot_id=number - 1,
        timestamp_ms=int(at.timestamp() * 1000),
        summary=said,
    )


def compacted(number, minutes, files, became, size=8 * MB, **more):
    return snapshot(
        number,
        minutes,
        deleted_data_files=str(files),
        added_data_files=str(became),
        removed_files_size=str(files * size),
        added_files_size=str(files * size),
        **{"total_files_size": "100", **more},
    )


class Table:
    """What the report asks of a table; reading takes as long as its files are many."""

    def __init__(self, *snapshots):
        self.metadata = SimpleNamespace(snapshots=list(snapshots))
        self.read = []

    def schema(self):
        return SimpleNamespace(fields=[SimpleNamespace(name="id")])

    def snapshot_by_id(self, number):
        return next(item for item in self.metadata.snapshots if item.snapshot_id == number)

    def scan(self, snapshot_id, selected_fields):
        self.read.append((snapshot_id, selected_fields))
        return SimpleNamespace(to_arrow=lambda: None)


def test_commits_of_the_run_are_added_up_and_others_are_left_out(nightly):
    table = Table(
        compacted(1, -60, 500, 5),
        compacted(2, 1, 1000, 80),
        snapshot(3, 2, by_neve=False, added_data_files="7", deleted_data_files="3"),
        compacted(4, 3, 234, 7),
    )

    made = nightly.compaction_of(table, BEGUN)

    assert (made.files_before, made.files_after) == (1234, 87)
    assert (made.bytes_before, made.bytes_after) == (1234 * 8 * MB, 1234 * 8 * MB)
    assert set(table.read) == {(1, ("id",)), (4, ("id",))}
    lines = made.lines()
    assert lines[0] == "- Files compacted: 1,234 → 87 (93% reduction)"
    assert lines[1] == "- Avg file size: 8 MB → 113 MB"


def test_a_large_table_is_not_read_for_the_report(nightly):
    table = Table(compacted(2, 1, 6, 1, total_files_size=str(2**40)))

    assert nightly.compaction_of(table, BEGUN).lines()[2] == "- Query speedup: not measured"
    assert table.read == []


def test_a_table_without_work_says_so(nightly):
    made = nightly.compaction_of(Table(compacted(1, -1, 5, 1)), BEGUN)

    assert made.lines() == ["- Nothing to compact"]


def test_manifests_that_were_rewritten_are_no_compaction(nightly):
    made = nightly.compaction_of(Table(snapshot(2, 1, total_files_size="5")), BEGUN)

    assert made.lines() == ["- Nothing to compact"]


def test_a_slower_query_is_not_called_faster(nightly):
    made = nightly.Compaction(2, 1, 10, 10, seconds_before=1.0, seconds_after=2.0)

    assert made.lines()[2] == "- Query speedup: 0.5x (1.00 s → 2.00 s for one column)"


def test_the_report_has_both_tables(nightly):
    events = nightly.Compaction(4, 1, 4 * 1024, 4 * 1024, 1.5, 0.5)

    assert nightly.report("Nightly - 2025-01-17", events, nightly.Compaction()) == (
        "📊 Nightly - 2025-01-17\n\nEvents table:\n"
        "- Files compacted: 4 → 1 (75% reduction)\n"
        "- Avg file size: 1.0 KB → 4.0 KB\n"
        "- Query speedup: 3.0x (1.50 s → 0.50 s for one column)\n\n"
        "CDC tables:\n- Nothing to compact\n\n✅ All tables optimized"
    )
