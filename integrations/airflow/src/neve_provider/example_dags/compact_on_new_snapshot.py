"""A new snapshot ⇒ is the table well? ⇒ compaction, if it is not.

The catalog is asked for new snapshots by the trigger of Airflow's Iceberg provider (connection
`iceberg_default`), everything else by a Neve server (connection `neve_default`). A compaction is a
new snapshot, too: it ends the chain, because Neve made it.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from typing import Any

from airflow.providers.apache.iceberg.triggers.iceberg import IcebergTableSnapshotTrigger
from airflow.sdk import Asset, AssetWatcher, Param, dag, task

from neve_provider.hooks.neve import NeveHook
from neve_provider.operators.neve import NeveOperator

log = logging.getLogger(__name__)
#: `namespace.table`, as both the catalog and the server's default catalog know it.
TABLE = os.environ.get("NEVE_WATCHED_TABLE", "lakehouse.events")
POLL_SECONDS = float(os.environ.get("NEVE_WATCH_SECONDS", "60"))

snapshots = Asset(
    f"iceberg_snapshots_{TABLE}",
    watchers=[
        AssetWatcher(
            name="new_snapshot",
            trigger=IcebergTableSnapshotTrigger(table=TABLE, poll_interval=POLL_SECONDS),
        )
    ],
)
compacted = Asset(f"iceberg_compacted_{TABLE}")


@dag(
    dag_id="compact_on_new_snapshot",
    schedule=[snapshots],
    start_date=datetime(2024, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    tags=["lakehouse", "iceberg", "maintenance", "neve"],
    params={"table": Param(TABLE, type="string")},
)
def compact_on_new_snapshot() -> None:
    @task.short_circuit
    def needs_compaction(params: dict[str, Any]) -> bool:
        hook, table = NeveHook(), params["table"]
        newest = hook.newest_snapshot(table)
        if newest is None or newest["job_id"] is not None:
            return False
        health = hook.health(table)
        findings = " ".join(finding["sentence"] for finding in health["findings"])
        log.info("%s is %s. %s", table, health["tier"], findings)
        return health["tier"] != "healthy"

    compact = NeveOperator(
        task_id="compact",
        table="{{ params.table }}",
        deferrable=True,
        poll_seconds=2.0,
        outlets=[compacted],
    )
    needs_compaction() >> compact


compact_on_new_snapshot()
