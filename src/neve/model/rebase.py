"""Deletes that came while files were rewritten, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from neve.model.facts import DeleteKind
from neve.model.groups import JsonValue
from neve.model.rewrite import ColumnMetrics, FileDetails, SourceRange

#: Names a delete file; several vectors share a path, and differ in the data file.
DeleteKey = tuple[str, str | None]


def delete_key(path: str, kind: DeleteKind, referenced_path: str | None) -> DeleteKey:
    return (path, referenced_path if kind is DeleteKind.DELETION_VECTOR else None)


@dataclass(frozen=True, slots=True)
class DeleteEntry:
    """A delete file as its manifest describes it, complete enough to be committed."""

    path: str
    kind: DeleteKind
    format: str
    spec_id: int
    partition: tuple[JsonValue, ...]
    size_bytes: int
    record_count: int
    #: None where it gets the number of the commit that adds it.
    data_sequence_number: int | None = None
    referenced_path: str | None = None
    content_offset: int | None = None
    content_size_bytes: int | None = None
    equality_ids: tuple[int, ...] = ()
    sort_order_id: int | None = None
    metrics: ColumnMetrics = field(default_factory=ColumnMetrics)
    encrypted: bool = False

    @property
    def key(self) -> DeleteKey:
        return delete_key(self.path, self.kind, self.referenced_path)


@dataclass(frozen=True, slots=True)
class MovedSource:
    """A replaced file whose deletes are others than those that the rewrite began with."""

    path: str
    record_count: int
    #: What a reader of it applies now: position deletes, or the one vector.
    deletes: tuple[DeleteKey, ...]
    #: Whether every row that the rewrite left out must be deleted by those. An equality delete
    #: may have taken rows, too, and its positions are nowhere.
    explains_removed: bool


@dataclass(frozen=True, slots=True)
class MovedTarget:
    """A new file: where its rows come from, and how its own position deletes would be called."""

    path: str
    record_count: int
    spec_id: int
    partition: tuple[JsonValue, ...]
    ranges: tuple[SourceRange, ...]
    deletes_path: str


@dataclass(frozen=True, slots=True)
class GroupMove:
    """The sources of a group that writers deleted from, and all of its new files."""

    group_id: int
    sources: tuple[MovedSource, ...]
    targets: tuple[MovedTarget, ...]


@dataclass(frozen=True, slots=True)
class MoveOrder:
    """Deletes to be written again, so that they take the same rows from the new files."""

    groups: tuple[GroupMove, ...]
    #: Every delete file that is spoken of here.
    deletes: Mapping[DeleteKey, DeleteEntry]
    #: Position deletes that came meanwhile, each with a name for what it says of other files.
    fresh: Mapping[DeleteKey, str] = field(default_factory=dict)
    #: Equality deletes that would be dropped with the replaced files, each with a new name.
    copies: Mapping[DeleteKey, str] = field(default_factory=dict)
    #: The Puffin file that gets the new vectors; None where the table has none yet.
    vectors_path: str | None = None

    @property
    def names(self) -> list[str]:
        """All that may be written."""
        found = [target.deletes_path for group in self.groups for target in group.targets]
        found += [*self.fresh.values(), *self.copies.values()]
        return found + ([self.vectors_path] if self.vectors_path is not None else [])


@dataclass(frozen=True, slots=True)
class MovedDeletes:
    """Delete files that are written, read back and proven; nothing is committed yet."""

    removed: tuple[DeleteEntry, ...] = ()
    added: tuple[DeleteEntry, ...] = ()
    #: Groups whose deletes cannot be followed, and why.
    refused: Mapping[int, str] = field(default_factory=dict)
    #: Rows of new files that are deleted by what was added.
    rows: int = 0


@dataclass(frozen=True, slots=True)
class FileChange:
    """What one commit takes away and adds, all of it at one head."""

    removed: tuple[FileDetails, ...]
    added: tuple[FileDetails, ...]
    deletes: MovedDeletes = field(default_factory=MovedDeletes)
    #: The age of the added data files; None for that of the commit.
    data_sequence_number: int | None = None
