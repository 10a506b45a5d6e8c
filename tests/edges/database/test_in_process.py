"""COMPACT without Spark: the same frame and proof, committed by pyiceberg on the present head."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import FloatType, NestedField
from tests.edges.database.lake import FIELDS, ask, create, open_neve, rows, write
from tests.other_table import give_name_to_another

from neve.catalog import replacing
from neve.model.errors import EngineNeeded, NeveError
from neve.model.facts import DeleteKind
from neve.model.job import JobState
from neve.testing.facts import delete_file

USERS = "lake.t_a__default.users"
#: Where a data file of pyiceberg keeps its size.
SIZE_IN_BYTES = 5
TYPED = {
    **FIELDS,
    "price": {"type": "decimal(9, 2)"},
    "x": {"type": "double"},
    "day": {"type": "date"},
}


@pytest.fixture
def neve(tmp_path):
    with open_neve(tmp_path, local_compact_mb=1) as opened:
        yield opened


@pytest.fixture
def database(neve):
    """Two partitions, one of them of nulls, and a file that is small in each write."""
    create(neve.database, fields=TYPED, partitioning=[{"field": "age"}])
    for number in range(3):
        record = {"name": f"n{number}", "price": "1.25", "x": number / 3, "day": "2024-02-29"}
        write(neve.database, {**record, "age": 1}, {**record, "name": "z", "x": None})
    return neve.database


def told(database):
    return sorted(map(str, rows(database)))


def compact(database, **more):
    return database.compact_here(ask("COMPACT", **more))


@pytest.mark.promise(55)
def test_rows_stay_and_the_job_is_like_any_other(neve, database):
    before = told(database)
    answer = compact(database, expire_snapshots=True)

    facts = neve.survey(USERS)
    assert told(database) == before
    assert (answer.stats.files_before, answer.stats.files_after) == (6, 2)
    assert len(facts.data_files) == 2
    last = facts.snapshots[-1]
    assert (last.operation, last.summary["neve.job-id"]) == ("replace", answer.job_id)
    assert '"level": "rows"' in last.summary["neve.proof"]
    assert neve.job(answer.job_id).state is JobState.SUCCEEDED
    assert "Snapshots were not expired" in answer.reason
    assert neve.diagnose(USERS).findings == ()
    assert not compact(database, force=True).compacted, "it converges"
    neve.rollback(USERS, job_id=answer.job_id)
    assert told(database) == before


def test_statistics_of_new_files_prune_as_they_should(neve, database):
    compact(database)
    table = neve._app.catalogs.load(neve.table(USERS))
    assert [task.file.record_count for task in table.scan("age = 1").plan_files()] == [3]
    assert list(table.scan("x > 5.0").plan_files()) == []
    assert len(list(table.scan("name = 'n1'").plan_files())) == 1


@pytest.mark.promise(55)
@pytest.mark.parametrize(
    "error", [CommitFailedException("x"), CommitStateUnknownException("x"), OSError("x")]
)
@pytest.mark.parametrize("is_applied", [True, False])
def test_whatever_a_catalog_answers_rows_stay(neve, database, error, is_applied, monkeypatch):
    catalog = type(neve._app.catalogs.writable("lake"))
    send, answers, before = catalog.commit_table, [error], told(database)

    def commit_table(self, table, requirements, updates):
        is_ours = any("neve.job-id" in str(update) for update in updates)
        if not (answers and is_ours):
            return send(self, table, requirements, updates)
        if is_applied:
            send(self, table, requirements, updates)
        raise answers.pop()

    monkeypatch.setattr(catalog, "commit_table", commit_table)
    try:
        assert compact(database).compacted
    except NeveError:
        assert not is_applied
    assert told(database) == before


@pytest.mark.promise(55)
def test_a_writer_in_between_stays(neve, database, monkeypatch):
    live, others = replacing._live_files, ["late"]

    def with_another(ref, judged):
        if others:
            write(database, {"name": others.pop(), "age": 1})
        return live(ref, judged)

    monkeypatch.setattr(replacing, "_live_files", with_another)
    answer = compact(database)

    assert answer.compacted
    assert len(rows(database)) == 7
    assert [row["name"] for row in rows(database)].count("late") == 1


@pytest.mark.promise(55)
def test_a_file_that_a_writer_replaced_is_left(neve, database, monkeypatch):
    live, others = replacing._live_files, [1]

    def with_another(ref, judged):
        if others.pop() if others else None:
            table = neve._app.catalogs.writable("lake").load_table(("t_a__default", "users"))
            table.delete("age = 1")
            judged.refresh()
        return live(ref, judged)

    monkeypatch.setattr(replacing, "_live_files", with_another)
    compact(database)
    assert sorted(row["age"] is None for row in rows(database)) == [True] * 3


@pytest.mark.promise(55)
def test_a_file_that_was_written_anew_under_its_own_path_is_left(neve, database, monkeypatch):
    """A writer that reuses names takes the file out, writes other rows, and adds it again."""
    live, expected = replacing._live_files, []

    def with_another(ref, judged):
        if not expected:
            write_anew(neve._app.catalogs.writable("lake").load_table(("t_a__default", "users")))
            expected.extend(told(database))
            judged.refresh()
        return live(ref, judged)

    monkeypatch.setattr(replacing, "_live_files", with_another)
    compact(database)
    assert sum("'new'" in row for row in expected) == 1
    assert told(database) == expected


def write_anew(table):
    """Other rows in one file of a partition, by its own path."""
    file = next(task.file for task in table.scan("age = 1").plan_files())
    path = Path(file.file_path.removeprefix("file://"))
    found = pq.read_table(path, partitioning=None)
    with table.transaction() as change, change.update_snapshot().overwrite() as overwriting:
        overwriting.delete_data_file(file)
    at = found.schema.get_field_index("name")
    anew = pa.array(["new"] * found.num_rows, found.schema.field(at).type)
    pq.write_table(found.set_column(at, found.schema.field(at), anew), path)
    file[SIZE_IN_BYTES] = path.stat().st_size
    with table.transaction() as change, change.update_snapshot().fast_append() as appending:
        appending.append_data_file(file)


@pytest.mark.promise(55)
def test_another_table_that_has_the_name_by_then_is_left(neve, database, monkeypatch):
    catalog, load = neve._app.catalogs.writable("lake"), replacing.load
    name, others = ("t_a__default", "users"), [1]

    def load_another(ref, catalog):
        if others:
            others.pop()
            give_name_to_another(catalog, name)
        return load(ref, catalog)

    monkeypatch.setattr(replacing, "load", load_another)
    with pytest.raises(NeveError, match="another table"):
        compact(database)
    for each in (name, ("t_a__default", "users_before")):
        snapshots = catalog.load_table(each).metadata.snapshots
        assert "replace" not in {str(snapshot.summary.operation.value) for snapshot in snapshots}


def test_what_only_a_service_can_do_is_refused_with_the_reason(neve, database, monkeypatch):
    facts = neve.survey(USERS)

    def refused(**changed):
        from dataclasses import replace

        survey = lambda *_, **__: replace(facts, **changed)  # noqa: E731
        monkeypatch.setattr(database._services.surveyor, "survey", survey)
        with pytest.raises(EngineNeeded) as caught:
            compact(database)
        assert "service_url" in caught.value.next_step
        return caught.value.message

    from dataclasses import replace

    big = tuple(replace(file, size_bytes=600_000) for file in facts.data_files)
    assert "larger than 1 MB" in refused(data_files=big)
    assert "format version 3" in refused(format_version=3)
    assert "delete files" in refused(
        delete_files=(delete_file("d", DeleteKind.POSITION, path=f"{facts.location}/d"),)
    )
    assert neve.history() == []


def test_files_that_need_spark_are_refused_before_there_is_a_job(neve):
    create(neve.database)
    for number in range(3):
        write(neve.database, {"name": str(number)})
    table = neve._app.catalogs.writable("lake").load_table(("t_a__default", "users"))
    with table.transaction() as change:
        change.set_properties({"write.parquet.bloom-filter-enabled.column.name": "true"})
    with pytest.raises(EngineNeeded, match="need Spark"):
        compact(neve.database)
    assert neve.history() == []


@pytest.mark.promise(55)
def test_partitions_of_doubles_are_for_spark(neve):
    create(neve.database, fields=TYPED, partitioning=[{"field": "x"}])
    for number in range(3):
        write(neve.database, {"name": "a", "x": 0.1}, {"name": f"b{number}", "x": number / 3})

    with pytest.raises(EngineNeeded, match="partitioned by doubles"):
        compact(neve.database, force=True)


@pytest.mark.promise(55)
def test_zeros_of_either_sign_stay_two_partitions(neve):
    """-0.0 equals 0.0 for Python, and is another partition for Iceberg."""
    fill_by_floats(neve, *([value] for value in (0.0, -0.0, 1.5) * 2))

    assert compact(neve.database, force=True).compacted

    files = neve.survey(USERS).data_files
    assert sorted((str(f.partition[1][0]), f.record_count) for f in files) == [
        ("-0.0", 2),
        ("0.0", 2),
        ("1.5", 2),
    ]


@pytest.mark.promise(55)
def test_files_that_only_their_rows_show_to_need_spark_fail_the_job_and_stay(neve):
    """pyiceberg has written both rows into both partitions."""
    fill_by_floats(neve, *[[0.0, -0.0]] * 3)
    head = neve.survey(USERS).snapshot_id

    with pytest.raises(EngineNeeded):
        compact(neve.database, force=True)

    assert neve.survey(USERS).snapshot_id == head
    assert [job.state for job in neve._app.store.jobs()] == [JobState.FAILED]


def fill_by_floats(neve, *appends):
    """The table, partitioned by floats, with a commit for each list of them."""
    create(neve.database)
    catalog = neve._app.catalogs.writable("lake")
    catalog.drop_table(("t_a__default", "users"))
    schema = Schema(NestedField(1, "p", FloatType(), required=False))
    by = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "p"))
    table = catalog.create_table(("t_a__default", "users"), schema, partition_spec=by)
    for values in appends:
        table.append(pa.table({"p": pa.array(values, pa.float32())}))


@pytest.mark.promise(55)
@pytest.mark.parametrize("spoil", [lambda found: found[:-1], lambda found: [*found, found[0]]])
def test_manifests_that_are_read_otherwise_are_not_written_anew(neve, database, monkeypatch, spoil):
    before, fetch = told(database), replacing.ManifestFile.fetch_manifest_entry
    head = neve.survey(USERS).snapshot_id

    def fetch_manifest_entry(self, *arguments, **options):
        return spoil(fetch(self, *arguments, **options))

    monkeypatch.setattr(replacing.ManifestFile, "fetch_manifest_entry", fetch_manifest_entry)
    with pytest.raises(NeveError):
        compact(database, force=True)
    monkeypatch.undo()
    assert (neve.survey(USERS).snapshot_id, told(database)) == (head, before)


def test_a_write_leaves_the_manifests_of_others_as_they_are(neve, database):
    table = neve._app.catalogs.writable("lake").load_table(("t_a__default", "users"))
    merging = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "1"}
    with table.transaction() as transaction:
        transaction.set_properties(merging)

    def manifests():
        return {manifest.path for manifest in neve.survey(USERS).manifests}

    before = manifests()
    write(database, {"name": "late", "age": 1})
    assert before < manifests()
