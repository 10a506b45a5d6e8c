"""The four operations on tables of this disk, as a server runs them."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from tests.edges.database.lake import ask, create, open_neve, rows, write

from neve.catalog import appending
from neve.database.compacting import still_running
from neve.model.errors import (
    CommitUnknown,
    ExecutionError,
    InputError,
    RecordsRefused,
    TableExists,
    TableNotFound,
)
from neve.model.job import JobState, Trigger
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.testing.facts import NOW
from neve.testing.local_lake import LocalLake

USERS = "lake.t_a__default.users"


@pytest.fixture
def neve(tmp_path):
    with open_neve(tmp_path) as opened:
        yield opened


@pytest.fixture
def database(neve):
    create(neve.database)
    return neve.database


def loaded(neve, table=USERS):
    return neve._app.catalogs.load(neve.table(table))


def test_a_new_table_has_the_properties_of_the_configuration(neve):
    answer = create(neve.database, partitioning=[{"field": "name"}])

    table = loaded(neve)
    assert (answer.created, answer.table) == (True, USERS)
    assert {key: table.properties[key] for key in table.properties if key.startswith("write")} == {
        "write.target-file-size-bytes": str(128 * 1024 * 1024),
        "write.parquet.compression-codec": "zstd",
        "write.parquet.row-group-limit": "8192",
    }
    assert str(table.schema().find_field("age").field_type) == "long"
    assert table.schema().find_field("name").required
    assert [field.name for field in table.spec().fields] == ["name"]


def test_a_table_that_is_there_is_left_as_it_is(neve):
    create(neve.database)
    other = {"x": {"type": "string"}}
    with pytest.raises(TableExists, match="users exists"):
        create(neve.database, fields=other)
    assert not create(neve.database, fields=other, if_not_exists=True).created
    assert [field.name for field in loaded(neve).schema().fields] == ["name", "age"]


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ({"a": {"type": "blob"}}, {}),
        ({"a": {"type": "decimal(39, 1)"}}, {}),
        ({"a": {"type": "decimal(2, 3)"}}, {}),
        ({"a": {"type": "long"}, "A": {"type": "long"}}, {}),
        ({"a\u200b": {"type": "long"}}, {}),
        ({" a": {"type": "long"}}, {}),
        ({"a": {"type": "long"}}, {"partitioning": [{"field": "b"}]}),
        ({"a": {"type": "long"}}, {"partitioning": [{"field": "a", "transform": "day"}]}),
        ({"a": {"type": "long"}}, {"partitioning": [{"field": "a", "transform": "bucket"}]}),
        ({"a": {"type": "long"}}, {"partitioning": [{"field": "a", "width": 3}]}),
        ({"a": {"type": "long"}}, {"partitioning": [{"field": "a"}, {"field": "a"}]}),
        ({"a": {"type": "uuid"}}, {"partitioning": [{"field": "a"}]}),
        (
            {"a": {"type": "timestamp"}},
            {"partitioning": [{"field": "a"}, {"field": "a", "transform": "day"}]},
        ),
        ({"a": {"type": "struct", "fields": {"b": {"type": "long"}}}, "a.b": {"type": "long"}}, {}),
        ({"a": {"type": "list", "element": {"type": "long"}}, "a.element": {"type": "long"}}, {}),
    ],
)
def test_what_cannot_be_made_is_refused_and_nothing_is_made(neve, fields, more):
    with pytest.raises(InputError):
        create(neve.database, fields=fields, **more)
    assert neve.tables() == []


@pytest.mark.parametrize(
    ("kind", "transform", "value"),
    [
        ("date", {"transform": "month"}, "2024-02-29"),
        ("timestamp", {"transform": "hour"}, "2024-02-29T01:02:03"),
        ("timestamptz", {"transform": "day"}, "2024-02-29T01:02:03Z"),
        ("string", {"transform": "truncate", "width": 2}, "abc"),
        ("long", {"transform": "bucket", "width": 4}, 7),
        ("boolean", {}, True),
        ("uuid", {"transform": "bucket", "width": 4}, "12345678-1234-5678-1234-567812345678"),
        ("decimal(9, 2)", {}, "1.25"),
    ],
)
def test_partitioned_tables_are_written_and_read(neve, kind, transform, value):
    create(neve.database, fields={"c": {"type": kind}}, partitioning=[{"field": "c", **transform}])
    write(neve.database, {"c": value}, {})

    assert loaded(neve).inspect.partitions().num_rows == 2
    assert len(rows(neve.database)) == 2


SAMPLES = {
    "string": "\u00e4/../%2f x", "long": -(2**63), "int": -(2**31), "float": 0.5, "double": -1e308,
    "boolean": True, "date": "0001-01-01", "time": "23:59:59.999999",
    "timestamp": "0001-01-01T00:00:00", "timestamptz": "9999-12-31T23:59:59.999999Z",
    "uuid": "12345678-1234-5678-1234-567812345678", "binary": "AAEC/w==", "decimal(9, 2)": "-1.25",
}  # fmt: skip


@pytest.mark.parametrize("kind", SAMPLES)
def test_what_can_be_made_can_be_written_by_every_transform(neve, kind):
    transforms = [{"transform": name} for name in ("identity", "year", "month", "day", "hour")]
    transforms += [{"transform": name, "width": 3} for name in ("bucket", "truncate")]
    for number, transform in enumerate(transforms):
        place = {"tenant": "t", "table": f"t{number}"}
        parts = [{"field": "c", **transform}]
        try:
            create(neve.database, fields={"c": {"type": kind}}, partitioning=parts, **place)
        except InputError:
            continue
        write(neve.database, {"c": SAMPLES[kind]}, {}, **place)
        found = rows(neve.database, f"SELECT count(c) AS n FROM t{number}", **place)
        assert found == [{"n": 1}], transform


@pytest.mark.promise(53)
def test_a_value_that_no_path_holds_fails_its_own_write_alone(neve, monkeypatch):
    create(neve.database, partitioning=[{"field": "name"}])
    gate, load = threading.Event(), appending.PyicebergTable.stage

    def slow(self, staged):
        gate.wait(10)
        return load(self, staged)

    monkeypatch.setattr(appending.PyicebergTable, "stage", slow)
    names = ["a", "x" * 5000, "b", "c"]
    sent = [ask("WRITE", records=[{"name": name}], idempotency_key=name[:9]) for name in names]
    futures = [neve.database.begin_write(request) for request in sent]
    gate.set()
    ends = [future.exception(30) for future in futures]

    assert [type(error) for error in ends] == [type(None), RecordsRefused, type(None), type(None)]
    assert sorted(row["name"] for row in rows(neve.database)) == ["a", "b", "c"]
    assert neve.database.write(sent[2]).repeated


@pytest.mark.promise(53)
def test_many_writes_at_once_are_there_once_each(neve, database):
    def send(number):
        return write(database, {"name": str(number % 40)}, key=f"k{number % 40}")

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(send, range(80)))

    assert sum(answer.repeated for answer in answers) == 40
    assert sorted(int(row["name"]) for row in rows(database)) == list(range(40))
    assert neve._services.store.writes.record(str(loaded(neve).metadata.table_uuid), []) == 40


def test_writes_of_all_threads_are_gathered(neve, database, monkeypatch):
    gate, commits = threading.Event(), []
    commit = appending.PyicebergTable.commit

    def slow(self, *arguments):
        commits.append(1)
        gate.wait(10)
        return commit(self, *arguments)

    monkeypatch.setattr(appending.PyicebergTable, "commit", slow)
    futures = [
        database.begin_write(ask("WRITE", records=[{"name": str(number)}])) for number in range(50)
    ]
    gate.set()
    assert [future.result(30).records for future in futures] == [1] * 50

    assert len(commits) <= 3
    assert len(loaded(neve).metadata.snapshots) == len(commits)
    assert sorted(int(row["name"]) for row in rows(database)) == list(range(50))


@pytest.mark.promise(53)
@pytest.mark.parametrize(
    "error",
    [CommitFailedException("conflict"), CommitStateUnknownException("gateway"), OSError("x")],
)
@pytest.mark.parametrize("is_applied", [True, False])
def test_whatever_a_catalog_answers_rows_are_there_once_and_no_file_is_deleted(
    neve, database, error, is_applied, monkeypatch
):
    catalog = type(neve._app.catalogs.writable("lake"))
    send, answers = catalog.commit_table, [error]

    def commit_table(self, table, requirements, updates):
        if not answers:
            return send(self, table, requirements, updates)
        if is_applied:
            send(self, table, requirements, updates)
        raise answers.pop()

    monkeypatch.setattr(catalog, "commit_table", commit_table)
    monkeypatch.setattr("neve.database.writing.time.sleep", lambda _: None)
    write(database, {"name": "a"}, key="k")
    again = write(database, {"name": "a"}, key="k")

    assert again.repeated
    assert rows(database) == [{"name": "a", "age": None}]
    assert len(loaded(neve).metadata.snapshots) == 1


def test_a_commit_that_is_never_answered_is_unknown(neve, database, monkeypatch):
    def commit_table(*_):
        raise CommitStateUnknownException("gateway")

    catalog = type(neve._app.catalogs.writable("lake"))
    monkeypatch.setattr(catalog, "commit_table", commit_table)
    monkeypatch.setattr(database._writer, "_sleep", lambda _: None)
    with pytest.raises(CommitUnknown) as caught:
        write(database, {"name": "a"})
    assert "idempotency key" in caught.value.next_step


def test_a_table_that_is_not_there_is_told(neve):
    with pytest.raises(TableNotFound):
        write(neve.database, {"name": "a"})


def test_a_table_of_the_newest_version_is_left_to_spark(neve, tmp_path):
    from pyiceberg.schema import Schema
    from pyiceberg.types import NestedField, StringType

    lake = LocalLake(tmp_path / "lake")
    schema = Schema(NestedField(1, "name", StringType(), required=False))
    lake.create("t_a__default.users", schema, format_version=3)
    with pytest.raises(ExecutionError, match="format version 3"):
        write(neve.database, {"name": "a"})


def test_rows_that_do_not_fit_write_nothing(neve, database):
    with pytest.raises(RecordsRefused):
        write(database, {"name": "a"}, {"name": 5})
    assert loaded(neve).metadata.snapshots == []


@pytest.mark.promise(53)
def test_every_fifth_write_counts_small_files_also_after_a_restart(neve, database, tmp_path):
    answers = [write(database, {"name": "a"}) for _ in range(4)]
    with open_neve(tmp_path) as other:
        answers.append(write(other.database, {"name": "a"}))
        answers.append(write(other.database, {"name": "a"}))

    found = [(a.compaction_recommended, a.small_files_count) for a in answers]
    assert found == [(False, None)] * 4 + [(True, 5), (False, None)]


def test_where_counting_is_off_nothing_is_recommended(tmp_path):
    with open_neve(tmp_path, compaction={"enabled": False}) as neve:
        create(neve.database)
        answers = [write(neve.database, {"name": "a"}) for _ in range(5)]
        # It can still be asked for.
        assert neve.database.begin_compact(ask("COMPACT")).rewrite_job_id is not None

    found = {(a.compaction_recommended, a.small_files_count) for a in answers}
    assert found == {(False, None)}


@pytest.mark.promise(53)
def test_a_count_that_fails_fails_no_write(neve, database, monkeypatch):
    def fail(table):
        raise ExecutionError("no")

    warnings = []
    monkeypatch.setattr(database._detector, "_survey", fail)
    monkeypatch.setattr(database._detector, "_warn", warnings.append)
    assert {write(database, {"name": "a"}).records_written for _ in range(5)} == {1}
    assert len(warnings) == 1


def test_warnings_go_where_those_of_jobs_go(neve):
    assert neve.database._services.warn is neve._app.maintenance.warn


def test_a_recommendation_may_become_a_job(tmp_path):
    with open_neve(tmp_path, compaction={"submit_recommended": True}) as neve:
        create(neve.database, tenant="x-y")
        for number in range(10):
            write(neve.database, {"name": str(number)}, tenant="x-y")
        neve.database.close()
        (job,) = neve.history()

    assert (job.operation, job.trigger, job.tenant) == ("rewrite_data_files", Trigger.EVENT, "x-y")


@pytest.mark.promise(60)
def test_a_recommendation_becomes_no_job_where_its_tenant_has_no_room(tmp_path):
    access = {"quotas": {"x-y": {"max_open_jobs": 0}}}
    with open_neve(tmp_path, access=access, compaction={"submit_recommended": True}) as neve:
        create(neve.database, tenant="x-y")
        warnings = []
        neve.database._services = replace(neve.database._services, warn=warnings.append)
        for number in range(5):
            write(neve.database, {"name": str(number)}, tenant="x-y")
        neve.database.close()
        assert neve.history() == []
    assert "may have 0" in warnings[0]


def finish(neve, stats):
    """Do what a worker does with the next job."""
    store = neve._services.store
    lease = store.claim_next(60)
    job = store.job(lease.job_id)
    end = NOW + timedelta(seconds=1)
    outcome = Outcome(
        job.job_id, job.table, job.operation, Status.SUCCEEDED, "Done.", NOW, end, stats=stats
    )
    store.finish(lease, outcome)
    store.release(lease)
    return job


def five(database):
    for number in range(5):
        write(database, {"name": str(number)})


def test_few_small_files_are_left_alone_unless_forced(neve, database):
    write(database, {"name": "a"})
    write(database, {"name": "b"})
    begun = database.begin_compact(ask("COMPACT"))
    answer = database.compaction(begun)

    assert neve.history() == []
    assert (answer.success, answer.compacted) == (True, False)
    assert "2 files are smaller than 64 MB; 3 are needed" in answer.reason
    assert (answer.stats.files_before, answer.stats.small_files_remaining) == (2, 2)
    assert len(database.begin_compact(ask("COMPACT", force=True)).job_ids) == 1


def test_a_compaction_is_jobs_of_the_tenant_and_their_ten_statistics(neve, database):
    five(database)
    begun = database.begin_compact(ask("COMPACT", target_file_size_mb=256, expire_snapshots=True))
    assert database.compaction(begun) is None
    assert not still_running(begun).compacted

    stats = CompactionStats(5, 1, 5, 5, 5000, 1000, 4000, 0, 12.5, 1)
    rewrite = finish(neve, stats)
    expire = finish(neve, CompactionStats(snapshots_expired=3))
    answer = database.compaction(begun)

    assert [rewrite.tenant, rewrite.operation] == ["a", "rewrite_data_files"]
    assert rewrite.arguments["plan"]["target_file_size_bytes"] == 256 * 1024 * 1024
    # Another compaction that comes first is no failure of this one.
    assert rewrite.arguments["may_shrink"] is True
    assert expire.arguments == {"overrides": {"expire_snapshots.older_than": "168h"}}
    assert answer.compacted
    assert json.loads(answer.stats.model_dump_json()) == {
        "files_before": 5,
        "files_after": 1,
        "files_compacted": 5,
        "files_removed": 5,
        "bytes_before": 5000,
        "bytes_after": 1000,
        "bytes_saved": 4000,
        "snapshots_expired": 3,
        "compaction_time_ms": 12.5,
        "small_files_remaining": 1,
    }


def test_the_same_compaction_is_one_job_until_it_ends(neve, database):
    five(database)
    first, again = (database.begin_compact(ask("COMPACT")) for _ in range(2))
    assert first.rewrite_job_id == again.rewrite_job_id
    other = database.begin_compact(ask("COMPACT", max_files=3))
    assert other.rewrite_job_id != first.rewrite_job_id

    neve.cancel(first.rewrite_job_id)
    later = database.begin_compact(ask("COMPACT"))
    assert later.rewrite_job_id != first.rewrite_job_id
    write(database, {"name": "a"})
    assert database.begin_compact(ask("COMPACT")).rewrite_job_id != later.rewrite_job_id


def test_no_more_files_than_are_wanted_are_planned(neve, database):
    five(database)
    begun = database.begin_compact(ask("COMPACT", max_files=3, expire_snapshots=False))

    job = neve.job(begun.rewrite_job_id)
    (group,) = job.arguments["plan"]["steps"][0]["groups"]
    assert len(group["files"]) == 3
    assert begun.expire_job_id is None


def test_a_filter_chooses_partitions_and_a_bad_one_makes_no_job(neve):
    create(neve.database, partitioning=[{"field": "age"}])
    for age in (1, 1, 1, 2, 2, 2):
        write(neve.database, {"name": "a", "age": age})
    begun = neve.database.begin_compact(
        ask("COMPACT", partition_filter="age = 2", expire_snapshots=False)
    )
    groups = neve.job(begun.rewrite_job_id).arguments["plan"]["steps"][0]["groups"]
    assert [len(group["files"]) for group in groups] == [3]
    with pytest.raises(InputError):
        neve.database.begin_compact(ask("COMPACT", partition_filter="nope = 2"))


def test_a_job_that_failed_is_an_error_with_its_reason(neve, database):
    five(database)
    begun = database.begin_compact(ask("COMPACT", expire_snapshots=False))
    neve.cancel(begun.rewrite_job_id)
    assert neve.job(begun.rewrite_job_id).state is JobState.CANCELLED
    with pytest.raises(ExecutionError, match="The compaction cancelled"):
        database.compaction(begun)


def test_snapshots_that_were_not_expired_are_told_beside_the_rest(neve, database):
    five(database)
    begun = database.begin_compact(ask("COMPACT", expire_snapshots=True))
    finish(neve, CompactionStats(5, 1, 5))
    neve.cancel(begun.expire_job_id)

    answer = database.compaction(begun)
    assert answer.compacted
    assert "Snapshots were not expired" in answer.reason


@pytest.mark.promise(55)
def test_nothing_is_expired_because_a_field_was_left_out(database):
    five(database)
    begun = database.begin_compact(ask("COMPACT"))
    assert begun.rewrite_job_id is not None
    assert begun.expire_job_id is None
