"""Rows of the maintenance log, written without an engine, beside other writers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Transaction
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, TimestamptzType

from neve.catalog.connect import Catalogs
from neve.catalog.maintenance_log import NEW_LOG, CatalogLog
from neve.model.errors import CatalogError, CommitUnknown
from neve.model.outcome import CompactionStats, Outcome, Status
from neve.model.table import TableRef
from neve.planning.maintenance_log import LOG_COLUMNS, by_log
from neve.testing.local_lake import LocalLake

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
EVENTS = TableRef("lake", ("db",), "events")
LOG = EVENTS.sibling("_maintenance_log")


def outcome(job_id="j1", **changes):
    made = Outcome(
        job_id=job_id,
        table=EVENTS,
        operation="rewrite_data_files",
        status=Status.SUCCEEDED,
        reason="4 files became 1.",
        started_at=NOON,
        finished_at=NOON,
        stats=CompactionStats(files_before=4, files_after=1),
        snapshots_before=4,
        snapshots_after=5,
    )
    return replace(made, **changes)


@pytest.fixture
def lake(tmp_path):
    lake = LocalLake(tmp_path / "lake")
    lake.catalog.create_namespace("db")
    return lake


@pytest.fixture
def fallen():
    """Outcomes that were left to the engine."""
    return []


@pytest.fixture
def log(lake, fallen):
    def fall(outcomes):
        fallen.extend(outcomes)
        return list(by_log(outcomes))

    return CatalogLog(Catalogs({"lake": lake.properties}), fall, sleep=lambda _: None)


def rows(lake):
    return lake.catalog.load_table("db._maintenance_log").scan().to_arrow()


def test_a_missing_log_is_made_and_has_the_row(log, lake):
    assert log.write([outcome(run_id="dag-7")]) == [LOG]

    table = lake.catalog.load_table("db._maintenance_log")
    assert [(f.field_id, f.name, str(f.field_type), f.required) for f in table.schema().fields] == [
        (number, name, kind, False) for number, (name, kind) in enumerate(LOG_COLUMNS.items(), 1)
    ]
    assert rows(lake).to_pylist() == [
        {
            "table_name": "events",
            "operation": "optimize",
            "status": "completed",
            "details": "4 files became 1.",
            "snapshots_before": 4,
            "snapshots_after": 5,
            "files_before": 4,
            "files_after": 1,
            "dag_run_id": "dag-7",
            "executed_at": NOON.replace(tzinfo=None),
            "job_id": "j1",
        }
    ]


@pytest.mark.parametrize("version", [1, 2])
def test_a_log_of_an_earlier_version_gets_its_column_for_jobs(log, lake, version):
    fields = [field for field in NEW_LOG.fields if field.name != "job_id"]
    lake.create("db._maintenance_log", Schema(*fields), format_version=version)

    log.write([outcome("j1")])

    assert rows(lake)["job_id"].to_pylist() == ["j1"]


def test_rows_of_one_call_are_one_commit(log, lake):
    log.write([outcome("j1"), outcome("j2", status=Status.FAILED)])

    assert rows(lake)["status"].to_pylist() == ["completed", "failed"]
    assert len(lake.catalog.load_table("db._maintenance_log").metadata.snapshots) == 1


def test_bytes_that_are_no_text_do_not_lose_the_row(log, lake):
    log.write([outcome(reason="File \udcff is gone.")])

    assert rows(lake)["details"].to_pylist() == ["File ? is gone."]


def reordered(**types):
    """A log as another engine may have made it: another order, ids, types, a column more."""
    kinds = {field.name: field.field_type for field in NEW_LOG.fields} | types
    names = sorted(LOG_COLUMNS, reverse=True)
    fields = [NestedField(n, name, kinds[name], required=False) for n, name in enumerate(names, 11)]
    return Schema(*fields, NestedField(99, "host", StringType(), required=False))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "schema",
    [
        reordered(),
        reordered(files_before=LongType(), snapshots_after=LongType()),
        reordered(executed_at=TimestamptzType()),
        Schema(
            *(
                NestedField(f.field_id, f.name, f.field_type, required=f.name != "details")
                for f in NEW_LOG.fields
            )
        ),
    ],
)
def test_a_log_that_another_engine_made_goes_on(log, lake, fallen, schema, version):
    lake.create("db._maintenance_log", schema, format_version=version)

    log.write([outcome("j1")])
    log.write([outcome("j2")])

    found = rows(lake).to_pylist()
    assert [row["job_id"] for row in found] == ["j2", "j1"]
    assert {row["executed_at"].replace(tzinfo=None) for row in found} == {NOON.replace(tzinfo=None)}
    assert {(row["files_before"], row["snapshots_after"]) for row in found} == {(4, 5)}
    assert fallen == []


def test_a_partitioned_log_goes_on(log, lake):
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "table_name"))
    lake.create("db._maintenance_log", NEW_LOG, spec)

    log.write([outcome("j1"), outcome("j2", table=EVENTS.sibling("users"))])

    assert sorted(rows(lake)["table_name"].to_pylist()) == ["events", "users"]


def test_a_log_of_version_3_is_left_to_the_engine(log, lake, fallen):
    lake.create("db._maintenance_log", NEW_LOG, format_version=3)

    assert log.write([outcome()]) == [LOG]
    assert [item.job_id for item in fallen] == ["j1"]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (Schema(NestedField(1, "something", IntegerType())), "it has no column table_name"),
        (reordered(status=IntegerType()), "its column status is of type int"),
    ],
)
def test_a_table_that_is_no_log_is_told(log, lake, schema, problem):
    lake.create("db._maintenance_log", schema)

    with pytest.raises(CatalogError, match=f"is no maintenance log: {problem}"):
        log.write([outcome()])


def test_a_missing_namespace_is_told(log):
    with pytest.raises(CatalogError, match="There is no namespace for"):
        log.write([outcome(table=TableRef("lake", ("gone",), "events"))])


def test_storage_that_refuses_is_told(log, lake):
    log.write([outcome()])
    for file in (lake.folder / "warehouse").rglob("*.metadata.json"):
        file.unlink()

    with pytest.raises(CatalogError, match=r"Writing to .* failed"):
        log.write([outcome()])


def refuse_commits(monkeypatch, error, times, *, landed=False):
    """Commits fail this many times, after they landed or before."""
    commit, left = Transaction.commit_transaction, [times]

    def fail(self):
        if not left[0]:
            return commit(self)
        left[0] -= 1
        if landed:
            commit(self)
        raise error

    monkeypatch.setattr(Transaction, "commit_transaction", fail)


def test_a_commit_that_another_writer_refused_is_tried_again(log, lake, monkeypatch):
    log.write([outcome("j1")])
    refuse_commits(monkeypatch, CommitFailedException("moved on"), 3)
    log.write([outcome("j2")])

    assert sorted(rows(lake)["job_id"].to_pylist()) == ["j1", "j2"]


def test_a_commit_that_is_always_refused_ends(log, lake, monkeypatch):
    log.write([outcome("j1")])
    refuse_commits(monkeypatch, CommitFailedException("moved on"), 1000)

    with pytest.raises(CatalogError, match="moved on"):
        log.write([outcome("j2")])


def test_a_commit_whose_answer_was_lost_is_looked_up_and_not_repeated(log, lake, monkeypatch):
    log.write([outcome("j1")])
    refuse_commits(monkeypatch, CommitStateUnknownException("502"), 1, landed=True)
    log.write([outcome("j2")])

    assert sorted(rows(lake)["job_id"].to_pylist()) == ["j1", "j2"]


def test_a_commit_that_is_not_found_is_told_as_unknown(log, lake, monkeypatch):
    log.write([outcome("j1")])
    refuse_commits(monkeypatch, CommitStateUnknownException("502"), 1)

    with pytest.raises(CommitUnknown, match="Whether the rows are in"):
        log.write([outcome("j2")])
    assert rows(lake)["job_id"].to_pylist() == ["j1"]


def no_fallback(outcomes):
    raise AssertionError("the engine was asked")


def write_alone(properties, job_id):
    """As another Neve would: with catalogs of its own."""
    CatalogLog(Catalogs({"lake": properties}), no_fallback).write([outcome(job_id)])


def test_no_row_is_lost_where_two_log_for_the_first_time_at_once(tmp_path):
    for turn in range(3):
        lake = LocalLake(tmp_path / f"lake-{turn}")
        lake.catalog.create_namespace("db")
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(write_alone, [lake.properties] * 2, ["j1", "j2"]))
        assert sorted(rows(lake)["job_id"].to_pylist()) == ["j1", "j2"]


def test_no_row_of_eight_writers_is_lost(lake):
    jobs = [f"j{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write_alone, [lake.properties] * len(jobs), jobs))

    assert sorted(rows(lake)["job_id"].to_pylist()) == sorted(jobs)


def test_the_columns_are_arrow_types_that_engines_agree_on(log, lake):
    log.write([outcome()])

    assert rows(lake).schema.field("executed_at").type == pa.timestamp("us")
    assert rows(lake).schema.field("files_before").type == pa.int32()
