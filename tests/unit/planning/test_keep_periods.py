from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.expiry import Consumer, ExpiryRules, Period
from neve.model.facts import RefFacts, SnapshotFacts
from neve.planning.operations.expire_snapshots import plan_expiry
from neve.planning.operations.keep_periods import bucket, bucket_start, period_of, tag_name
from neve.testing.facts import TABLE, table_facts

pytestmark = pytest.mark.promise(18, 19)

NOW = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAYS = ExpiryRules(older_than_seconds=3600, keep_daily=3)


def hourly(count, newest=NOW):
    """So many snapshots, one an hour, each on top of the one before; the last is the newest."""
    return [
        SnapshotFacts(n, n - 1 or None, newest - (count - n) * HOUR, "append")
        for n in range(1, count + 1)
    ]


def table(snapshots, refs=()):
    head = snapshots[-1].snapshot_id
    main = RefFacts("main", head, "branch")
    return table_facts(snapshots=snapshots, snapshot_id=head, refs=(main, *refs))


def after(facts, plan):
    """The table once the plan was applied."""
    gone = {s.snapshot_id for s in plan.expired}
    changed = {tag.name for tag in plan.tags} | {ref.name for ref in plan.dropped_refs}
    tags = [RefFacts(t.name, t.snapshot_id, "tag", t.max_age_ms) for t in plan.tags]
    return replace(
        facts,
        snapshots=tuple(s for s in facts.snapshots if s.snapshot_id not in gone),
        refs=(*(ref for ref in facts.refs if ref.name not in changed), *tags),
    )


@pytest.mark.parametrize(
    ("period", "name"),
    [
        (Period.HOURLY, "neve-gfs-hourly-2026-11-16-09"),
        (Period.DAILY, "neve-gfs-daily-2026-11-16"),
        (Period.WEEKLY, "neve-gfs-weekly-2026-W47"),
        (Period.MONTHLY, "neve-gfs-monthly-2026-11"),
    ],
)
def test_a_tag_is_named_by_its_bucket(period, name):
    assert tag_name(period, bucket(period, NOW)) == name
    assert period_of(name) is period


@given(
    st.sampled_from(Period),
    st.datetimes(datetime(1960, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
)
def test_a_moment_lies_in_its_bucket(period, moment):
    number = bucket(period, moment)

    assert bucket_start(period, number) <= moment < bucket_start(period, number + 1)


def test_the_last_snapshot_of_each_day_before_today_is_tagged():
    snapshots = hourly(100)
    plan = plan_expiry(table(snapshots), DAYS, (), NOW)

    # 9:30 today is snapshot 100, so 23:30 yesterday is 90.
    assert [(tag.name, tag.snapshot_id) for tag in plan.tags] == [
        ("neve-gfs-daily-2026-11-15", 90),
        ("neve-gfs-daily-2026-11-14", 66),
    ]
    kept = {s.snapshot_id for s in snapshots} - {s.snapshot_id for s in plan.expired}
    assert kept == {100, 99, 90, 66}


def test_a_tag_lasts_until_its_day_leaves_the_rule():
    plan = plan_expiry(table(hourly(100)), DAYS, (), NOW)

    for tag, day in zip(plan.tags, (15, 14), strict=True):
        committed_at = datetime(2026, 11, day, 23, 30, tzinfo=UTC)
        until = committed_at + timedelta(milliseconds=tag.max_age_ms)
        assert until == datetime(2026, 11, day, tzinfo=UTC) + timedelta(days=3)


def test_a_tag_that_left_the_rule_is_dropped_with_its_snapshot():
    facts = table(hourly(100))
    facts = after(facts, plan_expiry(facts, DAYS, (), NOW))

    plan = plan_expiry(facts, replace(DAYS, keep_daily=2), (), NOW)
    assert [ref.name for ref in plan.dropped_refs] == ["neve-gfs-daily-2026-11-14"]
    assert [s.snapshot_id for s in plan.expired] == [66]
    # The tag that stays now ends a day earlier.
    assert [(tag.name, tag.max_age_ms) for tag in plan.tags] == [
        ("neve-gfs-daily-2026-11-15", int(24.5 * 3600 * 1000))
    ]


def test_a_run_without_the_rule_leaves_its_tags_alone():
    facts = table(hourly(100))
    facts = after(facts, plan_expiry(facts, DAYS, (), NOW))

    assert plan_expiry(facts, replace(DAYS, keep_daily=0), (), NOW).is_empty


def test_weeks_are_made_of_days_that_were_kept_before():
    facts = table(hourly(1000))
    days = replace(DAYS, keep_daily=30)
    facts = after(facts, plan_expiry(facts, days, (), NOW))

    plan = plan_expiry(facts, replace(days, keep_weekly=3), (), NOW)
    assert [tag.name for tag in plan.tags] == [
        "neve-gfs-weekly-2026-W46",
        "neve-gfs-weekly-2026-W45",
    ]
    by_id = {s.snapshot_id: s.committed_at for s in facts.snapshots}
    assert [by_id[tag.snapshot_id] for tag in plan.tags] == [
        datetime(2026, 11, 15, 23, 30, tzinfo=UTC),
        datetime(2026, 11, 8, 23, 30, tzinfo=UTC),
    ]


def test_after_a_rollback_the_tag_follows_main():
    snapshots = hourly(100)
    facts = table(snapshots)
    facts = after(facts, plan_expiry(facts, replace(DAYS, older_than_seconds=10**6), (), NOW))
    facts = replace(facts, snapshot_id=80, refs=(RefFacts("main", 80, "branch"), *facts.refs[1:]))

    plan = plan_expiry(facts, DAYS, (), NOW)
    assert [(tag.name, tag.snapshot_id) for tag in plan.tags] == [("neve-gfs-daily-2026-11-15", 80)]


@st.composite
def situations(draw):
    """A table with branches, tags, jobs and clocks that may go wrong, rules and consumers."""
    count = draw(st.integers(1, 14))
    hours = [draw(st.integers(0, 24 * 70)) for _ in range(count)]
    if draw(st.booleans()):
        hours.sort(reverse=True)
    snapshots = []
    for n in range(1, count + 1):
        parent = draw(st.none() | st.integers(1, n - 1)) if n > 1 else None
        if n > 1 and draw(st.booleans()):
            parent = n - 1
        summary = {"neve.job-id": f"j{n}"} if draw(st.integers(0, 4)) == 0 else {}
        moment = NOW - hours[n - 1] * HOUR
        snapshots.append(SnapshotFacts(n, parent, moment, "append", summary))
    ids = st.integers(1, count)
    head = draw(ids)
    refs = [RefFacts("main", head, "branch", min_snapshots_to_keep=draw(st.none() | ids))]
    for name, kind in (("side", "branch"), ("audit", "tag"), ("neve-undo-x", "tag")):
        if draw(st.booleans()):
            age_ms = draw(st.none() | st.integers(1, 10**10))
            refs.append(RefFacts(name, draw(ids), kind, age_ms))
    facts = table_facts(snapshots=snapshots, snapshot_id=head, refs=tuple(refs))
    rules = ExpiryRules(
        older_than_seconds=draw(st.integers(1, 60 * 86400)),
        retain_last=draw(st.integers(1, 4)),
        undo_window_seconds=draw(st.integers(1, 30 * 86400)),
        **{
            f"keep_{period}": draw(st.integers(0, most))
            for period, most in (("hourly", 48), ("daily", 40), ("weekly", 8), ("monthly", 3))
        },
    )
    consumers = []
    if draw(st.booleans()):
        consumers.append(Consumer("by-id", TABLE, draw(st.integers(1, count + 1)), None, NOW))
    if draw(st.booleans()):
        at = NOW - draw(st.integers(0, 24 * 80)) * HOUR
        consumers.append(Consumer("by-time", TABLE, None, at, NOW))
    return facts, rules, consumers


@given(situations())
def test_planning_again_after_an_expiry_finds_nothing(situation):
    facts, rules, consumers = situation
    plan = plan_expiry(facts, rules, consumers, NOW)

    again = plan_expiry(after(facts, plan), rules, consumers, NOW)
    assert again.is_empty, again


@given(situations())
def test_nothing_that_is_needed_expires(situation):
    facts, rules, consumers = situation
    plan = plan_expiry(facts, rules, consumers, NOW)
    gone = {s.snapshot_id for s in plan.expired}
    left = after(facts, plan)
    by_id = {s.snapshot_id: s for s in facts.snapshots}

    assert all(NOW - by_id[n].committed_at > rules.older_than_seconds * HOUR / 3600 for n in gone)
    assert not gone & {ref.snapshot_id for ref in left.refs}
    for ref in left.refs:
        if ref.kind == "branch":
            chain = replace(facts, snapshot_id=ref.snapshot_id).ancestry()
            assert not gone & {s.snapshot_id for s in chain[: rules.retain_last]}
    for snapshot in facts.snapshots:
        if (
            snapshot.job_id
            and NOW - snapshot.committed_at <= rules.undo_window_seconds * HOUR / 3600
        ):
            assert not gone & {snapshot.snapshot_id, snapshot.parent_id}
    for pinned in [c.snapshot_id for c in consumers if c.snapshot_id in by_id]:
        for snapshot in facts.snapshots:
            chain = replace(facts, snapshot_id=snapshot.snapshot_id).ancestry()
            if pinned in {s.snapshot_id for s in chain}:
                assert snapshot.snapshot_id not in gone
    old = {
        s.snapshot_id
        for s in facts.snapshots
        if NOW - s.committed_at > rules.older_than_seconds * HOUR / 3600
    }
    assert {k.snapshot_id for k in plan.kept} == old - gone
    assert all(kept.reason for kept in plan.kept)


@given(
    st.lists(st.integers(0, 24 * 70), min_size=1, max_size=30, unique=True),
    st.sampled_from(Period),
    st.integers(1, 40),
)
def test_the_newest_of_each_kept_bucket_stays_and_nothing_else(hours, period, count):
    moments = [NOW - hour * HOUR for hour in sorted(hours, reverse=True)]
    snapshots = [
        SnapshotFacts(n, n - 1 or None, moment, "append")
        for n, moment in enumerate(moments, start=1)
    ]
    rules = ExpiryRules(older_than_seconds=1, **{f"keep_{period}": count})
    plan = plan_expiry(table(snapshots), rules, (), NOW)

    current = bucket(period, NOW)
    newest = {bucket(period, s.committed_at): s.snapshot_id for s in snapshots}
    wanted = {n for number, n in newest.items() if current - count < number < current}
    assert {tag.snapshot_id for tag in plan.tags} == wanted
    left = {s.snapshot_id for s in after(table(snapshots), plan).snapshots}
    assert left - {s.snapshot_id for s in snapshots if s.committed_at == NOW} == (
        wanted | {snapshots[-1].snapshot_id}
    ) - {s.snapshot_id for s in snapshots if s.committed_at == NOW}


def test_a_branch_with_the_name_of_such_a_tag_is_left_alone():
    name = tag_name(Period.DAILY, bucket(Period.DAILY, NOW - timedelta(days=30)))
    facts = table(hourly(5), [RefFacts(name, 2, "branch")])

    plan = plan_expiry(facts, DAYS, (), NOW)

    assert not plan.dropped_refs
    assert 2 not in {snapshot.snapshot_id for snapshot in plan.expired}
