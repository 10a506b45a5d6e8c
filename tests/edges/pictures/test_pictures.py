"""Pictures show what facts and outcomes say, and run nothing of what names in a table say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from neve.model.facts import (
    DeleteFileFacts,
    DeleteKind,
    PartitionField,
    RefFacts,
    SnapshotFacts,
    SpecFacts,
)
from neve.model.groups import Cost, Interval
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.pictures import costs, delete_debt, file_sizes, partitions, snapshot_timeline, timings
from neve.pictures.files import counts_by_size, size_steps
from neve.testing.facts import MB, data_file, table_facts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def facts():
    return table_facts([data_file("a", size_bytes=MB), data_file("b", size_bytes=128 * MB)])


def test_every_file_is_in_one_bar(facts):
    files = [data_file(str(n), size_bytes=n * MB) for n in (0, 1, 2, 100, 128, 200, 900)]
    steps = size_steps(128 * MB)
    assert steps == sorted(set(steps))
    counted = counts_by_size(files, steps)
    assert sum(counted) == len(files)
    assert counted[-1] == 1


def test_sizes_before_and_now_stand_beside_the_target(facts):
    before = replace(facts, data_files=tuple(data_file(str(n), size_bytes=MB) for n in range(9)))
    made = file_sizes(facts, target_bytes=128 * MB, before=before)
    assert [(bar.name, sum(bar.y)) for bar in made.data] == [("before", 9), ("now", 2)]
    (band,) = made.layout.shapes
    labels = list(made.data[1].x)
    assert [labels[i] for i in range(int(band.x0 + 0.5), int(band.x1 + 0.5))] == [
        "up to 128.0 MB",
        "up to 230.4 MB",
    ]


def test_partitions_are_areas_of_their_bytes_and_names_are_no_markup():
    spec = SpecFacts(0, (PartitionField("kind", "identity", "kind", "string"),))
    files = [
        data_file("a", partition=(0, (EVIL,)), size_bytes=MB),
        data_file("b", partition=(0, (EVIL,)), size_bytes=300 * MB),
        data_file("c", partition=(0, ("click",)), size_bytes=MB),
    ]
    made = partitions(replace(table_facts(files), specs={0: spec}), small_bytes=96 * MB)
    (map_,) = made.data
    assert list(map_.values) == [301 * MB, MB]
    assert list(map_.marker.colors) == [0.5, 1.0]
    assert not any("<" in label for label in map_.labels)


def test_deletes_are_counted_by_kind(facts):
    deletes = tuple(
        DeleteFileFacts(f"d{n}", kind, (0, ()), 10, 5, 1)
        for n, kind in enumerate((DeleteKind.POSITION, DeleteKind.POSITION, DeleteKind.EQUALITY))
    )
    (bar,) = delete_debt(replace(facts, delete_files=deletes)).data
    assert dict(zip(bar.x, bar.y, strict=True)) == {"equality": 1, "position": 2}
    assert list(bar.text) == ["5 records", "10 records"]


def test_snapshots_are_told_apart_by_who_made_them(facts):
    ours = {"neve.job-id": "j1", "total-data-files": "1"}
    snapshots = (
        SnapshotFacts(1, None, NOW, "append", {"total-data-files": "many"}),
        SnapshotFacts(2, 1, NOW + timedelta(hours=1), "replace", ours),
    )
    refs = (RefFacts("main", 2, "branch"), RefFacts(EVIL, 2, "tag"))
    made = snapshot_timeline(replace(facts, snapshots=snapshots, refs=refs))
    writers, neve = made.data
    assert (list(writers.y), list(neve.y)) == ([None], [1])
    assert "job j1" in neve.text[0]
    assert EVIL not in made.to_json()


def test_predictions_stand_beside_what_was_taken():
    cost = Cost(0, 0, 0, 0, 1.0, Interval(5.0, 10.0, 30.0), Interval(0.0, 0.0, 0.0))
    done = Outcome(
        "j", TableRef("lake", ("db",), "t"), "rewrite_data_files", Status.SUCCEEDED, "", NOW,
        NOW + timedelta(seconds=12), estimated_cost=cost,
    )  # fmt: skip
    predicted, taken = costs([done, replace(done, estimated_cost=None)]).data
    assert (list(predicted.y), list(taken.y)) == ([10.0], [12.0])
    assert (predicted.error_y.array[0], predicted.error_y.arrayminus[0]) == (20.0, 5.0)


def test_queries_are_timed_before_and_after():
    before, after = timings({"count": (2.0, 0.5)}).data
    assert (list(before.y), list(after.y)) == ([2.0], [0.5])


@pytest.mark.parametrize(
    "made",
    [
        lambda facts: file_sizes(facts, target_bytes=128 * MB),
        lambda facts: partitions(facts, small_bytes=MB),
        delete_debt,
        snapshot_timeline,
        lambda facts: costs([]),
        lambda facts: timings({}),
    ],
)
def test_where_there_is_nothing_to_draw_it_says_so(made):
    (said,) = made(table_facts(snapshots=[])).layout.annotations
    assert said.text.endswith(".")
