"""What a change of metadata leaves as it is, and what it changes besides what was asked for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO

from neve.catalog.metadata_json import changed, read_json, to_text
from neve.model.errors import ExecutionError
from neve.model.expiry import TagToSet
from neve.model.metadata_change import MetadataChange
from neve.model.table import TableRef

NOW_MS = 10_000
LOCATION = "file:///t/metadata/00004-x.metadata.json"
#: Keys that a change may touch; everything else must survive it.
TOUCHED = {
    "refs",
    "current-snapshot-id",
    "snapshot-log",
    "snapshots",
    "statistics",
    "partition-statistics",
    "metadata-log",
    "last-updated-ms",
}


def base(**more):
    """Metadata of version 3 with four snapshots, and with keys that nobody knows yet."""
    snapshots = [
        {
            "snapshot-id": number,
            "parent-snapshot-id": number - 1 or None,
            "timestamp-ms": 1000 * number,
            "first-row-id": 10 * number,
            "added-rows": 10,
            "key-id": f"k{number}",
            "unknown": {"of": number},
        }
        for number in range(1, 5)
    ]
    return {
        "format-version": 3,
        "table-uuid": "u",
        "next-row-id": 51,
        "encryption-keys": [{"key-id": "k1", "encrypted-key-metadata": "eA=="}],
        "schemas": [{"fields": [{"id": 1, "initial-default": 1.5, "write-default": "x"}]}],
        "properties": {"a": "1"},
        "unknown": [1, 2.25, None, {"deep": "\u00e9\ud83d\ude00"}],
        "current-snapshot-id": 4,
        "last-updated-ms": 4000,
        "snapshots": snapshots,
        "snapshot-log": [{"timestamp-ms": 1000 * n, "snapshot-id": n} for n in range(1, 5)],
        "metadata-log": [{"timestamp-ms": 3000, "metadata-file": "file:///old"}],
        "refs": {"main": {"snapshot-id": 4, "type": "branch", "min-snapshots-to-keep": 7}},
        "statistics": [{"snapshot-id": n, "statistics-path": f"s{n}"} for n in (1, 4)],
        "partition-statistics": [{"snapshot-id": n, "statistics-path": f"p{n}"} for n in (2, 4)],
        **more,
    }


def change(**what):
    table = TableRef("lake", ("db",), "events")
    return MetadataChange(table=table, table_uuid="u", purpose="Testing", head=4, **what)


def after(metadata, **what):
    return changed(metadata, LOCATION, change(**what), NOW_MS)


def snapshot_log(metadata):
    return [entry["snapshot-id"] for entry in metadata["snapshot-log"]]


@pytest.mark.parametrize(
    "what",
    [
        {"set_main": 2},
        {"tags": (TagToSet("t", 1, 5),)},
        {"drop_refs": ("t",)},
        {"remove_snapshots": (1, 2)},
    ],
)
def test_what_nobody_asked_to_change_stays(what):
    before = base()

    result = after(before, **what)

    assert {k: v for k, v in result.items() if k not in TOUCHED} == {
        k: v for k, v in before.items() if k not in TOUCHED
    }
    assert all(snapshot in before["snapshots"] for snapshot in result["snapshots"])
    assert result["last-updated-ms"] == NOW_MS
    assert result["metadata-log"] == [
        *before["metadata-log"],
        {"timestamp-ms": 4000, "metadata-file": LOCATION},
    ]
    # What was read is not changed in place: it may have to be compared.
    assert before == base()


def test_main_goes_back_and_keeps_its_own_settings():
    result = after(base(), set_main=2)

    assert result["refs"] == {
        "main": {"snapshot-id": 2, "type": "branch", "min-snapshots-to-keep": 7}
    }
    assert (result["current-snapshot-id"], snapshot_log(result)) == (2, [1, 2, 3, 4, 2])
    assert result["snapshot-log"][-1]["timestamp-ms"] == NOW_MS
    assert result["snapshots"] == base()["snapshots"]


def test_refs_are_set_and_dropped():
    refs = {**base()["refs"], "old": {"snapshot-id": 1, "type": "tag"}}

    result = after(base(refs=refs), tags=(TagToSet("t", 3, 5),), drop_refs=("old",))

    assert result["refs"] == {
        **base()["refs"],
        "t": {"snapshot-id": 3, "type": "tag", "max-ref-age-ms": 5},
    }
    assert snapshot_log(result) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("gone", "left"), [((1,), [2, 3, 4]), ((2,), [3, 4]), ((1, 3), [4]), ((1, 2, 3), [4])]
)
def test_history_before_a_gap_goes_with_it(gone, left):
    result = after(base(), remove_snapshots=gone)

    assert snapshot_log(result) == left
    assert [s["snapshot-id"] for s in result["snapshots"]] == [
        number for number in (1, 2, 3, 4) if number not in gone
    ]


def test_statistics_go_with_their_snapshot():
    result = after(base(), remove_snapshots=(1, 2))

    assert [file["snapshot-id"] for file in result["statistics"]] == [4]
    assert [file["snapshot-id"] for file in result["partition-statistics"]] == [4]


@pytest.mark.parametrize("limit", ["1", "2", "0", "-3"])
def test_the_metadata_log_has_the_length_that_the_table_asks_for(limit):
    properties = {"write.metadata.previous-versions-max": limit}

    result = after(base(properties=properties), set_main=2)

    assert len(result["metadata-log"]) == max(1, int(limit))
    assert result["metadata-log"][-1]["metadata-file"] == LOCATION


@pytest.mark.parametrize("key", ["last-updated-ms", "snapshot-log", "metadata-log"])
def test_a_clock_that_is_behind_does_not_go_back_in_time(key):
    """Iceberg refuses to read metadata that is older than its own history."""
    late = {
        "last-updated-ms": 99_000,
        "snapshot-log": [{"timestamp-ms": 99_000, "snapshot-id": 4}],
        "metadata-log": [{"timestamp-ms": 99_000, "metadata-file": "file:///old"}],
    }

    result = after(base(**{key: late[key]}), set_main=2)

    assert result["last-updated-ms"] == result["snapshot-log"][-1]["timestamp-ms"] == 99_000


def test_metadata_from_before_refs_gets_main():
    old = base()
    del old["refs"], old["statistics"], old["partition-statistics"], old["metadata-log"]

    result = after(old, tags=(TagToSet("t", 1, 5),))

    assert result["refs"]["main"] == {"snapshot-id": 4, "type": "branch"}
    assert "statistics" not in result
    removed = after(old, remove_snapshots=(1,))
    assert removed["refs"] == {"main": {"snapshot-id": 4, "type": "branch"}}


@pytest.fixture
def read(tmp_path):
    def go(text):
        path = tmp_path / "x.metadata.json"
        path.write_text(text)
        return read_json(PyArrowFileIO(), path.as_uri())

    return go


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        '{"a": 0.12345678901234567890123}',
        '{"a": 1e400}',
        '{"a": NaN}',
    ],
)
def test_what_cannot_be_written_again_as_it_is_refuses_the_change(read, text):
    with pytest.raises(ExecutionError, match="cannot be written again as it is") as refusal:
        read(text)

    assert refusal.value.next_step


def test_large_numbers_and_strange_texts_are_read_as_they_are(read):
    text = '{"id": 9223372036854775807, "neg": -1, "f": 1.10, "t": "\\ud800 \\u0000 é"}'

    assert read(text) == json.loads(text)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_keys_of_the_future_survive(unknown):
    kept = {key: value for key, value in unknown.items() if key not in base()}

    result = after(base(**kept), set_main=2, remove_snapshots=(1,))

    written = json.loads(to_text(result))
    assert {key: written[key] for key in kept} == json.loads(json.dumps(kept))
