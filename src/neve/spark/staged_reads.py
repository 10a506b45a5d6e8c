"""Read exactly some of a table's files, by Iceberg's own reader, with the deletes of a snapshot.

Scan tasks are staged under an id, and Spark reads that id: files that nobody asked for are not
opened, as they would be where a filter comes after the scan.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from neve.spark.functions import location_of_task, table_cache
from neve.spark.java_lists import java_string_set
from neve.spark.once import once_per_session
from neve.spark.tables import iceberg

#: One split, one file: no limit of ours may cut it in two.
UNLIMITED_BYTES = 2**62


@dataclass(frozen=True, slots=True)
class _Parts:
    """Iceberg's parts that staged reads are made of, looked up once."""

    maps: Any
    lists: Any
    iterables: Any
    predicates: Any
    manager: Any


@once_per_session
def _parts(session: SparkSession) -> _Parts:
    package = iceberg(session)
    guava = package.relocated.com.google.common
    collect = guava.collect
    manager = package.spark.ScanTaskSetManager.get()
    return _Parts(collect.Maps, collect.Lists, collect.Iterables, guava.base.Predicates, manager)


def tasks_of(session: SparkSession, loaded: Any, snapshot_id: int, paths: Iterable[str]) -> Any:
    """The scan tasks of the files, found in the JVM, without a call a file.

    A file that the snapshot lists twice has two, and each takes other deletes.
    """
    parts = _parts(session)
    wanted = parts.predicates.compose(
        getattr(parts.predicates, "in")(java_string_set(session, list(paths))),
        location_of_task(session),
    )
    files = loaded.newScan().useSnapshot(snapshot_id).ignoreResiduals().planFiles()
    try:
        return parts.lists.newArrayList(parts.iterables.filter(files, wanted))
    finally:
        files.close()


def tasks_by_path(
    session: SparkSession, loaded: Any, snapshot_id: int, paths: Iterable[str]
) -> Any:
    """The same by path, of files that are listed once."""
    tasks = tasks_of(session, loaded, snapshot_id, paths)
    return _parts(session).maps.uniqueIndex(tasks, location_of_task(session))


@contextmanager
def staged(session: SparkSession, loaded: Any, tasks: Any) -> Iterator[str]:
    """An id under which Spark reads the rows of these tasks, and writes what replaces them."""
    cache, manager, set_id = table_cache(session), _parts(session).manager, str(uuid.uuid4())
    try:
        cache.add(set_id, loaded)
        manager.stageTasks(loaded, set_id, tasks)
        yield set_id
    finally:
        cache.remove(set_id)
        manager.removeTasks(loaded, set_id)


def read_staged(java_session: Any, set_id: str, split_bytes: int = UNLIMITED_BYTES) -> Any:
    """The rows of an id, as a Java frame."""
    reader = java_session.read().format("iceberg").option("split-size", str(split_bytes))
    return reader.option("file-open-cost", "0").load(set_id)
