"""Groups of writes become snapshots: each write once, whatever becomes of a commit."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from tests.edges.database.conftest import COLUMNS, POISON, USERS, Snapshot

from neve.database.group_commit import GroupCommit
from neve.database.writing import MAX_SPLITS, BatchWriter, PendingWrite, Written
from neve.model.database import Column
from neve.model.errors import (
    CatalogError,
    CommitConflict,
    CommitUnknown,
    KeyReused,
    RecordsRefused,
    StoreError,
    TableBusy,
    TableNotFound,
)
from neve.model.write_keys import write_key


@pytest.fixture
def told():
    return []


@pytest.fixture
def writer(tables, store, told):
    def committed(table, uuid, total, writes):
        told.append(total)
        for write in writes:
            write.succeed()

    return BatchWriter(tables, store, committed, told.append, sleep=lambda _: None)


def write(name, key=None, tenant="a"):
    records = [{"name": name}]
    return PendingWrite(records, write_key(tenant, key, records) if key else None)


def end(pending):
    return pending.future.result(timeout=0)


def commit(writer, *group):
    """As the group's thread does it: an error is for all that have no end."""
    try:
        writer.commit(USERS, group)
    except Exception as error:
        for item in group:
            item.fail(error)
        raise


def test_a_group_is_one_snapshot_and_counted(writer, tables, told):
    group = [write("a"), write("b", "k1"), write("c", "k2")]
    commit(writer, *group)

    assert [row["name"] for row in tables.rows] == ["a", "b", "c"]
    assert len(tables.snapshots) == 1
    assert [end(item) for item in group] == [Written(1)] * 3
    assert told == [3]


def test_records_that_do_not_fit_are_refused_alone(writer, tables):
    bad, good = PendingWrite([{"name": 1}]), write("b")
    commit(writer, bad, good)

    assert isinstance(bad.future.exception(timeout=0), RecordsRefused)
    assert end(good) == Written(1)
    assert [row["name"] for row in tables.rows] == ["b"]


@pytest.mark.promise(53)
@pytest.mark.parametrize("fates", [["conflict"], ["lost"], ["late"], ["late", "lost", "conflict"]])
@pytest.mark.parametrize("key", [None, "k"])
def test_however_a_commit_ends_its_rows_are_there_once(writer, tables, store, fates, key, told):
    tables.fates = list(fates)
    pending = write("a", key)
    commit(writer, pending)

    assert end(pending).records == 1
    assert [row["name"] for row in tables.rows] == ["a"]
    assert tables.staged == 1, "data files are written once"
    assert told == [1]


@pytest.mark.promise(53)
def test_a_commit_that_arrives_late_is_found_by_the_next_attempt(writer, tables, told):
    def arrive():
        head, made = tables.late.pop()
        assert head == len(tables.snapshots)
        tables.snapshots.append(made)

    tables.fates = ["late", arrive]
    pending = write("a")
    commit(writer, pending)

    assert end(pending) == Written(1)
    assert [row["name"] for row in tables.rows] == ["a"]


@pytest.mark.promise(53)
def test_the_same_key_counts_once_also_after_a_crash(writer, tables, store):
    """The process ended after the commit: nothing but the snapshot knows of it."""
    lost = write("a", "k")
    tables.snapshots.append(Snapshot("w", lost.key.key + lost.key.content, [{"name": "a"}]))
    again = write("a", "k")
    commit(writer, again)

    assert end(again) == Written(1, is_repeat=True)
    assert len(tables.rows) == 1
    assert store.writes.record("u1", []) == 1, "it is counted by whoever finds it"


def test_the_same_key_counts_once_where_its_snapshot_is_gone(writer, tables):
    commit(writer, write("a", "k"))
    tables.snapshots.clear()
    again = write("a", "k")
    commit(writer, again)

    assert end(again) == Written(1, is_repeat=True)
    assert tables.rows == []


@pytest.mark.promise(53)
def test_another_server_that_wrote_the_same_key_meanwhile_is_seen(writer, tables):
    mine, other = write("a", "k"), write("b")

    def race():
        snapshot = Snapshot("theirs", mine.key.key + mine.key.content, [{"name": "a"}])
        tables.snapshots.append(snapshot)

    tables.fates = [race]
    commit(writer, mine, other)

    assert end(mine) == Written(1, is_repeat=True)
    assert end(other) == Written(1)
    assert sorted(row["name"] for row in tables.rows) == ["a", "b"]


def test_a_key_with_other_rows_is_refused_wherever_it_is_known(writer, tables, store):
    first, same, differs = write("a", "k"), write("a", "k"), write("b", "k")
    commit(writer, first, same, differs)

    assert [end(first).is_repeat, end(same).is_repeat] == [False, True]
    assert isinstance(differs.future.exception(timeout=0), KeyReused)
    later = write("c", "k")
    commit(writer, later)
    assert isinstance(later.future.exception(timeout=0), KeyReused)
    assert len(tables.rows) == 1


def test_keys_of_tenants_are_their_own(writer, tables):
    commit(writer, write("a", "k", tenant="x"), write("a", "k", tenant="y"))
    assert len(tables.rows) == 2


def test_what_was_left_behind_is_remembered_and_told(writer, tables, store):
    tables.fates = ["conflict"] * 100
    pending = write("a")
    with pytest.raises(CommitConflict):
        commit(writer, pending)

    assert isinstance(pending.future.exception(timeout=0), CommitConflict)
    assert store.uncommitted_files(USERS) == ["file:///1"]


def test_after_an_unknown_commit_nothing_is_called_left_behind(writer, tables, store):
    tables.fates = ["late"] * 100
    with pytest.raises(CommitUnknown):
        commit(writer, write("a"))
    assert store.uncommitted_files(USERS) == []


def test_rows_are_written_again_where_the_schema_changes(writer, tables, store):
    def evolve():
        tables.columns = (*COLUMNS, Column("city", "string"))
        tables.snapshots.append(Snapshot("theirs", "", []))

    tables.fates = [evolve]
    commit(writer, write("a"))

    assert tables.staged == 2
    assert store.uncommitted_files(USERS) == ["file:///1"]
    assert len(tables.rows) == 1


def test_rows_are_written_again_for_a_table_that_was_made_anew(writer, tables):
    """Its ids of schema and spec begin anew, too."""

    def drop_and_create():
        tables.uuid = "u2"
        tables.snapshots.append(Snapshot("theirs", "", []))

    tables.fates = [drop_and_create]
    commit(writer, write("a"))
    assert tables.staged == 2


@pytest.mark.promise(51)
@pytest.mark.parametrize("trouble", ["gone", "other columns"])
def test_what_goes_wrong_after_an_unknown_commit_leaves_it_unknown(writer, tables, trouble):
    def sleep(_):
        if trouble == "gone":
            tables.is_there = False
        else:
            tables.columns = (Column("name", "long"),)

    tables.fates, writer._sleep = ["late"], sleep
    pending = write("a")
    with suppress(CommitUnknown):
        commit(writer, pending)
    assert isinstance(pending.future.exception(timeout=0), CommitUnknown)


def test_a_table_that_is_gone_is_told_to_all(writer, tables):
    tables.is_there = False
    pending = write("a")
    with pytest.raises(TableNotFound):
        commit(writer, pending)
    assert isinstance(pending.future.exception(timeout=0), TableNotFound)


def test_a_state_that_fails_after_the_commit_fails_no_write(
    writer, tables, store, told, monkeypatch
):
    def fail(*_):
        raise StoreError("It is away.")

    monkeypatch.setattr(store.writes, "record", fail)
    pending = write("a", "k")
    commit(writer, pending)

    assert end(pending) == Written(1)
    assert "It is away." in told[0]


def test_what_arrives_during_a_commit_is_committed_together():
    sizes, first, go = [], threading.Event(), threading.Event()

    def commit(key, group):
        sizes.append(len(group))
        first.set()
        go.wait(10)
        for item in group:
            item.succeed()

    with ThreadPoolExecutor(2) as pool:
        gather = GroupCommit(commit, pool, max_items=6, max_size=5, max_waiting=8)
        items = [write(str(number)) for number in range(8)]
        gather.add(USERS, items[0])
        assert first.wait(10)
        for item in items[1:]:
            gather.add(USERS, item)
        go.set()
        assert all(item.future.result(10) for item in items)

    assert sizes == [1, 5, 2]


def test_too_many_waiting_are_refused():
    go = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        gather = GroupCommit(lambda key, group: go.wait(10), pool, max_items=1, max_waiting=1)
        pool.submit(go.wait, 10)
        gather.add(USERS, write("a"))
        with pytest.raises(TableBusy):
            gather.add(USERS, write("b"))
        gather.add(USERS.sibling("other"), write("c"))
        go.set()


def test_an_error_of_a_group_is_told_to_it_and_the_next_one_goes_on():
    def commit(key, group):
        if group[0].records[0]["name"] == "bad":
            raise ValueError("no")
        group[0].succeed()

    with ThreadPoolExecutor(1) as pool:
        gather = GroupCommit(commit, pool)
        bad, good = write("bad"), write("good")
        gather.add(USERS, bad)
        with pytest.raises(ValueError, match="no"):
            bad.future.result(10)
        gather.add(USERS, good)
        assert good.future.result(10) == Written(1)


@pytest.mark.promise(53)
@pytest.mark.parametrize("place", range(7))
def test_a_write_that_no_file_takes_fails_alone(writer, tables, store, place):
    names = [POISON if number == place else f"n{number}" for number in range(7)]
    group = [write(name, f"k{number}") for number, name in enumerate(names)]
    commit(writer, *group)

    for number, pending in enumerate(group):
        if number == place:
            with pytest.raises(RecordsRefused):
                end(pending)
        else:
            assert end(pending) == Written(1)
    assert sorted(row["name"] for row in tables.rows) == sorted(set(names) - {POISON})
    known = store.writes.known("u1", [pending.key.key for pending in group])
    assert set(known) == {p.key.key for n, p in enumerate(group) if n != place}
    # Its key is free for rows that can be written.
    again = write("better", f"k{place}")
    commit(writer, again)
    assert end(again) == Written(1)
    assert store.writes.record("u1", []) == 7


def test_repeats_of_a_bad_write_share_its_fate_and_of_a_good_one_count_once(writer, tables):
    bad, good = [write(POISON, "b") for _ in range(3)], [write("a", "g") for _ in range(3)]
    group = [pending for pair in zip(bad, good, strict=True) for pending in pair]
    commit(writer, *group, write("z"))

    for pending in bad:
        with pytest.raises(RecordsRefused):
            end(pending)
    assert sorted(end(pending).is_repeat for pending in good) == [False, True, True]
    assert sorted(row["name"] for row in tables.rows) == ["a", "z"]


def test_a_group_of_which_nothing_can_be_written_is_given_up(writer, tables):
    group = [write(POISON) for _ in range(200)]
    with suppress(RecordsRefused):
        commit(writer, *group)
    for pending in group:
        with pytest.raises(RecordsRefused):
            end(pending)
    assert tables.staged < 200 + MAX_SPLITS


def test_a_storage_that_is_away_is_asked_once(writer, tables):
    tables.is_down = True
    with pytest.raises(CatalogError):
        commit(writer, *(write(str(number)) for number in range(100)))
    assert tables.staged == 1
