"""Ids as they are shown, and as they are taken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.cli.short_ids import resolve, shortened
from neve.model.errors import InputError

IDS = st.sets(st.text("abc0", min_size=1, max_size=14), min_size=1, max_size=8)


@given(IDS)
def test_what_is_shown_is_taken(ids):
    for name, shown in shortened(ids).items():
        assert resolve(shown, ids, "job", "") == name


@given(IDS, st.text("abc0", max_size=3))
def test_a_beginning_means_one_or_is_refused(ids, begin):
    meant = [name for name in ids if name.startswith(begin)]
    if begin and (begin in ids or len(meant) == 1):
        assert resolve(begin, ids, "job", "").startswith(begin)
    else:
        with pytest.raises(InputError):
            resolve(begin, ids, "job", "")


def test_what_several_begin_with_names_them():
    with pytest.raises(InputError, match="2 jobs begin with ab: abc, abd"):
        resolve("ab", ["abc", "abd", "x"], "job", "")


@pytest.fixture
def job(events, engine, run_json):
    outcome, _ = run_json("compact", "db.events", "--engine", "spark")
    return outcome["job_id"]


@pytest.mark.parametrize("length", [4, 8, 36])
def test_a_job_is_found_by_its_beginning(job, run_json, length):
    shown, _ = run_json("job", job[:length])
    assert shown["job_id"] == job
    cancelled, _ = run_json("cancel", job[:length])
    assert cancelled["job_id"] == job
    undone, code = run_json("rollback", "db.events", "--job", job[:length])
    assert (code, undone["status"]) == (0, "succeeded")


@pytest.mark.parametrize(
    "words",
    [
        ("job", "nothing"),
        ("cancel", "nothing"),
        ("rollback", "db.events", "--job", "nothing"),
        ("rollback", "db.events", "--job", ""),
        ("rollback", "db.events", "--to-snapshot", "9"),
        ("rollback", "db.events", "--to-snapshot", "-1"),
        ("rollback", "db.events", "--to-snapshot", "one"),
        ("consumers", "add", "nightly", "db.events", "--snapshot", "99"),
    ],
)
def test_an_id_that_nobody_has_is_refused(job, run, words):
    result = run(*words)

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")


def test_a_snapshot_is_found_by_its_beginning(lake, run_json):
    import pyarrow as pa
    from tests.edges.cli.conftest import SCHEMA

    table = lake.create("db.real", SCHEMA)
    for number in range(2):
        table.append(pa.table({"id": [number], "kind": pa.array(["a"], pa.large_string())}))
    first, second = (str(snapshot.snapshot_id) for snapshot in table.metadata.snapshots)
    length = next(n for n in range(1, 20) if not second.startswith(first[:n]))

    outcome, code = run_json("rollback", "db.real", "--to-snapshot", first[:length])

    assert (code, outcome["snapshot_after"]) == (0, first)
    # As a text: there are programs that round such numbers.
    assert outcome["snapshot_before"] == second
