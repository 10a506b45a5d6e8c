"""Which function runs which step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from neve.model.steps import (
    ComputePartitionStats,
    ComputeTableStats,
    RemoveDanglingDeletes,
    RewriteManifests,
    RewritePositionDeleteFiles,
)
from neve.model.table import TableRef
from neve.spark.operations.compute_partition_stats import compute_partition_stats
from neve.spark.operations.compute_table_stats import compute_table_stats
from neve.spark.operations.remove_dangling_deletes import remove_dangling_deletes
from neve.spark.operations.rewrite_manifests import rewrite_manifests
from neve.spark.operations.rewrite_position_delete_files import rewrite_position_delete_files

#: Takes the session, the table, the step, and properties for the snapshot that it commits.
Executor = Callable[[SparkSession, TableRef, Any, Mapping[str, str]], None]
EXECUTORS: dict[type, Executor] = {}
EXECUTORS[RewritePositionDeleteFiles] = rewrite_position_delete_files
EXECUTORS[RemoveDanglingDeletes] = remove_dangling_deletes
EXECUTORS[RewriteManifests] = rewrite_manifests
EXECUTORS[ComputeTableStats] = compute_table_stats
EXECUTORS[ComputePartitionStats] = compute_partition_stats
