"""What only the store on Redis must do: keep its keys in order, and know its server's limits."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from neve.model.errors import StoreError
from neve.model.job import JobRequest, JobState
from neve.model.orphans import FileTotals
from neve.model.outcome import Outcome, Status
from neve.model.table import TableRef
from neve.store.redis.store import RedisStore
from neve.testing.facts import NOW
from neve.testing.redis_server import RedisProcess

pytestmark = pytest.mark.promise(39, 41)

T = TableRef("lake", ("db",), "t")
REQUEST = JobRequest(T, "rewrite_data_files")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of its own, whose configuration may be changed."""
    folder = tmp_path_factory.mktemp("redis")
    with RedisProcess(folder, "--enable-debug-command", "yes") as process:
        yield process


@pytest.fixture
def store(server):
    server.ask("FLUSHALL")
    store = RedisStore(server.url, patience_seconds=0.5)
    yield store
    store.close()


def finish(store, lease, status=Status.SUCCEEDED):
    outcome = Outcome(lease.job_id, lease.table, "rewrite_data_files", status, "why", NOW, NOW)
    store.finish(lease, outcome)
    store.release(lease)


def keys(server):
    return {key for key in server.ask("KEYS", "*") if ":answer:" not in key}


def uses_of(store):
    """A use of every kind; none may go through where the server must be left alone."""
    return {
        "submit": lambda: store.submit("j2", REQUEST),
        "begin": lambda: store.claim("j2", T, "rollback", 60),
        "claim_next": lambda: store.claim_next(60),
        "cancel": lambda: store.cancel("j1"),
        "record_run": lambda: store.record_run([T]),
        "leftovers": lambda: store.add_uncommitted_files("j1", T, ["a"]),
        "set_aside": lambda: store.set_aside(T, "why"),
        "consumers": lambda: store.consumers.add("c", T, snapshot_id=1, lease_seconds=60),
        "sweep": lambda: store.quarantine.record_sweep(T, "u", "j1", FileTotals(1, 1)),
    }


def looks_at(store):
    return {
        "jobs": store.jobs,
        "job": lambda: store.job("j1"),
        "unfinished": store.unfinished,
        "outcomes": store.outcomes,
        "last_run": lambda: store.schedule_state(T),
        "consumers": store.consumers.all,
        "quarantine": lambda: store.quarantine.was_swept("u"),
    }


def test_every_key_has_the_prefix_as_its_hash_tag(server, store):
    store.submit("j1", REQUEST)
    finish(store, store.claim_next(60))
    for use in uses_of(store).values():
        use()

    assert {key.partition(":")[0] for key in server.ask("KEYS", "*")} == {"{neve}"}
    assert server.ask("GET", "{neve}:layout") == "1"


def test_prefixes_do_not_see_each_other(server, store):
    store.submit("j1", REQUEST)
    other = RedisStore(server.url, prefix="other")

    assert (other.jobs(), other.claim_next(60)) == ([], None)
    assert other.claim("j1", T, "rollback", 60).epoch == 1


def test_looking_makes_no_key(server, store):
    for look in looks_at(store).values():
        look()

    assert server.ask("KEYS", "*") == []


@pytest.mark.parametrize("layout", ["2", "99", "later"])
def test_a_newer_layout_is_left_alone(server, store, layout):
    store.submit("j1", REQUEST)
    server.ask("SET", "{neve}:layout", layout)
    before = server.ask("DEBUG", "DIGEST")

    for use in (*uses_of(store).values(), *looks_at(store).values()):
        with pytest.raises(StoreError, match="newer Neve") as caught:
            use()
        assert caught.value.next_step
    assert server.ask("DEBUG", "DIGEST") == before


def test_what_is_over_leaves_nothing_in_the_queue(server, store):
    for number, tenant in enumerate(("a", "b", "a", "")):
        store.submit(f"j{number}", replace(REQUEST, tenant=tenant))
    store.cancel("j3")
    while lease := store.claim_next(60):
        finish(store, lease)

    left = {key.removeprefix("{neve}:").partition(":")[0] for key in keys(server)}
    assert left == {
        *("layout", "seq", "turn", "turns", "ends", "lease"),
        *("job", "jobs", "jobs_of", "ended", "outcomes"),
        *("events", "events_of", "event_numbers", "totals", "spent"),
    }


def test_the_history_is_bounded(server, store):
    bounded = RedisStore(server.url, history_jobs=3)
    bounded.submit("waiting", replace(REQUEST, table=TableRef("lake", ("db",), "u")))
    bounded.claim("left", TableRef("lake", ("db",), "v"), "rollback", -1)
    for number in range(30):
        request = replace(REQUEST, idempotency_key=f"k{number}", max_attempts=1)
        lease = bounded.begin(f"j{number}", request, 60)
        if number % 2:
            bounded.retry(lease, "no")
        else:
            finish(bounded, lease)

    assert [job.job_id for job in bounded.jobs()] == ["j29", "j28", "j27", "left", "waiting"]
    assert [job.job_id for job in bounded.jobs(T)] == ["j29", "j28", "j27"]
    assert [outcome.job_id for outcome in bounded.outcomes()] == ["j28"]
    assert [job.job_id for job in bounded.dead_jobs()] == ["j29", "j27"]
    assert server.ask("HLEN", "{neve}:idempotency_keys") == 3
    assert len([key for key in keys(server) if key.startswith("{neve}:job:")]) == 5
    assert bounded.claim("next", T, "rollback", 60).epoch > 30


def test_choosing_a_job_does_not_look_at_those_that_cannot_begin(server, store):
    def commands():
        return sum(counted["calls"] for counted in server.ask("INFO", "commandstats").values())

    def cost():
        before = commands()
        assert store.claim_next(60) is None
        return commands() - before

    def fill(count):
        for number in range(count):
            store.submit(f"{count}-{number}", replace(REQUEST, tenant=f"{number % 2}"))

    store.claim("holder", T, "rollback", 60)
    fill(4)
    few = cost()
    fill(300)
    assert cost() <= few


def test_no_script_goes_through_all_keys():
    for script in files("neve.store.redis").joinpath("scripts").iterdir():
        text = script.read_text(encoding="utf-8")
        assert "'KEYS'" not in text
        assert "SCAN'" not in text


def test_a_replica_is_recognised(server, store):
    store.submit("j1", REQUEST)
    server.ask("REPLICAOF", "127.0.0.1", "1")
    try:
        for use in uses_of(store).values():
            with pytest.raises(StoreError, match="is a replica") as caught:
                use()
            assert "primary" in caught.value.next_step
        assert store.job("j1").state is JobState.QUEUED
    finally:
        server.ask("REPLICAOF", "NO", "ONE")


def test_a_server_without_memory_changes_nothing(server, store):
    store.submit("j1", REQUEST)
    lease = store.claim("j3", TableRef("lake", ("db",), "u"), "rollback", 60)
    before = server.ask("DEBUG", "DIGEST")
    server.ask("CONFIG", "SET", "maxmemory", "1")
    try:
        uses = {
            **uses_of(store),
            "renew": lambda: store.renew(lease, 60),
            "retry": lambda: store.retry(lease, "why"),
            "finish": lambda: finish(store, lease),
        }
        for use in uses.values():
            with pytest.raises(StoreError, match="is out of memory") as caught:
                use()
            assert "maxmemory" in caught.value.next_step
        assert [job.job_id for job in store.jobs()] == ["j3", "j1"]
    finally:
        server.ask("CONFIG", "SET", "maxmemory", "0")
    assert server.ask("DEBUG", "DIGEST") == before


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-random"])
def test_a_server_that_may_drop_claims_is_refused(server, store, policy):
    server.ask("CONFIG", "SET", "maxmemory-policy", policy)
    try:
        for use in (store.check, *uses_of(store).values()):
            with pytest.raises(StoreError, match="may drop any key"):
                use()
    finally:
        server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    assert server.ask("KEYS", "*") == []
    store.check()


def test_a_user_with_few_rights_is_explained(server, store):
    server.ask("ACL", "SETUSER", "few", "on", ">canary-5f2a9", "~*", "+get", "+evalsha")
    url = server.url.replace("redis://", "redis://few:canary-5f2a9@")

    with pytest.raises(StoreError, match="does not allow its user") as caught:
        RedisStore(url).submit("j1", REQUEST)
    assert "canary" not in f"{caught.value}{caught.value.next_step}{caught.value.__cause__}"


def test_a_user_with_the_keys_of_the_prefix_is_enough(server, store):
    rights = ("~{neve}:*", "+@all", "-@admin", "-@dangerous")
    server.ask("ACL", "SETUSER", "enough", "on", ">p%40ss/wörd", *rights)
    url = server.url.replace("redis://", "redis://enough:p%2540ss%2Fw%C3%B6rd@")

    own = RedisStore(url)
    own.submit("j1", REQUEST)
    finish(own, own.claim_next(60))
    assert own.job("j1").state is JobState.SUCCEEDED


def test_every_script_that_is_called_is_there():
    folder = Path(str(files("neve.store.redis")))
    called = {
        name
        for path in folder.glob("*.py")
        for name in re.findall(r'\.(?:read|change|change_all)\(\s*"(\w+)"', path.read_text())
    }
    there = {path.stem for path in (folder / "scripts").glob("*.lua")}

    assert len(called) > 30
    assert called - there == set()
