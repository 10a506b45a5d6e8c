"""The part of the lake in memory that tags states, and follows deletes of writers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple, replace

from neve.model.errors import CommitConflict, ExecutionError
from neve.model.facts import DataFileFacts, DeleteFileFacts, DeleteKind, RefFacts, TableFacts
from neve.model.metadata_change import MadeOn, UndoTag, taken_name
from neve.model.rebase import (
    DeleteEntry,
    FileChange,
    GroupMove,
    MovedDeletes,
    MoveOrder,
    delete_key,
)
from neve.model.rewrite import FileDetails
from neve.model.table import TableRef
from neve.planning.staleness import newest_sequence_number


class FollowingLake(ABC):
    """Deletes have no positions here: each takes as many rows as it has records.

    `refuse_moves` names groups whose deletes cannot be followed; `after_move` lets writers in
    between what was written and the commit of it.
    """

    facts: TableFacts
    history: dict[int, TableFacts]
    before_commit: Callable[[], None]
    after_commit: Callable[[], None]

    def __init__(self) -> None:
        self.refuse_moves: dict[int, str] = {}
        self.after_move: Callable[[], None] = lambda: None
        self.changes: list[FileChange] = []

    @abstractmethod
    def _commit(
        self,
        files: tuple[DataFileFacts, ...],
        added: tuple[DataFileFacts, ...],
        operation: str,
        summary: dict[str, str],
    ) -> None: ...

    def create_tag(self, table: TableRef, snapshot_id: int, name: str, max_age_ms: int) -> None:
        ref = RefFacts(name, snapshot_id, "tag", max_age_ms)
        self.facts = replace(self.facts, refs=(*self.facts.refs, ref))

    def _tag_before(self, undo: UndoTag | None) -> None:
        """As a commit does that sets the tag with it."""
        if undo is None:
            return
        earlier = next((ref for ref in self.facts.refs if ref.name == undo.name), None)
        if earlier is not None and earlier.kind == "branch":
            raise ExecutionError(taken_name(undo))
        kept = self.facts.snapshot(earlier.snapshot_id if earlier else self.facts.snapshot_id)
        assert kept is not None
        tag = undo.on(kept.snapshot_id, kept.committed_at)
        if earlier is not None:
            self.remove_tag(self.facts.table, tag.name)
        self.create_tag(self.facts.table, tag.snapshot_id, tag.name, tag.max_age_ms)

    def remove_tag(self, table: TableRef, name: str) -> None:
        refs = tuple(ref for ref in self.facts.refs if ref.name != name)
        self.facts = replace(self.facts, refs=refs)

    def roll_back(self, table: TableRef, snapshot_id: int) -> None:
        if snapshot_id not in self.history:
            raise ExecutionError(f"There is no snapshot {snapshot_id}.")
        then = self.history[snapshot_id]
        self.facts = replace(
            then, snapshots=self.facts.snapshots, refs=self.facts.refs, snapshot_id=snapshot_id
        )

    def delete_entries(
        self, table: TableRef, snapshot_id: int, paths: Collection[str]
    ) -> list[DeleteEntry]:
        return [
            DeleteEntry(
                path=delete.path,
                kind=delete.kind,
                format="PARQUET",
                spec_id=delete.partition[0],
                partition=tuple(str(value) for value in delete.partition[1]),
                size_bytes=delete.size_bytes,
                record_count=delete.record_count,
                data_sequence_number=delete.data_sequence_number,
                referenced_path=delete.referenced_path,
            )
            for delete in self.history[snapshot_id].delete_files
            if delete.path in paths
        ]

    def move_deletes(self, table: TableRef, order: MoveOrder) -> MovedDeletes:
        moved = [group for group in order.groups if group.group_id not in self.refuse_moves]
        refused = {
            group.group_id: self.refuse_moves[group.group_id]
            for group in order.groups
            if group not in moved
        }
        gone = {key for group in moved for source in group.sources for key in source.deletes}
        removed = [order.deletes[key] for key in order.fresh if key in gone]
        removed += [order.deletes[key] for key in order.copies]
        added = [_moved(order, group) for group in moved]
        added += [replace(order.deletes[key], path=path) for key, path in order.copies.items()]
        rows = sum(delete.record_count for delete in added)
        self.after_move()
        return MovedDeletes(tuple(removed), tuple(added), refused, rows)

    def change_files(
        self,
        table: TableRef,
        made_on: MadeOn,
        change: FileChange,
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        self.before_commit()
        self.changes.append(change)
        if (self.facts.table_uuid, self.facts.snapshot_id) != astuple(made_on):
            raise CommitConflict(f"The head is no longer snapshot {made_on.snapshot_id}.")
        current = {file.path: file for file in self.facts.data_files}
        fresh = fresh_files(current[change.removed[0].path], change.added)
        gone = {file.path for file in change.removed}
        dropped = {delete.key for delete in change.deletes.removed}
        kept = tuple(
            d
            for d in self.facts.delete_files
            if delete_key(d.path, d.kind, d.referenced_path) not in dropped
        )
        newest = 1 + newest_sequence_number(self.facts)
        added = tuple(_facts(delete, newest) for delete in change.deletes.added)
        files = tuple(file for path, file in current.items() if path not in gone)
        self.facts = replace(self.facts, delete_files=kept)
        self._tag_before(undo)
        self._commit((*files, *fresh), fresh, "replace", dict(properties))
        self.facts = replace(self.facts, delete_files=(*kept, *added))
        if change.data_sequence_number is not None:
            self._grow_old({file.path for file in fresh}, change.data_sequence_number)
        assert self.facts.snapshot_id is not None
        self.history[self.facts.snapshot_id] = self.facts
        self.after_commit()

    def _grow_old(self, paths: set[str], sequence_number: int) -> None:
        files = tuple(
            replace(f, data_sequence_number=sequence_number) if f.path in paths else f
            for f in self.facts.data_files
        )
        self.facts = replace(self.facts, data_files=files)


def fresh_files(model: DataFileFacts, added: Sequence[FileDetails]) -> tuple[DataFileFacts, ...]:
    """Added files as a survey will find them."""
    return tuple(
        replace(
            model,
            path=file.path,
            partition=(file.spec_id, file.partition),
            size_bytes=file.size_bytes,
            record_count=file.record_count,
        )
        for file in added
    )


def _moved(order: MoveOrder, group: GroupMove) -> DeleteEntry:
    fresh = [key for source in group.sources for key in source.deletes if key in order.fresh]
    target = group.targets[0]
    return DeleteEntry(
        path=target.deletes_path,
        kind=DeleteKind.POSITION,
        format="PARQUET",
        spec_id=target.spec_id,
        partition=target.partition,
        size_bytes=1,
        record_count=sum(order.deletes[key].record_count for key in fresh),
        referenced_path=target.path,
    )


def _facts(delete: DeleteEntry, newest: int) -> DeleteFileFacts:
    number = delete.data_sequence_number
    return DeleteFileFacts(
        path=delete.path,
        kind=delete.kind,
        partition=(delete.spec_id, delete.partition),
        size_bytes=delete.size_bytes,
        record_count=delete.record_count,
        data_sequence_number=newest if number is None else number,
        referenced_path=delete.referenced_path,
    )
