from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from neve.model.errors import InputError
from neve.model.expiry import Consumer, ExpiryRules
from neve.model.facts import RefFacts, SnapshotFacts
from neve.planning.operations.expire_snapshots import plan_expiry, why_refused
from neve.testing.facts import NOW, TABLE, table_facts

pytestmark = pytest.mark.promise(14)

DAY = 86400
DAY_MS = DAY * 1000
WEEK = ExpiryRules()


def made(snapshot_id, days_ago, parent_id=None, **summary):
    """A snapshot of this many days ago, on top of the one before it unless told otherwise."""
    parent = snapshot_id - 1 if parent_id is None else parent_id
    texts = {key.replace("_", "."): value for key, value in summary.items()}
    if "job" in texts:
        texts["neve.job-id"] = texts.pop("job")
    moment = NOW - timedelta(days=days_ago)
    return SnapshotFacts(snapshot_id, parent or None, moment, "append", texts)


def table(*snapshots, refs=(), head=None, **properties):
    head = head or snapshots[-1].snapshot_id
    names = {key.replace("_", "-").replace("--", "."): v for key, v in properties.items()}
    main = RefFacts("main", head, "branch")
    return table_facts(snapshots=snapshots, snapshot_id=head, refs=(main, *refs), properties=names)


#: 30, 20, 10, 5 and 1 days old.
AGED = [made(1, 30), made(2, 20), made(3, 10), made(4, 5), made(5, 1)]


def expired(facts, rules=WEEK, consumers=(), now=NOW):
    return [s.snapshot_id for s in plan_expiry(facts, rules, consumers, now).expired]


def reasons(facts, rules=WEEK, consumers=()):
    return {k.snapshot_id: k.reason for k in plan_expiry(facts, rules, consumers, NOW).kept}


def test_what_is_older_than_the_retention_goes_oldest_first():
    assert expired(table(*reversed(AGED), head=5)) == [1, 2, 3]


def test_a_snapshot_that_is_just_as_old_as_the_retention_stays():
    assert expired(table(made(1, 8), made(2, 7), made(3, 0))) == [1]


def test_the_plan_says_what_a_time_no_longer_reaches():
    plan = plan_expiry(table(*AGED), WEEK, (), NOW)

    assert plan.time_travel == (
        "AS OF before 2026-01-10 12:00:00 UTC no longer works; "
        "the oldest state that a time reaches becomes snapshot 4.",
    )


def test_states_that_stay_by_name_are_told():
    plan = plan_expiry(table(*AGED, refs=[RefFacts("audit", 2, "tag")]), WEEK, (), NOW)

    assert [s.snapshot_id for s in plan.expired] == [1, 3]
    assert plan.time_travel[-1] == "States that stay by name: audit."
    assert [(k.snapshot_id, k.reason) for k in plan.kept] == [(2, "tag audit points to it")]


def test_nothing_to_expire_is_an_empty_plan():
    plan = plan_expiry(table(made(1, 3), made(2, 1)), WEEK, (), NOW)

    assert (plan.is_empty, plan.expired, plan.kept, plan.time_travel) == (True, (), (), ())


def test_a_table_that_was_never_written_has_an_empty_plan():
    assert plan_expiry(table_facts(snapshots=()), WEEK, (), NOW).is_empty


def test_the_current_snapshot_stays_however_old_it_is():
    facts = table(made(1, 400), made(2, 300))

    assert expired(facts) == [1]
    assert reasons(facts) == {2: "branch main points to it"}


@pytest.mark.conformance("the last snapshots of a branch stay")
def test_the_last_ancestors_of_every_branch_stay():
    side = [made(10, 25, 1), made(11, 24, 10), made(12, 23, 11)]
    facts = table(*AGED, *side, head=5, refs=[RefFacts("side", 12, "branch")])

    assert expired(facts, ExpiryRules(retain_last=2)) == [1, 10, 2, 3]
    assert reasons(facts, ExpiryRules(retain_last=2)) == {
        12: "branch side points to it",
        11: "the last 2 snapshots of branch side stay",
    }


def test_a_branch_may_ask_for_more():
    counted = RefFacts("counted", 3, "branch", min_snapshots_to_keep=2)
    dated = RefFacts("dated", 3, "branch", max_snapshot_age_ms=25 * DAY_MS)

    assert expired(table(*AGED, refs=[counted])) == [1]
    assert expired(table(*AGED, refs=[dated])) == [1]
    assert reasons(table(*AGED, refs=[dated]))[2] == "branch dated keeps its snapshots for 25d"


def test_a_branch_that_asks_for_less_gets_no_less_than_the_retention():
    brief = RefFacts("main", 5, "branch", max_snapshot_age_ms=1, min_snapshots_to_keep=1)

    assert expired(replace(table(*AGED), refs=(brief,))) == [1, 2, 3]


def test_the_tables_own_properties_protect_where_they_protect_more():
    longer = {"history--expire--max-snapshot-age-ms": str(25 * DAY_MS)}
    shorter = {"history--expire--max-snapshot-age-ms": "1"}
    forever = {"history--expire--max-snapshot-age-ms": str(2**63 - 1)}

    assert expired(table(*AGED, **longer)) == [1]
    assert reasons(table(*AGED, **longer))[2] == "history.expire.max-snapshot-age-ms keeps 25d"
    assert expired(table(*AGED, **shorter)) == [1, 2, 3]
    assert expired(table(*AGED, **forever)) == []
    assert expired(table(*AGED, **{"history--expire--min-snapshots-to-keep": "4"})) == [1]


@pytest.mark.conformance("refs end by their age")
def test_a_ref_whose_age_is_over_is_dropped_and_protects_nothing():
    refs = [RefFacts("old", 2, "tag", 5 * DAY_MS), RefFacts("young", 3, "tag", 11 * DAY_MS)]
    plan = plan_expiry(table(*AGED, refs=refs), WEEK, (), NOW)

    assert [s.snapshot_id for s in plan.expired] == [1, 2]
    assert [(ref.name, ref.reason) for ref in plan.dropped_refs] == [
        ("old", "its age of 5d is over")
    ]


def test_main_is_never_dropped_and_the_tables_own_age_of_refs_counts():
    facts = table(
        *AGED, refs=[RefFacts("t", 2, "tag")], **{"history--expire--max-ref-age-ms": "1000"}
    )

    assert [ref.name for ref in plan_expiry(facts, WEEK, (), NOW).dropped_refs] == ["t"]
    assert expired(facts) == [1, 2, 3]


def consumer(name="stream", snapshot_id=None, at=None):
    return Consumer(name, TABLE, snapshot_id, at, NOW + timedelta(days=1))


def test_what_a_consumer_has_to_read_stays():
    facts = table(*AGED)

    assert expired(facts, consumers=[consumer(snapshot_id=2)]) == [1]
    assert reasons(facts, consumers=[consumer(snapshot_id=2)]) == {
        2: "consumer stream still has to read it",
        3: "consumer stream still has to read it",
    }


def test_a_consumer_may_read_from_a_moment_on():
    at = NOW - timedelta(days=15)

    assert expired(table(*AGED), consumers=[consumer(at=at)]) == [1]
    assert expired(table(*AGED), consumers=[consumer(at=NOW - timedelta(days=90))]) == []


#: The second of these was rolled back from after two days.
ROLLED_BACK = replace(
    table(made(1, 30), made(2, 20), made(3, 10, 1), made(4, 1)),
    history=tuple(
        (NOW - timedelta(days=days), number)
        for days, number in ((30, 1), (20, 2), (18, 1), (10, 3), (1, 4))
    ),
)


def test_a_state_that_main_was_rolled_back_from_takes_the_times_before_it_along():
    """Readers travel by the log of what was current, and none of it is kept beyond a gap."""
    plan = plan_expiry(ROLLED_BACK, replace(WEEK, retain_last=9), (), NOW)

    assert [snapshot.snapshot_id for snapshot in plan.expired] == [2]
    back = NOW - timedelta(days=18)
    assert plan.time_travel == (
        f"AS OF before {back:%Y-%m-%d %H:%M:%S} UTC no longer works; the oldest state that a time "
        "reaches becomes snapshot 1.",
    )


#: The second of these was made on a branch, which main was forwarded to two weeks later.
FORWARDED = replace(
    table(made(1, 30), made(2, 20), made(3, 1)),
    history=tuple(
        (NOW - timedelta(days=days), number) for days, number in ((30, 1), (6, 2), (1, 3))
    ),
)


def test_the_time_of_a_state_is_that_at_which_main_came_to_it():
    plan = plan_expiry(FORWARDED, replace(WEEK, retain_last=2), (), NOW)

    [told] = plan.time_travel
    assert f"AS OF before {NOW - timedelta(days=6):%Y-%m-%d %H:%M:%S} UTC no longer" in told


@pytest.mark.parametrize(("facts", "days"), [(FORWARDED, 15), (FORWARDED, 7), (ROLLED_BACK, 19)])
def test_what_was_current_at_a_consumers_moment_stays(facts, days):
    """Main was there by then or no longer, whatever its history says by now."""
    assert expired(facts, consumers=[consumer(at=NOW - timedelta(days=days))]) == []


def test_a_consumer_of_one_branch_does_not_keep_the_others():
    facts = table(*AGED, made(9, 26, 1), head=5)

    assert expired(facts, consumers=[consumer(snapshot_id=9)]) == [1, 2, 3]


def test_a_consumer_of_a_lost_snapshot_is_told():
    plan = plan_expiry(table(*AGED), WEEK, [consumer(snapshot_id=77)], NOW)

    assert plan.notes == ("Consumer stream reads from snapshot 77, which the table does not have.",)
    assert [s.snapshot_id for s in plan.expired] == [1, 2, 3]


def test_a_job_can_be_undone_even_where_its_tag_is_missing():
    facts = table(made(1, 30), made(2, 20), made(3, 6, job="j7"), made(4, 1))
    hour = ExpiryRules(older_than_seconds=3600)

    assert expired(facts, hour) == [1]
    assert reasons(facts, hour) == {
        2: "it is what undoing job j7 goes back to",
        3: "job j7 made it and can be undone",
        4: "branch main points to it",
    }
    assert expired(facts, replace(hour, undo_window_seconds=5 * DAY)) == [1, 2, 3]


def test_a_state_that_an_undo_tag_keeps_stays_until_the_tag_is_over():
    undo = RefFacts("neve-undo-j1", 2, "tag", 21 * DAY_MS)

    assert expired(table(*AGED, refs=[undo])) == [1, 3]
    assert expired(table(*AGED, refs=[undo]), now=NOW + timedelta(days=2)) == [1, 2, 3]


@pytest.mark.conformance("staged snapshots")
def test_a_staged_snapshot_stays_as_long_as_the_retention():
    young, old = made(8, 6, 3, wap_id="w1"), made(9, 8, 3, wap_id="w2")

    assert expired(table(*AGED, young, old, head=5)) == [1, 2, 3, 9]


@pytest.mark.parametrize("number", ["--5", "-99999999999999999999999999", "٣x", "5 days", "²"])
def test_a_property_that_is_no_span_changes_nothing(number):
    own = {"history--expire--max-snapshot-age-ms": number, "history--expire--max-ref-age-ms": "-"}

    assert expired(table(*AGED, **own)) == expired(table(*AGED))


@pytest.mark.conformance("garbage collection is off")
@pytest.mark.parametrize("word", ["False", "no", "0", " true", ""])
def test_a_table_without_garbage_collection_is_refused(word):
    """Iceberg takes every word but true for false."""
    facts = table(*AGED, **{"gc--enabled": word})

    assert f"gc.enabled={word}:" in why_refused(facts)
    assert why_refused(table(*AGED, **{"gc--enabled": "TRUE"})) is None
    assert why_refused(table(*AGED)) is None


@pytest.mark.parametrize(
    "wrong", [{"older_than_seconds": 0}, {"retain_last": 0}, {"keep_daily": -1}]
)
def test_rules_that_would_keep_nothing_are_refused(wrong):
    with pytest.raises(InputError):
        ExpiryRules(**wrong)


def test_very_many_snapshots_are_planned_exactly():
    count, step = 20_000, timedelta(minutes=10)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    snapshots = [
        SnapshotFacts(number, number - 1 or None, start + number * step, "append")
        for number in range(1, count + 1)
    ]
    now = snapshots[-1].committed_at
    facts = table(*snapshots, refs=[RefFacts("audit", 500, "tag")])
    rules = ExpiryRules(retain_last=10, keep_daily=3)

    plan = plan_expiry(facts, rules, [consumer(snapshot_id=18_000)], now)

    # A week is 1,008 steps; the consumer pins more, and the days before today lie within.
    assert [s.snapshot_id for s in plan.expired] == [
        number for number in range(1, 18_000) if number != 500
    ]
    assert [tag.snapshot_id for tag in plan.tags] == [
        max(s.snapshot_id for s in snapshots if s.committed_at.date() == day)
        for day in ((now - timedelta(days=1)).date(), (now - timedelta(days=2)).date())
    ]
