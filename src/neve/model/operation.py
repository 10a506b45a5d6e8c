"""The operations that maintain a table."""

from __future__ import annotations

from enum import StrEnum


class Operation(StrEnum):
    """Operations by the names of Iceberg's procedures, in the order in which they are run."""

    REWRITE_DATA_FILES = "rewrite_data_files"
    REWRITE_POSITION_DELETE_FILES = "rewrite_position_delete_files"
    REMOVE_DANGLING_DELETES = "remove_dangling_deletes"
    REWRITE_MANIFESTS = "rewrite_manifests"
    COMPUTE_TABLE_STATS = "compute_table_stats"
    COMPUTE_PARTITION_STATS = "compute_partition_stats"
    EXPIRE_SNAPSHOTS = "expire_snapshots"
    REMOVE_ORPHAN_FILES = "remove_orphan_files"
