"""Iceberg's own procedures on one table, as a Spark application of its own.

python benchmarks/one_shot_maintenance.py CATALOGS_JSON NAMESPACE.TABLE
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from neve.spark.session import build_session

PROCEDURES = (
    "rewrite_data_files(table => :table, options => map('min-input-files', '2'))",
    "rewrite_position_delete_files(table => :table)",
    "rewrite_manifests(table => :table)",
    "expire_snapshots(table => :table)",
    "remove_orphan_files(table => :table)",
)


def call_procedures(session: SparkSession, table: str) -> None:
    for procedure in PROCEDURES:
        session.sql(f"CALL lake.system.{procedure}", args={"table": table}).collect()


def main() -> None:
    catalogs, table = json.loads(sys.argv[1]), sys.argv[2]
    session = build_session(catalogs, master="local[2]", conf={}, reporter=lambda _: None)
    call_procedures(session, table)
    session.stop()


if __name__ == "__main__":
    main()
