"""Rewrite exactly the files that were planned, by Iceberg's own reader and writer.

This is what Iceberg's action does with a file group, in its public parts: scan tasks are staged
under an id, Spark reads that id and writes to it, and the coordinator hands out the new files.
Nothing is committed here, so the files can be proven first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from neve.model.errors import ExecutionError, RowsError
from neve.model.facts import FIRST_WITH_ROW_IDS
from neve.model.rewrite import RowFingerprints, StagedFiles, StageOrder
from neve.model.table import TableRef
from neve.rows.fingerprint import Fingerprint
from neve.spark.errors import engine_errors
from neve.spark.functions import value_in
from neve.spark.java_lists import java_string_set, java_strings
from neve.spark.job_group import for_other_threads
from neve.spark.once import once_per_session
from neve.spark.rewrite.count import RowCount
from neve.spark.rewrite.read_back import (
    fingerprint_of,
    reading_session,
    scan_tasks,
    schema_of,
)
from neve.spark.staged_reads import UNLIMITED_BYTES, read_staged, staged, tasks_by_path
from neve.spark.tables import iceberg, load_table, set_active

#: Groups that are rewritten at once, as Iceberg's action has it.
MAX_CONCURRENT_GROUPS = 5
#: Iceberg's own allowance, so that rounding does not make one split more.
SPLIT_OVERHEAD_BYTES = 5 * 1024


@dataclass(frozen=True, slots=True)
class _Parts:
    """Iceberg's parts that a rewrite is made of, looked up once."""

    lists: Any
    sets: Any
    file_group: Any
    coordinator: Any


@once_per_session
def _parts(session: SparkSession) -> _Parts:
    package = iceberg(session)
    collect = package.relocated.com.google.common.collect
    return _Parts(
        collect.Lists,
        collect.Sets,
        package.actions.RewriteFileGroup,
        package.spark.FileRewriteCoordinator.get(),
    )


@dataclass(frozen=True, slots=True)
class Staged:
    """Java sets that a commit needs; they never leave the JVM."""

    table: Any
    removed: Any
    vectors: Any
    added: Any
    #: Whether rows of its files have no ids yet.
    unnumbered: bool = False


def stage_files(
    session: SparkSession, table: TableRef, snapshot_id: int, orders: Sequence[StageOrder]
) -> list[StagedFiles]:
    """Write the rows of each order, deletes applied as of the snapshot, into new files."""
    loaded = load_table(session, table)
    with engine_errors(f"Planning the rewrite of table {table}"):
        # Now: the catalog may hand the same table to whoever upgrades it meanwhile.
        unnumbered = loaded.operations().current().formatVersion() < FIRST_WITH_ROW_IDS
        tasks = tasks_by_path(session, loaded, snapshot_id, _paths(orders))
        missing = set(_difference(session, orders, tasks))
    ready = [order for order in orders if missing.isdisjoint(order.paths)]
    gone = [
        StagedFiles(order.order_id, missing=tuple(p for p in order.paths if p in missing))
        for order in orders
        if not missing.isdisjoint(order.paths)
    ]
    if not ready:
        return gone
    task_of, clone = value_in(session, tasks), _clone(session)
    stager = _Stager(session, clone, reading_session(clone), table, loaded, task_of, unnumbered)
    threads, join = min(MAX_CONCURRENT_GROUPS, len(ready)), for_other_threads(session)
    with ThreadPoolExecutor(threads, "neve-rewrite", initializer=join) as pool:
        return gone + list(pool.map(stager.stage, ready))


def fingerprint_files(
    session: SparkSession, table: TableRef, snapshot_id: int, paths: Collection[str]
) -> str:
    """Of the rows that a reader of the snapshot sees in these files, by the current schema."""
    loaded = load_table(session, table)
    order = StageOrder(0, tuple(paths), 0, 1, 1)
    with engine_errors(f"Reading rows of table {table}"):
        tasks = tasks_by_path(session, loaded, snapshot_id, order.paths)
        clone = _clone(session)
        reader = reading_session(clone)
        stager = _Stager(session, clone, reader, table, loaded, value_in(session, tasks))
        return str(stager.read_rows(stager.tasks(order)))


@dataclass(frozen=True, slots=True)
class _Stager:
    """Rewrites one order at a time, on a session that leaves the user's as it is."""

    session: SparkSession
    clone: Any
    #: The same, for reading rows that are compared.
    reader: Any
    table: TableRef
    loaded: Any
    #: From a path to its scan task.
    task_of: Any
    #: Whether rows of its files have no ids yet.
    unnumbered: bool = False

    def stage(self, order: StageOrder) -> StagedFiles:
        try:
            with engine_errors(f"Rewriting files of table {self.table}"):
                return self._stage(order)
        except (ExecutionError, RowsError) as error:
            return StagedFiles(order.order_id, error=error.message)

    def _stage(self, order: StageOrder) -> StagedFiles:
        parts, table = _parts(self.session), self.loaded
        tasks = self.tasks(order)
        group = parts.file_group(None, tasks, 0, 1, 1, 1)
        with staged(self.session, table, tasks) as set_id:
            try:
                live_rows = self._write(set_id, order, moves=self._moves(tasks))
                added = parts.coordinator.fetchNewFiles(table, set_id)
                proof = self._proof(set_id, added) if order.reads_back else None
            finally:
                parts.coordinator.clearRewrite(table, set_id)
        written = [(str(file.location()), int(file.recordCount())) for file in added]
        return StagedFiles(
            order.order_id,
            paths=tuple(path for path, _ in written),
            rows=sum(rows for _, rows in written),
            live_rows=live_rows,
            proof=proof,
            handle=Staged(
                table, group.rewrittenFiles(), group.danglingDVs(), added, self.unnumbered
            ),
        )

    def tasks(self, order: StageOrder) -> Any:
        """The scan tasks of its files."""
        lists = _parts(self.session).lists
        paths = java_strings(self.session, order.paths)
        return lists.newArrayList(lists.transform(paths, self.task_of))

    def _moves(self, tasks: Any) -> bool:
        """True for files of an old spec: their rows go to other partitions."""
        return bool(tasks.get(0).spec().specId() != self.loaded.spec().specId())

    def _write(self, set_id: str, order: StageOrder, *, moves: bool) -> int | None:
        """Write the rows; tells how many were read, where they are to be counted."""
        session = self._session(order, moves)
        set_active(self.session, session)
        split_bytes = UNLIMITED_BYTES
        if order.outputs > 1:
            split_bytes = math.ceil(order.input_bytes / order.outputs) + SPLIT_OVERHEAD_BYTES
        frame = self._rows(session, set_id, split_bytes)
        # Rows that move are sampled first, and an observer would see those twice.
        count = RowCount(self.session) if order.counts and not moves else None
        limit = order.target_file_size_bytes if moves else UNLIMITED_BYTES
        (
            (frame if count is None else count.of(frame))
            .write()
            .format("iceberg")
            .option("target-file-size-bytes", str(limit))
            .option("distribution-mode", "range" if moves else "none")
            .option("output-spec-id", str(self.loaded.spec().specId()))
            .mode("append")
            .save(set_id)
        )
        if not order.counts:
            return None
        seen = None if count is None else count.seen()
        return int(read_staged(self.clone, set_id).count()) if seen is None else seen

    def _rows(self, session: Any, set_id: str, split_bytes: int) -> Any:
        """What is written."""
        return read_staged(session, set_id, split_bytes)

    def _proof(self, set_id: str, added: Any) -> RowFingerprints:
        """Rows that are replaced, and those of the new files, both as readers see them."""
        expected = self._fingerprint(set_id)
        found = self.read_rows(scan_tasks(self.session, self.loaded, added))
        return RowFingerprints(str(expected), str(found))

    def read_rows(self, tasks: Any) -> Fingerprint:
        """Of the rows that these scan tasks read."""
        with staged(self.session, self.loaded, tasks) as set_id:
            return self._fingerprint(set_id)

    def _fingerprint(self, set_id: str) -> Fingerprint:
        frame = read_staged(self.reader, set_id)
        return fingerprint_of(self.session, frame, schema_of(self.session, self.loaded))

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


def _difference(session: SparkSession, orders: Sequence[StageOrder], tasks: Any) -> list[str]:
    wanted = java_string_set(session, _paths(orders))
    return [str(path) for path in _parts(session).sets.difference(wanted, tasks.keySet())]


def _paths(orders: Sequence[StageOrder]) -> list[str]:
    return [path for order in orders for path in order.paths]
