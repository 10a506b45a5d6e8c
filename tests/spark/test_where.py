"""A filter selects files, never rows."""

from __future__ import annotations

import pytest

from neve.model.outcome import Status
from neve.model.plan import NothingToDo
from neve.model.policy import Strategy


def paths_of(lake, table, kind):
    return {f.path for f in lake.facts(table).data_files if f.partition[1] == (kind,)}


@pytest.mark.conformance("a filter on a partition")
def test_files_of_other_partitions_are_untouched(lake):
    table = lake.create(by="kind")
    lake.fill(table)
    before, others = lake.rows(table), paths_of(lake, table, "k1")

    outcome = lake.compact(table, where="kind = 'k0'")

    assert outcome.reason == "3 files became 1."
    assert paths_of(lake, table, "k1") == others
    assert lake.rows(table) == before


@pytest.mark.conformance("every operator of a filter")
@pytest.mark.parametrize(
    "where",
    [
        "id < 20",
        "id IN (4, 14)",
        "NOT id >= 20 OR id BETWEEN 0 AND 9",
        "id <> 25 AND id < 20",
    ],
)
def test_a_column_outside_the_partitioning_selects_files_by_their_bounds(lake, where):
    table = lake.create()
    lake.fill(table)
    before = lake.rows(table)
    last = max(lake.paths(table))

    outcome = lake.compact(table, where=where)

    assert outcome.reason == "2 files became 1."
    assert last in lake.paths(table)
    assert lake.rows(table) == before


@pytest.mark.conformance("a filter chooses files and never rows")
@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.SORT, Strategy.ZORDER])
def test_rows_that_do_not_match_stay_in_selected_files(lake, strategy):
    table = lake.create(by="kind")
    lake.fill(table)
    before = lake.rows(table)

    outcome = lake.compact(
        table,
        strategy,
        by=("id",) if strategy.orders_rows else (),
        where="kind = 'k0' AND id IN (4, 14, 24)",
    )

    assert outcome.reason == "3 files became 1."
    assert (outcome.proof.rows_in, outcome.proof.rows_out) == (15, 15)
    assert lake.rows(table) == before


@pytest.mark.conformance("a filter through a transform")
@pytest.mark.parametrize(
    ("by", "where"),
    [
        ("days(at)", "at < TIMESTAMP '2025-01-02 00:00:00'"),
        ("days(at)", "at < '2025-01-01T12:00:00+00:00'"),
        ("bucket(16, id)", "id = 0"),
        ("kind", "kind IS NULL"),
        ("truncate(1, kind)", "kind IS NULL OR kind = 'a'"),
    ],
)
def test_filters_are_projected_through_transforms(lake, by, where):
    table = lake.create("id BIGINT, kind STRING, at TIMESTAMP", by=by)
    moment = "timestamp'2025-01-01 08:00:00' + make_dt_interval(k) at"
    lake.fill(table, "id % 3 AS id", "if(k = 0, null, 'kind') kind", moment)
    before, facts = lake.rows(table), lake.facts(table, where=where)
    selected = {file.path for file in facts.data_files if file.selected}
    others = lake.paths(table) - selected

    outcome = lake.compact(table, where=where)

    assert outcome.status is Status.SUCCEEDED
    assert selected
    assert others
    assert lake.paths(table) & (selected | others) == others
    assert lake.rows(table) == before


@pytest.mark.conformance("a filter that matches nothing")
def test_a_filter_that_matches_nothing_says_so(lake):
    table = lake.create(by="kind")
    lake.fill(table)

    plan = lake.plan(table, where="kind = 'absent'")

    assert plan.reasons[0].code is NothingToDo.FILTER_MATCHES_NOTHING


def test_deletes_outside_the_filter_stay(lake):
    table = lake.create(by="kind", version=3, properties={"write.delete.mode": "merge-on-read"})
    lake.fill(table)
    lake.sql(f"DELETE FROM {table} WHERE id IN (0, 1)")
    before = lake.rows(table)

    outcome = lake.compact(table, Strategy.DELETE_FILES, where="kind = 'k0'")

    (kept,) = lake.facts(table).delete_files
    assert outcome.proof.rows_deleted == 1
    assert kept.referenced_path in paths_of(lake, table, "k1")
    assert lake.rows(table) == before
