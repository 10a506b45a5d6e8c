"""Delete files written again for the files that their rows went to, read back and proven."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from neve.model.errors import ProofFailed, RowsCorrupt, RowsError, RowsUnsupported
from neve.model.facts import DeleteKind
from neve.model.rebase import (
    DeleteEntry,
    DeleteKey,
    GroupMove,
    MovedDeletes,
    MovedSource,
    MovedTarget,
    MoveOrder,
)
from neve.model.rewrite import ColumnMetrics
from neve.rows.deletes import (
    DELETE_FILE_PATH,
    DELETE_FILE_POS,
    merged,
    read_all_position_deletes,
    write_position_deletes,
)
from neve.rows.moves import check_moved, follow
from neve.rows.roaring import Positions
from neve.rows.vectors import read_vector, write_puffin

CREATED_BY: Final = "neve"
ByFile = dict[str, Positions]


class SmallFiles(Protocol):
    """Files that are read and written whole."""

    def read(self, path: str) -> bytes:
        """All bytes; raises RowsCorrupt where there are none."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """A new file; one that exists is never replaced."""
        ...


def move_deletes(order: MoveOrder, files: SmallFiles) -> MovedDeletes:
    """Do what the order says; groups whose deletes cannot be followed are refused, each alone."""
    contents = _Contents(order, files)
    moved: list[tuple[GroupMove, ByFile, ByFile]] = []
    refused: dict[int, str] = {}
    for group in order.groups:
        try:
            deleted = {source.path: contents.on(source) for source in group.sources}
            moved.append((group, deleted, follow(group, deleted)))
        except RowsError as error:
            refused[group.group_id] = error.message
    targets = {target.path: target for group, _, _ in moved for target in group.targets}
    found = {path: rows for _, _, all_ in moved for path, rows in all_.items()}
    added = _write_moved(order, targets, found, files)
    written = _read_back(added, files)
    for group, deleted, _ in moved:
        check_moved(group, deleted, written)
    replaced = {source.path for group, _, _ in moved for source in group.sources}
    removed, rest = _without(order, replaced, contents, files)
    copied = [_copy(order.deletes[key], path, files) for key, path in order.copies.items()]
    removed += [order.deletes[key] for key in order.copies]
    rows = sum(len(positions) for positions in found.values())
    return MovedDeletes(tuple(removed), (*added, *rest, *copied), refused, rows)


@dataclass(frozen=True, slots=True)
class _Contents:
    """What delete files say, each read once."""

    order: MoveOrder
    files: SmallFiles
    _known: dict[DeleteKey, ByFile] = field(default_factory=dict)

    def on(self, source: MovedSource) -> Positions:
        """The rows of a source that are deleted."""
        nothing = np.empty(0, dtype=np.int64)
        return merged(self.of(key).get(source.path, nothing) for key in source.deletes)

    def of(self, key: DeleteKey) -> ByFile:
        """All that one delete file says, by data file."""
        if key not in self._known:
            self._known[key] = self._read(self.order.deletes[key])
        return self._known[key]

    def _read(self, delete: DeleteEntry) -> ByFile:
        if delete.encrypted:
            raise RowsUnsupported(f"The delete file {delete.path} is encrypted.")
        data = self.files.read(delete.path)
        if len(data) != delete.size_bytes:
            raise RowsCorrupt(
                f"{delete.path} has {len(data)} bytes, and its manifest says {delete.size_bytes}."
            )
        return _parsed(delete, data)


def _parsed(delete: DeleteEntry, data: bytes) -> ByFile:
    if delete.kind is not DeleteKind.DELETION_VECTOR:
        try:
            return read_all_position_deletes(io.BytesIO(data), delete.format)
        except (pa.ArrowException, OSError) as error:
            raise RowsCorrupt(f"{delete.path} is no Parquet file that can be read.") from error
    offset, length = delete.content_offset, delete.content_size_bytes
    if delete.referenced_path is None or offset is None or length is None:
        raise RowsCorrupt(f"A manifest does not tell where in {delete.path} a vector lies.")
    blob = data[offset : offset + length]
    return {delete.referenced_path: read_vector(blob, delete.record_count)}


def _write_moved(
    order: MoveOrder, targets: Mapping[str, MovedTarget], found: ByFile, files: SmallFiles
) -> list[DeleteEntry]:
    """One delete file for each new file that needs one, or one Puffin file with all vectors."""
    if order.vectors_path is None:
        return [
            _write_positions(targets[path].deletes_path, {path: rows}, targets[path], files)
            for path, rows in found.items()
        ]
    if not found:
        return []
    data, vectors = write_puffin(found, CREATED_BY)
    files.write(order.vectors_path, data)
    return [
        DeleteEntry(
            path=order.vectors_path,
            kind=DeleteKind.DELETION_VECTOR,
            format="PUFFIN",
            spec_id=targets[vector.referenced_data_file].spec_id,
            partition=targets[vector.referenced_data_file].partition,
            size_bytes=len(data),
            record_count=vector.cardinality,
            referenced_path=vector.referenced_data_file,
            content_offset=vector.offset,
            content_size_bytes=vector.length,
        )
        for vector in vectors
    ]


def _write_positions(
    path: str, deletes: ByFile, where: MovedTarget | DeleteEntry, files: SmallFiles
) -> DeleteEntry:
    data = write_position_deletes(deletes)
    files.write(path, data)
    return DeleteEntry(
        path=path,
        kind=DeleteKind.POSITION,
        format="PARQUET",
        spec_id=where.spec_id,
        partition=where.partition,
        size_bytes=len(data),
        record_count=sum(len(rows) for rows in deletes.values()),
        referenced_path=next(iter(deletes)) if len(deletes) == 1 else None,
        metrics=_metrics(deletes),
    )


def _metrics(deletes: ByFile) -> ColumnMetrics:
    count = sum(len(rows) for rows in deletes.values())
    first = min(int(rows[0]) for rows in deletes.values())
    last = max(int(rows[-1]) for rows in deletes.values())
    return ColumnMetrics(
        value_counts={DELETE_FILE_PATH: count, DELETE_FILE_POS: count},
        null_value_counts={DELETE_FILE_PATH: 0, DELETE_FILE_POS: 0},
        lower_bounds={
            DELETE_FILE_PATH: min(deletes).encode(),
            DELETE_FILE_POS: struct.pack("<q", first),
        },
        upper_bounds={
            DELETE_FILE_PATH: max(deletes).encode(),
            DELETE_FILE_POS: struct.pack("<q", last),
        },
    )


def _read_back(added: list[DeleteEntry], files: SmallFiles) -> ByFile:
    """What the files say now that they are written."""
    data = {path: files.read(path) for path in {delete.path for delete in added}}
    found: ByFile = {}
    for delete in added:
        for path, rows in _parsed(delete, data[delete.path]).items():
            if path in found:
                raise ProofFailed(f"Two of the moved delete files speak of {path}.")
            found[path] = rows
    return found


def _without(
    order: MoveOrder, replaced: set[str], contents: _Contents, files: SmallFiles
) -> tuple[list[DeleteEntry], list[DeleteEntry]]:
    """New deletes that speak of replaced files, and what they say of others, written again.

    The rest keeps its age: a file may be younger than the delete, and is none of its business.
    """
    removed: list[DeleteEntry] = []
    rest: list[DeleteEntry] = []
    for key, path in order.fresh.items():
        delete, said = order.deletes[key], contents.of(key)
        if replaced.isdisjoint(said):
            continue
        removed.append(delete)
        others = {of: rows for of, rows in said.items() if of not in replaced}
        if others:
            written = _write_positions(path, others, delete, files)
            rest.append(replace(written, data_sequence_number=delete.data_sequence_number))
            if not _equal(_parsed(written, files.read(path)), others):
                raise ProofFailed(f"{path} does not say all of what {delete.path} says.")
    return removed, rest


def _equal(left: ByFile, right: ByFile) -> bool:
    return left.keys() == right.keys() and all(
        np.array_equal(left[path], right[path]) for path in left
    )


def _copy(delete: DeleteEntry, path: str, files: SmallFiles) -> DeleteEntry:
    """The same bytes under another name, with the same age."""
    if delete.encrypted:
        raise RowsUnsupported(f"The delete file {delete.path} is encrypted.")
    data = files.read(delete.path)
    files.write(path, data)
    if len(data) != delete.size_bytes or files.read(path) != data:
        raise ProofFailed(f"{path} is not as {delete.path} should be.")
    return replace(delete, path=path)
