"""Rewrite exactly the files that were planned, by Iceberg's own reader and writer.

This is what Iceberg's action does with a file group, in its public parts: scan tasks are staged
under an id, Spark reads that id and writes to it, and the coordinator hands out the new files.
Nothing is committed here, so the files can be proven first.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from neve.model.errors import ExecutionError
from neve.model.rewrite import StagedFiles, StageOrder
from neve.model.table import TableRef
from neve.spark.errors import engine_errors
from neve.spark.functions import location_of_task, table_cache, value_in
from neve.spark.lists import java_string_set, java_strings
from neve.spark.tables import iceberg, load_table, set_active

#: Groups that are rewritten at once, as Iceberg's action has it.
MAX_CONCURRENT_GROUPS = 5
#: One split, one file: no limit of ours may cut it in two.
UNLIMITED_BYTES = 2**62
#: Iceberg's own allowance, so that rounding does not make one split more.
SPLIT_OVERHEAD_BYTES = 5 * 1024


@dataclass(frozen=True, slots=True)
class Staged:
    """Java sets that a commit needs; they never leave the JVM."""

    table: Any
    removed: Any
    vectors: Any
    added: Any


def stage_files(
    session: SparkSession, table: TableRef, snapshot_id: int, orders: Sequence[StageOrder]
) -> list[StagedFiles]:
    """Write the rows of each order, deletes applied as of the snapshot, into new files."""
    loaded = load_table(session, table)
    with engine_errors(f"Planning the rewrite of table {table}"):
        tasks = _tasks_by_path(session, loaded, snapshot_id, orders)
        missing = set(_difference(session, orders, tasks))
    ready = [order for order in orders if missing.isdisjoint(order.paths)]
    gone = [
        StagedFiles(order.order_id, missing=tuple(p for p in order.paths if p in missing))
        for order in orders
        if not missing.isdisjoint(order.paths)
    ]
    if not ready:
        return gone
    stager = _Stager(session, _clone(session), table, loaded, tasks)
    with ThreadPoolExecutor(min(MAX_CONCURRENT_GROUPS, len(ready)), "neve-rewrite") as pool:
        return gone + list(pool.map(stager.stage, ready))


@dataclass(frozen=True, slots=True)
class _Stager:
    """Rewrites one order at a time, on a session that leaves the user's as it is."""

    session: SparkSession
    clone: Any
    table: TableRef
    loaded: Any
    tasks: Any

    def stage(self, order: StageOrder) -> StagedFiles:
        try:
            with engine_errors(f"Rewriting files of table {self.table}"):
                return self._stage(order)
        except ExecutionError as error:
            return StagedFiles(order.order_id, error=error.message)

    def _stage(self, order: StageOrder) -> StagedFiles:
        package, table = iceberg(self.session), self.loaded
        tasks = self._tasks(order)
        group = package.actions.RewriteFileGroup(None, tasks, 0, 1, 1, 1)
        cache = table_cache(self.session)
        manager = package.spark.ScanTaskSetManager.get()
        coordinator = package.spark.FileRewriteCoordinator.get()
        set_id = str(uuid.uuid4())
        try:
            cache.add(set_id, table)
            manager.stageTasks(table, set_id, tasks)
            self._write(set_id, order, moves=tasks.get(0).spec().specId() != table.spec().specId())
            live_rows = int(self._read(self.clone, set_id).count()) if order.counts else None
            added = coordinator.fetchNewFiles(table, set_id)
        finally:
            cache.remove(set_id)
            manager.removeTasks(table, set_id)
            coordinator.clearRewrite(table, set_id)
        written = [(str(file.location()), int(file.recordCount())) for file in added]
        return StagedFiles(
            order.order_id,
            paths=tuple(path for path, _ in written),
            rows=sum(rows for _, rows in written),
            live_rows=live_rows,
            handle=Staged(table, group.rewrittenFiles(), group.danglingDVs(), added),
        )

    def _tasks(self, order: StageOrder) -> Any:
        lists = iceberg(self.session).relocated.com.google.common.collect.Lists
        paths = java_strings(self.session, order.paths)
        return lists.newArrayList(lists.transform(paths, value_in(self.session, self.tasks)))

    def _write(self, set_id: str, order: StageOrder, *, moves: bool) -> None:
        """`moves` is true for files of an old spec: their rows go to other partitions."""
        session = self._session(order, moves)
        set_active(self.session, session)
        split_bytes = UNLIMITED_BYTES
        if order.outputs > 1:
            split_bytes = math.ceil(order.input_bytes / order.outputs) + SPLIT_OVERHEAD_BYTES
        frame = self._read(session, set_id, split_bytes)
        limit = order.target_file_size_bytes if moves else UNLIMITED_BYTES
        (
            frame.write()
            .format("iceberg")
            .option("target-file-size-bytes", str(limit))
            .option("distribution-mode", "range" if moves else "none")
            .option("output-spec-id", str(self.loaded.spec().specId()))
            .mode("append")
            .save(set_id)
        )

    def _read(self, session: Any, set_id: str, split_bytes: int = UNLIMITED_BYTES) -> Any:
        reader = session.read().format("iceberg").option("split-size", str(split_bytes))
        return reader.option("file-open-cost", "0").load(set_id)

    def _session(self, order: StageOrder, moves: bool) -> Any:
        if not moves:
            return self.clone
        session = self.clone.cloneSession()
        outputs = math.ceil(order.input_bytes / order.target_file_size_bytes)
        session.conf().set("spark.sql.shuffle.partitions", str(max(1, outputs)))
        return session


def _clone(session: SparkSession) -> Any:
    """A session for rewrites, as Iceberg's action makes itself one."""
    java_session: Any = session._jsparkSession
    clone = java_session.cloneSession()
    # Adaptive execution would change how many files come out.
    clone.conf().set("spark.sql.adaptive.enabled", "false")
    clone.conf().set("spark.sql.iceberg.executor-cache.delete-files.enabled", "false")
    return clone


def _tasks_by_path(
    session: SparkSession, loaded: Any, snapshot_id: int, orders: Sequence[StageOrder]
) -> Any:
    """The scan tasks of the orders' files, by path: found in the JVM, without a call a file."""
    guava = iceberg(session).relocated.com.google.common
    location = location_of_task(session)
    wanted = guava.base.Predicates.compose(
        getattr(guava.base.Predicates, "in")(_paths(session, orders)), location
    )
    files = loaded.newScan().useSnapshot(snapshot_id).ignoreResiduals().planFiles()
    try:
        return guava.collect.Maps.uniqueIndex(
            guava.collect.Iterables.filter(files, wanted), location
        )
    finally:
        files.close()


def _difference(session: SparkSession, orders: Sequence[StageOrder], tasks: Any) -> list[str]:
    collect = iceberg(session).relocated.com.google.common.collect
    return [str(path) for path in collect.Sets.difference(_paths(session, orders), tasks.keySet())]


def _paths(session: SparkSession, orders: Sequence[StageOrder]) -> Any:
    return java_string_set(session, [path for order in orders for path in order.paths])
