"""A listing as a DataFrame: folders are shared among tasks, and files stay in Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b

from pyspark.sql import DataFrame, SparkSession

from neve.model.orphans import ListedFile, Listing
from neve.planning.locations import comparable_path, store_of
from neve.planning.operations.remove_orphan_files import why_kept
from neve.planning.table_signs import table_folder
from neve.storage.access import Storage
from neve.storage.listing.folders import Folder, lister_for

TASKS_PER_CORE = 8
LOOKED_UP_PER_TASK = 200
#: Listing this many takes less time than starting a job for it.
FEW_FILES = 5_000
#: A listed file, its key, why it is kept whatever metadata says, and whose table it is a sign of.
SCHEMA = (
    "key binary, store string, path string, size_bytes long, modified_ms long, etag string, "
    "keep string, sign string"
)
Row = tuple[bytes, str, str, int, int | None, str | None, str | None, str | None]


def key_of(path: str) -> bytes:
    """A path in one spelling, as 16 bytes. Two files of one key would both be kept."""
    return blake2b(
        comparable_path(path).encode("utf-8", "surrogateescape"), digest_size=16
    ).digest()


def list_few(folders: Sequence[Folder], listing: Listing, storage: Storage) -> list[Row] | None:
    """All rows, listed right here; None where there are this many that tasks should share them."""
    rows: list[Row] = []
    for row in _list_folders(folders, listing, storage):
        rows.append(row)
        if len(rows) > FEW_FILES:
            return None
    return rows


def list_files(
    session: SparkSession, folders: Sequence[Folder], listing: Listing, storage: Storage
) -> DataFrame:
    """All files in the folders, with what keeps them whatever metadata says."""
    context = session.sparkContext
    tasks = max(1, min(len(folders), TASKS_PER_CORE * context.defaultParallelism))
    rows = context.parallelize(folders, tasks).mapPartitions(
        partial(_list_folders, listing=listing, storage=storage)
    )
    return session.createDataFrame(rows, SCHEMA, verifySchema=False)


def _list_folders(folders: Iterable[Folder], listing: Listing, storage: Storage) -> Iterator[Row]:
    for folder in folders:
        for file in lister_for(folder.location, storage).files(folder):
            yield as_row(file, listing)


def as_row(file: ListedFile, listing: Listing) -> Row:
    """A file for Spark; a name that is no text cannot be asked for, and is only counted."""
    keep = why_kept(file, listing)
    path = file.path.encode("utf-8", "backslashreplace").decode()
    return (
        key_of(file.path),
        store_of(file.path),
        path,
        file.size_bytes,
        file.modified_ms,
        file.etag,
        None if keep is None else str(keep),
        table_folder(path, listing.roots),
    )


def look_up(session: SparkSession, paths: Sequence[str], storage: Storage) -> list[ListedFile]:
    """Of the paths, the files that are there now."""
    if not paths:
        return []
    tasks = 1 + len(paths) // LOOKED_UP_PER_TASK
    found = session.sparkContext.parallelize(paths, tasks).map(partial(_look_up, storage=storage))
    return [file for file in found.collect() if file is not None]


def _look_up(path: str, storage: Storage) -> ListedFile | None:
    return lister_for(path, storage).look_up(path)
