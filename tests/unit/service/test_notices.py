"""Who is told how jobs end: once for each change of a table, whatever the channel does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

import pytest

from neve.model.errors import CatalogError, NotificationError, StoreError
from neve.model.job import JobRequest, JobState
from neve.model.notices import DigestTime, NoticeKind
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.policies import PolicyBook, PolicyRule, Setting, TableMatch
from neve.model.table import TableRef
from neve.notify.channels import Channels
from neve.service.digest_turn import MARK, TURN_SECONDS, begin_turn
from neve.service.digests import digest, digest_if_due
from neve.service.notices import notify_end
from neve.service.policies import Policies
from neve.service.recover import settle_left_behind
from neve.service.run_job import run, run_job
from neve.testing.facts import NOW, TABLE

pytestmark = pytest.mark.promise(49)

REWRITE = JobRequest(TABLE, "rewrite_data_files")


class Post:
    """Keeps notices, or fails to deliver them."""

    def __init__(self):
        self.sent, self.problem = [], None

    def send(self, channel, notice):
        if self.problem:
            raise NotificationError(self.problem)
        self.sent.append((channel, notice))

    @property
    def kinds(self):
        return [(channel, str(notice.kind)) for channel, notice in self.sent]


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def warnings():
    return []


@pytest.fixture
def told(services, post, warnings):
    """Services that tell `ops` of everything."""
    names = ("failures", "recoveries", "digest")
    general = {f"notify.{n}": Setting(f"notify.{n}", ("ops",), "notifications") for n in names}
    return replace(
        services,
        notifier=post,
        warn=warnings.append,
        policies=Policies(PolicyBook(general=general)),
        sleep=lambda seconds: None,
    )


def ended(store, state, operation="rewrite_data_files", table=TABLE, reason="Because."):
    job_id = f"{operation}-{len(store.jobs(limit=10_000))}"
    lease = store.begin(job_id, JobRequest(table, operation), 60)
    store.end(lease, state, reason)
    store.release(lease)
    return store.job(lease.job_id)


def tell(services, store, *ends):
    for operation, state in ends:
        notify_end(services, ended(store, state, operation))


FAILED, GOOD = JobState.FAILED, JobState.SUCCEEDED
A, B = "rewrite_data_files", "rewrite_manifests"


@pytest.mark.parametrize(
    ("ends", "kinds"),
    [
        ([(A, GOOD), (A, GOOD)], []),
        ([(A, FAILED)], ["failure"]),
        ([(A, FAILED), (A, FAILED), (A, FAILED)], ["failure"]),
        ([(A, FAILED), (A, GOOD)], ["failure", "recovery"]),
        ([(A, FAILED), (A, GOOD), (A, GOOD), (A, FAILED)], ["failure", "recovery", "failure"]),
        # What another operation does is no recovery, and no second failure of the table.
        ([(A, FAILED), (B, GOOD), (A, FAILED), (B, GOOD)], ["failure"]),
        ([(A, FAILED), (B, FAILED), (A, GOOD)], ["failure"]),
        ([(A, FAILED), (B, FAILED), (A, GOOD), (B, GOOD)], ["failure", "recovery"]),
        ([(A, JobState.UNKNOWN), (A, GOOD)], ["failure", "recovery"]),
        ([(A, FAILED), (A, JobState.CANCELLED), (A, FAILED)], ["failure"]),
        ([(A, JobState.CANCELLED)], []),
    ],
)
def test_each_change_of_a_table_is_told_once(told, store, post, ends, kinds):
    tell(told, store, *ends)

    assert post.kinds == [("ops", kind) for kind in kinds]


def test_tables_are_told_apart(told, store, post):
    other = TableRef("lake", ("db",), "other")
    for table in (TABLE, other):
        notify_end(told, ended(store, FAILED, table=table))

    assert len(post.sent) == 2


def test_a_job_that_is_queued_again_has_not_ended(told, store, post):
    store.submit("j", REWRITE)
    job = store.retry(store.claim_next(60), "It may pass.")
    assert job.state is JobState.QUEUED

    notify_end(told, job)

    assert post.sent == []


def test_the_frame_of_jobs_tells_the_end(told, lake, post, monkeypatch):
    def broken(table):
        raise CatalogError("The catalog is away.")

    with monkeypatch.context() as patch:
        patch.setattr(lake, "warm_up", lambda: broken(TABLE))
        with pytest.raises(CatalogError):
            run(told, REWRITE)
    run(told, REWRITE)

    assert post.kinds == [("ops", "failure"), ("ops", "recovery")]
    failure = post.sent[0][1]
    assert failure.title == f"Neve: rewrite_data_files on {TABLE} failed"
    assert "The catalog is away." in failure.body


def test_a_claimed_job_is_told_too(told, store, post):
    store.submit("j", JobRequest(TABLE, "no_such_operation"))
    with pytest.raises(Exception, match="no_such_operation"):
        run_job(told, store.claim_next(60))

    assert post.kinds == [("ops", "failure")]


@pytest.mark.parametrize("trouble", ["channel", "store"])
def test_trouble_with_notices_fails_no_job(told, store, post, warnings, trouble, monkeypatch):
    store.marks.set(f"failing {TABLE}", A, expected="")
    if trouble == "channel":
        post.problem = "Nobody listens."
    else:

        def broken(name):
            raise StoreError("The store is away.")

        monkeypatch.setattr(store.marks, "get", broken)

    assert run(told, REWRITE).status is Status.SUCCEEDED
    (warning,) = warnings
    assert "Nobody listens." in warning or "The store is away." in warning


def test_what_nobody_heard_is_told_with_the_next_end(told, store, post, warnings):
    post.problem = "Nobody listens."
    tell(told, store, (A, FAILED))
    post.problem = None
    tell(told, store, (A, FAILED), (A, FAILED))

    assert post.kinds == [("ops", "failure")]
    assert len(warnings) == 1


def test_a_catalog_that_is_down_does_not_silence_the_failure(told, store, lake, post, monkeypatch):
    def down(table):
        raise CatalogError("It does not answer.")

    monkeypatch.setattr(lake, "outline", down)
    tell(told, store, (A, FAILED))

    assert post.kinds == [("ops", "failure")]


def test_the_catalog_is_asked_only_where_something_is_to_be_told(told, store, lake, monkeypatch):
    asked = []
    monkeypatch.setattr(lake, "outline", asked.append)

    tell(told, store, (A, GOOD), (B, GOOD))

    assert asked == []


def test_of_many_workers_one_tells(told, store, post):
    jobs = [ended(store, FAILED) for _ in range(8)]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda job: notify_end(told, job), jobs))

    assert post.kinds == [("ops", "failure")]


def test_only_channels_of_the_policy_are_told(told, store, post):
    rules = (
        PolicyRule("mine", TableMatch((str(TABLE),)), 0, {"notify.failures": ("team", "mail")}),
        PolicyRule("others", TableMatch(("*.nothing",)), 0, {"notify.failures": ("others",)}),
    )
    services = replace(told, policies=Policies(PolicyBook(rules)))
    tell(services, store, (A, FAILED), (A, GOOD))

    assert post.kinds == [("team", "failure"), ("mail", "failure")]


def test_the_end_of_a_job_that_was_left_behind_is_told(told, store, post):
    lease = store.begin("lost", REWRITE, 60)
    store.set_state(lease, JobState.REWRITING)
    store.release(lease)

    settle_left_behind(told, TABLE)

    assert store.job("lost").state is JobState.FAILED
    assert post.kinds == [("ops", "failure")]


def test_a_job_of_the_queue_that_is_taken_up_again_is_not_told(told, store, post):
    store.submit("lost", REWRITE)
    lease = store.claim_next(60)
    store.release(lease)

    settle_left_behind(told, TABLE)

    assert store.job("lost").state is JobState.QUEUED
    assert post.sent == []


def test_a_table_property_cannot_name_an_address(told, store, lake, warnings):
    address = "json://attacker.example.com/x"
    lake.facts = replace(lake.facts, properties={"neve.notify.failures": address})
    services = replace(told, notifier=Channels({"ops": "json://127.0.0.1:1/"}))

    tell(services, store, (A, FAILED))

    assert "no such channel" in warnings[0]


# The digest of a day.

DAY = NOW.date()


def outcome(job_id, files=(100, 10), size=1000, **more):
    stats = CompactionStats(
        files_before=files[0],
        files_after=files[1],
        files_compacted=files[0],
        bytes_before=size,
        bytes_after=size - 100,
        bytes_saved=100,
    )
    values = {"status": Status.SUCCEEDED, "reason": "Done.", "stats": stats, "actual_usd": 0.5}
    times = {"started_at": NOW, "finished_at": NOW + timedelta(seconds=30)}
    return Outcome(job_id, TABLE, A, **{**times, **values, **more})


def finished(store, job_id, **more):
    lease = store.begin(job_id, REWRITE, 60)
    store.finish(lease, outcome(job_id, **more))
    store.release(lease)


def test_a_digest_says_what_ran_what_it_cost_and_what_it_saved(told, store, post):
    finished(store, "a")
    finished(store, "b", files=(20, 5), status=Status.SUCCEEDED)
    ended(store, FAILED, B, reason="No space.")

    assert digest(told, DAY) == ["ops"]

    ((channel, notice),) = post.sent
    assert (channel, notice.kind) == ("ops", NoticeKind.DIGEST)
    assert notice.body.splitlines() == [
        "Jobs: 3 on 1 tables: 2 succeeded, 1 failed, 0 with nothing to do.",
        "Cost: $1.0000, 60.0 s of work.",
        "Saved: 105 file opens in every full scan ($0.000042 of requests), 200 B of storage.",
        "",
        str(TABLE),
        "  Files: 100 → 5 (95.0 % fewer)",
        "  Average file size: 10 B → 180 B (+1700.0 %), target 128.0 MB",
        "  Total size: 1000 B → 900 B",
        "  Files rewritten: 120",
        "  Duration: 60.0 s, cost $1.0000",
        "  Failed: rewrite_manifests: No space.",
    ]


def test_a_digest_is_sent_once_whoever_asks(told, post):
    assert digest(told, DAY) == ["ops"]
    assert digest(told, DAY) == []
    assert digest(told, DAY - timedelta(days=1)) == []
    assert digest(told, DAY + timedelta(days=1)) == ["ops"]
    assert post.sent[0][1].body == "No job ran."


def test_a_digest_whose_sender_was_killed_is_sent_by_another(told, post, clock, monkeypatch):
    def end(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("neve.service.digests.send", end)
        with pytest.raises(KeyboardInterrupt):
            digest(told, DAY)

    assert digest(told, DAY) == []
    clock.advance(TURN_SECONDS)
    assert digest(told, DAY) == ["ops"]
    clock.advance(TURN_SECONDS)
    assert (digest(told, DAY), len(post.sent)) == ([], 1)


def test_a_channel_that_was_told_before_its_sender_died_is_not_told_again(told, store, post, clock):
    left = begin_turn(store, DAY)
    left.told.append("ops")
    assert left.keep()

    clock.advance(TURN_SECONDS)

    assert (digest(told, DAY), post.sent) == ([], [])
    # One that only slept hears that others went on.
    assert not left.keep()
    left.end()
    assert store.marks.get(MARK) == DAY.isoformat()


def test_a_digest_holds_the_jobs_of_its_day_alone(told, store, post, clock):
    finished(store, "yesterday")
    clock.advance(86400)
    finished(store, "today")

    digest(told, DAY)

    assert "Jobs: 1 on 1 tables" in post.sent[0][1].body


def test_a_channel_that_is_down_is_tried_again_and_then_logged(told, post, warnings):
    post.problem = "Nobody listens."

    assert digest(told, DAY) == []
    assert len(warnings) == 3


@pytest.mark.parametrize(
    ("hour", "zone", "expected"),
    [
        (datetime(2026, 3, 2, 5, 59, tzinfo=UTC), "UTC", None),
        (datetime(2026, 3, 2, 6, 0, tzinfo=UTC), "UTC", date(2026, 3, 1)),
        (datetime(2026, 3, 2, 5, 0, tzinfo=UTC), "Europe/Berlin", date(2026, 3, 1)),
        (datetime(2026, 3, 1, 23, 30, tzinfo=UTC), "Asia/Tokyo", date(2026, 3, 1)),
    ],
)
def test_it_comes_with_its_hour_by_the_clock_of_its_zone(told, store, post, hour, zone, expected):
    services = replace(told, digest_time=DigestTime(time(6), zone))

    sent = digest_if_due(services, hour)

    assert sent == (["ops"] if expected else [])
    assert store.marks.get("digest") == (expected.isoformat() if expected else "")


def test_without_channels_nothing_is_done(services, store):
    assert digest_if_due(services) == []
    notify_end(services, ended(store, FAILED))
    assert store.marks.get(f"failing {TABLE}") == ""


def test_tables_that_are_set_aside_are_shown(told, store, post):
    store.set_aside(TABLE, "It failed five times.")
    digest(told, DAY)

    assert "Set aside: " + f"{TABLE}: It failed five times." in post.sent[0][1].body
