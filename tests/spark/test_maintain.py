from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from neve.model.maintenance import ReportStatus
from neve.model.operation import Operation
from neve.model.policies import PolicyBook, PolicyRule
from neve.policy.keys import KEYS, read_value
from neve.service.maintain import MaintainRequest, maintain_tables
from neve.service.policies import Policies
from neve.spark.tables import spark_name

pytestmark = pytest.mark.promise(28, 30)

DAY_SECONDS = 86400
EVERYTHING = {
    "expire_snapshots.older_than": "1m",
    "remove_orphan_files.enabled": True,
    "compute_partition_stats.enabled": True,
}


def named(overrides) -> frozenset[Operation]:
    """Operations that a policy with these values speaks of."""
    found = (KEYS[key].operation for key in overrides)
    return frozenset(operation for operation in found if operation)


@pytest.fixture
def maintain(lake):
    """Maintain tables as if they had been written long ago: the undo window is short, too."""

    def run(*tables, overrides=EVERYTHING, days=0, **options):
        rule = PolicyRule("test", values={k: read_value(k, v) for k, v in overrides.items()})
        services = replace(
            lake.app.maintenance,
            clock=lambda: lake.app.maintenance.clock() + days_of(days),
            policies=Policies(PolicyBook((replace(rule, operations=named(overrides)),))),
        )
        return maintain_tables(
            services,
            list(tables),
            MaintainRequest(parallel_tables=2, **options),
        )

    return run


def days_of(count):
    from datetime import timedelta

    return timedelta(days=count)


def statuses(report):
    return {str(r.operation): str(r.status) for r in report.operations}


def folder(lake, table):
    return Path("/" + lake.java(table).location().removeprefix("file:").lstrip("/"))


def test_all_operations_run_in_order_and_a_second_run_changes_nothing(lake, maintain):
    table = lake.create(by="kind")
    for start in range(0, 60, 30):
        lake.fill(table, start=start)
    lake.sql(f"DELETE FROM {spark_name(table)} WHERE id = 7")
    stray = folder(lake, table) / "data" / "stray.parquet"
    stray.write_bytes(b"nobody knows me")
    old = time.time() - 30 * DAY_SECONDS
    os.utime(stray, (old, old))
    rows = lake.rows(table)

    (first,) = maintain(table, days=8)

    assert first.is_good, [(r.operation, r.reason) for r in first.operations if r.status.is_bad]
    assert statuses(first)["rewrite_data_files"] == "succeeded"
    assert statuses(first)["compute_partition_stats"] == "succeeded"
    assert statuses(first)["expire_snapshots"] == "succeeded"
    assert lake.rows(table) == rows
    head, files = lake.head(table).snapshot_id, lake.paths(table)

    (second,) = maintain(table, days=8)
    (third,) = maintain(table, days=8)

    assert second.is_good
    assert set(statuses(third).values()) == {"nothing_to_do", "skipped"}
    assert (lake.head(table).snapshot_id, lake.paths(table)) == (head, files)
    assert stray.exists()


def test_one_tables_trouble_is_its_own_and_the_log_tells_all(lake, maintain):
    sound, broken = lake.create(name="sound"), lake.create(name="broken")
    for table in (sound, broken):
        lake.fill(table)
    for manifest in (folder(lake, broken) / "metadata").glob("*-m0.avro"):
        manifest.write_bytes(b"half")

    good, bad = maintain(sound, broken, overrides={})

    assert good.is_good, [(r.operation, r.reason) for r in good.operations if r.status.is_bad]
    assert (good.is_good, statuses(good)["rewrite_data_files"]) == (True, "succeeded")
    assert bad.problem is not None
    assert "broken" in bad.problem
    log = lake.sql(
        f"SELECT table_name, operation, status FROM {spark_name(lake.ref('_maintenance_log'))}"
    ).collect()
    assert ("sound", "optimize", "completed") in [tuple(row) for row in log]


def test_a_dry_run_says_what_each_operation_would_do(lake, maintain):
    table = lake.create()
    lake.fill(table)
    head = lake.head(table).snapshot_id

    (report,) = maintain(table, dry_run=True)

    planned = [r for r in report.operations if r.status is ReportStatus.PLANNED]
    assert "rewrite_data_files" in [str(r.operation) for r in planned]
    assert lake.head(table).snapshot_id == head
