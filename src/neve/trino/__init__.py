"""Maintenance of Iceberg tables through Trino, for lakehouses that have no Spark.

Everything here works over a DB-API cursor. Only `neve.trino.connect` needs the Trino client,
and it is not imported here.
"""

from __future__ import annotations

from neve.model.operation import Operation
from neve.model.outcome import Outcome, Status
from neve.trino.maintain import maintain_schema, maintain_table
from neve.trino.maintenance_log import build_maintenance_log_ddl, build_maintenance_log_insert
from neve.trino.operations import run_expire_snapshots, run_optimize, run_remove_orphan_files
from neve.trino.settings import MaintenanceSettings
from neve.trino.tables import get_file_count, get_snapshot_count, get_user_tables, get_views

__all__ = [
    "MaintenanceSettings",
    "Operation",
    "Outcome",
    "Status",
    "build_maintenance_log_ddl",
    "build_maintenance_log_insert",
    "get_file_count",
    "get_snapshot_count",
    "get_user_tables",
    "get_views",
    "maintain_schema",
    "maintain_table",
    "run_expire_snapshots",
    "run_optimize",
    "run_remove_orphan_files",
]
