"""Files that only some snapshots reach: what would be free once those are gone.

Each manifest list is read once, and each manifest once, however many snapshots list it. One that
cannot be read whole is an error: what it holds might be needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any, TypeVar

from pyiceberg.io import FileIO, InputFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, StringType

from neve.catalog.manifest_fields import entry_schema
from neve.catalog.manifests import CONTENT_DATA, STATUS_DELETED
from neve.catalog.reachable import metadata_files
from neve.catalog.whole_avro import ProjectedAvroFile
from neve.model.expiry import FileKind, FreedFile
from neve.storage.resolved import Sought

#: Reading is waiting for the store; decoding shares one interpreter.
THREADS = 16
#: Readings that are under way or done and not taken yet, at most.
AHEAD = 4 * THREADS

_LISTED = Schema(
    NestedField(500, "manifest_path", StringType(), required=True),
    NestedField(501, "manifest_length", LongType(), required=True),
)
_HELD = entry_schema("status", ("content", "file_path", "file_size_in_bytes"))

Item = TypeVar("Item")
Found = TypeVar("Found")


class _Fetched(InputFile):
    """A file whose bytes are here already: its size comes without another request."""

    def __init__(self, location: str, data: bytes) -> None:
        super().__init__(location)
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> Any:
        return BytesIO(self._data)


def freed_files(loaded: Table, snapshot_ids: Collection[int]) -> tuple[FreedFile, ...]:
    """What nothing reaches once the snapshots are gone, by kind and path."""
    gone = set(snapshot_ids)
    freed = list(_statistics(loaded, gone))
    kept, manifests = set[str](), dict[str, FreedFile]()
    lists: dict[str, bool] = {}
    for snapshot in loaded.metadata.snapshots:
        stays = snapshot.snapshot_id not in gone
        lists[snapshot.manifest_list] = lists.get(snapshot.manifest_list, False) or stays
    with ThreadPoolExecutor(THREADS, thread_name_prefix="neve-history") as pool:
        for found, listed in each(pool, lambda path: _manifests(loaded.io, path), lists):
            if lists[found.path]:
                kept.update(manifest.path for manifest in listed)
            else:
                freed.append(found)
                manifests.update((manifest.path, manifest) for manifest in listed)
        only_gone = [manifest for path, manifest in manifests.items() if path not in kept]
        freed += only_gone
        freed += _files_of(loaded.io, pool, [manifest.path for manifest in only_gone], kept)
    kept.update(path for path, stays in lists.items() if stays)
    kept.update(metadata_files(loaded))
    kept.difference_update(file.path for file in freed)
    needed = Sought(file.path for file in freed).named_by(kept)
    left = (file for file in freed if file.path not in needed)
    return tuple(sorted(left, key=lambda file: (file.kind, file.path)))


def present_files(io: FileIO, paths: Collection[str]) -> list[str]:
    """Of the paths, those that are there."""
    with ThreadPoolExecutor(THREADS, thread_name_prefix="neve-present") as pool:
        found = each(pool, lambda path: (path, io.new_input(path).exists()), paths)
        return [path for path, is_there in found if is_there]


def _files_of(
    io: FileIO, pool: ThreadPoolExecutor, gone: Collection[str], kept: Collection[str]
) -> Iterable[FreedFile]:
    """Files that are live in manifests that go, and in none that stays, by whatever name."""
    files: dict[str, FreedFile] = {}
    for held in each(pool, lambda path: list(_live(io, path)), gone):
        files.update((file.path, file) for file in held)
    if files:
        sought = Sought(files)
        for paths in each(pool, lambda path: [file.path for file in _live(io, path)], kept):
            for path in sought.named_by(paths):
                files.pop(path, None)
    return files.values()


def each(
    pool: ThreadPoolExecutor, read: Callable[[Item], Found], items: Iterable[Item]
) -> Iterator[Found]:
    """Read side by side and hand out in order, never far ahead of whoever takes."""
    waiting = []
    for item in items:
        waiting.append(pool.submit(read, item))
        if len(waiting) >= AHEAD:
            yield waiting.pop(0).result()
    for future in waiting:
        yield future.result()


def _manifests(io: FileIO, path: str) -> tuple[FreedFile, list[FreedFile]]:
    """A manifest list with its size, and the manifests that it names."""
    with io.new_input(path).open() as stream:
        fetched = _Fetched(path, stream.read())
    with ProjectedAvroFile(fetched, _LISTED) as reader:
        listed = [FreedFile(record[0], FileKind.MANIFEST, record[1]) for record in reader]
    return FreedFile(path, FileKind.MANIFEST_LIST, len(fetched)), listed


def _live(io: FileIO, path: str) -> Iterator[FreedFile]:
    with ProjectedAvroFile(io.new_input(path), _HELD) as reader:
        for record in reader:
            if record[0] != STATUS_DELETED:
                file = record[1]
                is_data = (file[0] or CONTENT_DATA) == CONTENT_DATA
                yield FreedFile(file[1], FileKind.DATA if is_data else FileKind.DELETE, file[2])


def _statistics(loaded: Table, gone: Collection[int]) -> Iterator[FreedFile]:
    metadata = loaded.metadata
    named = [*metadata.statistics, *metadata.partition_statistics]
    kept = {item.statistics_path for item in named if item.snapshot_id not in gone}
    freed = {item.statistics_path: item for item in named if item.statistics_path not in kept}
    for path, item in freed.items():
        yield FreedFile(path, FileKind.STATISTICS, item.file_size_in_bytes)
