from __future__ import annotations

import json
import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.documents import canonical_text, from_document, from_text, to_document, to_text
from neve.model.facts import DeleteKind
from neve.model.groups import PartitionValue
from neve.model.job import Job, JobState, Lease
from neve.model.outcome import CompactionStats, Outcome, PartitionProof, Proof, Status
from neve.model.table import TableRef
from neve.testing.facts import NOW, TABLE

NAMES = st.text(
    st.characters(categories=["L", "N", "P", "S"]) | st.just(" "), min_size=1, max_size=8
)


def outcome(**changes):
    values = {
        "job_id": "j1",
        "table": TABLE,
        "operation": "rollback",
        "status": Status.SUCCEEDED,
        "reason": "why",
        "started_at": NOW,
        "finished_at": NOW,
    }
    return Outcome(**{**values, **changes})


def test_a_table_is_written_as_its_name():
    lease = Lease("j1", TableRef("lake", ("a", "b"), "it's"), 3, NOW)

    assert to_document(lease) == {
        "job_id": "j1",
        "table": "lake.a.b.`it's`",
        "epoch": 3,
        "expires_at": "2026-01-15T12:00:00Z",
        "cancel_requested": False,
    }


def test_states_are_written_as_words():
    job = Job("j1", TABLE, "rollback", JobState.FAILED, 1, NOW, NOW)

    assert to_document(job)["state"] == "failed"
    assert to_document({"kind": DeleteKind.EQUALITY}) == {"kind": "equality"}


@pytest.mark.parametrize(
    "value",
    [
        outcome(),
        outcome(
            stats=CompactionStats(files_before=5, compaction_time_ms=1.5),
            proof=Proof("metadata", 3, 1, 2, "scan", (PartitionProof("day=mon", 3, 1, 2),)),
            engines={"spark": 2},
            snapshot_before=2**62,
        ),
        Job("j1", TABLE, "rollback", JobState.UNKNOWN, 1, NOW, NOW, "why", "{}"),
        Lease("j1", TABLE, 1, datetime(2026, 1, 15, 12, 0, 0, 123456, tzinfo=UTC)),
    ],
)
def test_values_come_back_as_they_were(value):
    assert from_document(type(value), to_document(value)) == value
    assert from_text(type(value), to_text(value)) == value


@given(NAMES, st.lists(NAMES, min_size=1, max_size=3), NAMES)
def test_tables_of_any_printable_name_come_back(catalog, namespace, name):
    lease = Lease("j1", TableRef(catalog, tuple(namespace), name), 1, NOW)

    assert from_text(Lease, to_text(lease)) == lease


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text())
def test_partition_values_keep_their_type(value):
    made = PartitionValue("p", "identity", "p", value)

    back = from_text(PartitionValue, to_text(made))

    assert (back, type(back.value)) == (made, type(made.value))
    assert isinstance(back.value, type(value))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_json_has_no_number_for_are_strict_json_and_come_back(value):
    text = to_text(PartitionValue("p", "identity", "p", value))

    assert '{"$float":"' in text
    json.loads(text, parse_constant=pytest.fail)
    assert repr(from_text(PartitionValue, text).value) == repr(value)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", '{"$float": "NaN"}'])
def test_texts_that_look_like_them_stay_texts(value):
    made = PartitionValue("p", "identity", "p", value)

    assert from_text(PartitionValue, to_text(made)) == made


def test_documents_of_before_are_read_with_their_bare_constants():
    text = to_text(PartitionValue("p", "identity", "p", math.nan))
    bare = text.replace('{"$float":"NaN"}', "NaN")

    assert math.isnan(from_text(PartitionValue, bare).value)


def test_equal_values_have_equal_text():
    assert to_text(outcome(engines={"b": 1, "a": 2})) == to_text(outcome(engines={"a": 2, "b": 1}))
    assert canonical_text({"b": [1, 2], "a": "é"}) == '{"a":"\\u00e9","b":[1,2]}'


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        5,
        None,
        {"job_id": "j1", "table": "lake.db.t", "epoch": "many", "expires_at": "now"},
        {"job_id": "j1", "table": "no table name;", "epoch": 1, "expires_at": "2026-01-15T12:00Z"},
        {"job_id": "j1", "table": {"catalog": "c"}, "epoch": 1, "expires_at": "2026-01-15T12:00Z"},
    ],
)
def test_a_document_that_does_not_fit_is_refused(document):
    with pytest.raises(ValueError):  # noqa: PT011 - any reason will do
        from_document(Lease, document)
