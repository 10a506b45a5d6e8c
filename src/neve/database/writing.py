"""One group of writes becomes one snapshot, and none of them is counted twice.

Every attempt looks at the table again. A commit asserts the head that was looked at, so that of two
attempts, by whatever process, one is applied: where the other one was, its keys are found.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from neve.database.ports import OpenTable, StagedRows, Tables
from neve.database.records import read_records
from neve.model.database import Column, Row, WriteKey
from neve.model.errors import (
    CommitConflict,
    CommitUnknown,
    KeyReused,
    NeveError,
    RecordsRefused,
    StoreError,
)
from neve.model.table import TableRef
from neve.retries import RetryPolicy, Sleep, retrying
from neve.service.store_ports import JobStore

#: A group of a thousand is divided ten times to find one write.
MAX_SPLITS = 32
#: Others may write to the table as well, and each of their commits costs an attempt.
POLICY = RetryPolicy(attempts=20, first_pause_seconds=0.02, max_pause_seconds=2.0)


@dataclass(frozen=True, slots=True)
class Written:
    """The end of a write: it is in the table."""

    records: int
    #: An earlier request with the same key wrote it.
    is_repeat: bool = False
    #: None where they were not counted.
    small_files: int | None = None
    is_recommended: bool = False


@dataclass(eq=False, slots=True)
class PendingWrite:
    """A write that waits for its commit."""

    records: Sequence[Row]
    key: WriteKey | None = None
    future: Future[Written] = field(default_factory=Future)
    rows: list[dict[str, object]] = field(default_factory=list)
    is_committed: bool = False

    def __post_init__(self) -> None:
        # Whoever stops waiting does not stop the commit.
        self.future.set_running_or_notify_cancel()

    @property
    def size(self) -> int:
        return len(self.records)

    @property
    def is_told(self) -> bool:
        """Whether it has an end, told or about to be."""
        return self.is_committed or self.future.done()

    def fail(self, error: BaseException) -> None:
        if not self.is_told:
            self.future.set_exception(error)

    def succeed(self, written: Written | None = None) -> None:
        if not self.future.done():
            self.future.set_result(written or Written(len(self.records)))


@dataclass(slots=True)
class _Tries:
    """How often a group is divided before it is believed that nothing of it can be written."""

    left: int
    have_succeeded: bool = False

    def one_more(self) -> bool:
        self.left -= 1
        return self.have_succeeded or self.left >= 0


#: Told of writes that were committed: the table, its UUID, how many it has had, and the writes.
Committed = Callable[[TableRef, str, int, Sequence[PendingWrite]], None]


class BatchWriter:
    """Commits groups of writes."""

    def __init__(
        self,
        tables: Tables,
        store: JobStore,
        committed: Committed,
        warn: Callable[[str], None],
        sleep: Sleep = time.sleep,
    ) -> None:
        self._tables, self._store, self._committed = tables, store, committed
        self._warn, self._sleep = warn, sleep

    def commit(self, table: TableRef, group: Sequence[PendingWrite]) -> None:
        """Commit them together; each is told how it ended.

        Where their rows cannot be written together, some may be: no write fails for another's.
        """
        self._commit_parts(table, group, _Tries(MAX_SPLITS))

    def _commit_parts(self, table: TableRef, group: Sequence[PendingWrite], tries: _Tries) -> None:
        try:
            self._commit_together(table, group)
            tries.have_succeeded = True
        except RecordsRefused:
            waiting = [write for write in group if not write.is_told]
            if len(waiting) < 2 or not tries.one_more():
                raise
            middle = len(waiting) // 2
            for part in (waiting[:middle], waiting[middle:]):
                self._commit_part(table, part, tries)

    def _commit_part(self, table: TableRef, part: Sequence[PendingWrite], tries: _Tries) -> None:
        # One that repeats another has its fate by now.
        waiting = [write for write in part if not write.is_told]
        try:
            if waiting:
                self._commit_parts(table, waiting, tries)
        except NeveError as error:
            for write in waiting:
                write.fail(error)

    def _commit_together(self, table: TableRef, group: Sequence[PendingWrite]) -> None:
        batch = _Batch(table, list(group))
        try:
            retrying(partial(self._attempt, batch), on=_may_pass, policy=POLICY, sleep=self._sleep)
        except NeveError as error:
            # An attempt before the last one may still be applied.
            raise batch.told(error) from error
        finally:
            self._remember_leftovers(batch)

    def _attempt(self, batch: _Batch) -> None:
        opened = self._tables.open(batch.table)
        self._finish(batch, opened.uuid, batch.take_landed(opened))
        batch.read(opened)
        self._settle_known(batch, opened)
        if not batch.open:
            return
        staged = batch.staged
        if staged is None or not staged.fits(opened, batch.open):
            staged = batch.stage(opened)
        try:
            opened.commit(staged.rows, [w.key for w in staged.writes if w.key], staged.write_id)
        except CommitUnknown:
            batch.is_in_doubt = True
            raise
        self._finish(batch, opened.uuid, batch.take(staged))

    def _settle_known(self, batch: _Batch, opened: OpenTable) -> None:
        """Writes whose keys are known are done; the table is asked, and the state."""
        keys = [write.key for write in batch.open if write.key]
        if not keys:
            return
        known = self._store.writes.known(opened.uuid, [key.key for key in keys])
        found = opened.written(keys)
        if missed := [WriteKey(k, c) for k, c in found.items() if k not in known]:
            # A process ended between its commit and its answer.
            self._store.writes.record(opened.uuid, missed)
        batch.settle_known({**known, **found})

    def _finish(self, batch: _Batch, table_uuid: str, writes: Sequence[PendingWrite]) -> None:
        """They are committed: whatever happens from here on, they are answered so."""
        if not writes:
            return
        keys = [write.key for write in writes if write.key]
        try:
            total = self._store.writes.record(table_uuid, keys, len(writes) - len(keys))
        except StoreError as error:
            self._warn(f"Writes to {batch.table} were not counted: {error.message}")
            total = 0
        self._committed(batch.table, table_uuid, total, writes)

    def _remember_leftovers(self, batch: _Batch) -> None:
        """Files for the sweep of orphans; none where a commit may have been applied."""
        left = [] if batch.is_in_doubt else batch.tried
        for staged in left:
            try:
                paths = list(staged.rows.paths)
                self._store.add_uncommitted_files(staged.write_id, batch.table, paths)
            except StoreError as error:
                self._warn(f"Files of {batch.table} were left behind: {error.message}")


@dataclass(frozen=True, slots=True)
class _Staged:
    """Data files of certain writes."""

    write_id: str
    rows: StagedRows
    made_for: tuple[object, ...]
    writes: list[PendingWrite]

    def fits(self, opened: OpenTable, writes: list[PendingWrite]) -> bool:
        return self.made_for == _kind(opened) and self.writes == writes


def _kind(opened: OpenTable) -> tuple[object, ...]:
    """What data files depend on; a table that was made anew begins with the same ids."""
    return opened.uuid, opened.layout, opened.columns


@dataclass(slots=True)
class _Batch:
    """A group on its way, over all attempts."""

    table: TableRef
    open: list[PendingWrite]
    staged: _Staged | None = None
    #: What was staged and is not known to be in the table.
    tried: list[_Staged] = field(default_factory=list)
    is_in_doubt: bool = False
    columns: tuple[Column, ...] | None = None

    def stage(self, opened: OpenTable) -> _Staged:
        rows = opened.stage([row for write in self.open for row in write.rows])
        self.staged = _Staged(uuid.uuid4().hex, rows, _kind(opened), list(self.open))
        self.tried.append(self.staged)
        return self.staged

    def told(self, error: NeveError) -> NeveError:
        """The error, or that nobody can tell."""
        if not self.is_in_doubt or isinstance(error, CommitUnknown):
            return error
        return CommitUnknown(
            f"Whether the rows are in {self.table} is not known: {error.message}",
            next_step="Send it again with the same idempotency key: it counts once.",
        )

    def take_landed(self, opened: OpenTable) -> list[PendingWrite]:
        """An attempt before this one may have been applied, whatever its answer was."""
        landed = [staged for staged in self.tried if opened.has_landed(staged.write_id)]
        return [write for staged in landed for write in self.take(staged)]

    def take(self, staged: _Staged) -> list[PendingWrite]:
        """Writes of what is in the table by now."""
        self.tried.remove(staged)
        self.open = [write for write in self.open if write not in staged.writes]
        for write in staged.writes:
            write.is_committed = True
        return staged.writes

    def read(self, opened: OpenTable) -> None:
        """Hold records against the columns, again only where these have changed."""
        if self.columns == opened.columns:
            return
        first = self.columns is None
        self.columns = opened.columns
        fitting = []
        for write in self.open:
            try:
                write.rows = read_records(opened.columns, write.records)
            except RecordsRefused as error:
                write.fail(self.told(error))
            else:
                fitting.append(write)
        self.open = fitting
        if first:
            self._set_repeats_apart()

    def _set_repeats_apart(self) -> None:
        firsts: dict[str, PendingWrite] = {}
        unique = []
        for write in self.open:
            first = firsts.setdefault(write.key.key, write) if write.key else write
            if first is write:
                unique.append(write)
            elif first.key == write.key:
                # It has the fate of the first.
                first.future.add_done_callback(partial(_same_fate, write))
            else:
                write.fail(key_reused())
        self.open = unique

    def settle_known(self, known: dict[str, str]) -> None:
        still_open = []
        for write in self.open:
            content = known.get(write.key.key) if write.key else None
            if write.key is None or content is None:
                still_open.append(write)
            elif content == write.key.content:
                write.succeed(Written(write.size, is_repeat=True))
            else:
                write.fail(key_reused())
        self.open = still_open


def _same_fate(write: PendingWrite, first: Future[Written]) -> None:
    if error := first.exception():
        write.fail(error)
    else:
        write.succeed(Written(write.size, is_repeat=True))


def key_reused() -> KeyReused:
    return KeyReused(
        "The idempotency key came with other rows before.",
        next_step="Send these with a key of their own.",
    )


def _may_pass(error: Exception) -> bool:
    return isinstance(error, CommitConflict | CommitUnknown)
