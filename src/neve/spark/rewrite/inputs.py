"""The inputs of a task, opened once for all engines of its ladder."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from neve.model.errors import ParquetError, ParquetUnsupported
from neve.model.rewrite import RewriteTask, SourceRange, SpliceRequirements, TaskInput
from neve.parquet.indexes import Source, load_source
from neve.parquet.plan import SplicePlan
from neve.parquet.requirements import refusal, refusal_of_file
from neve.parquet.splice import plan_splice
from neve.planning.packing import split_evenly
from neve.planning.refusals import ARROW_SCHEMES
from neve.spark.rewrite.files import TaskFiles
from neve.storage.access import Storage, local_path
from neve.storage.readers import Closing, LocalReader, Reader

if TYPE_CHECKING:
    from neve.storage.arrow import ArrowStore
    from neve.storage.s3 import S3Reader, S3Store

FOOTERS_AT_ONCE = 16
#: The ends of this many sources are kept, so that their indexes need not be read twice.
TAILS_KEPT = 256


@dataclass(frozen=True, slots=True)
class PlannedCopy:
    """One output made of whole inputs, these by number."""

    inputs: tuple[int, ...]
    plan: SplicePlan


class TaskInputs(Closing):
    """What an engine is given: the task, and its inputs as they are read for the first time."""

    def __init__(self, task: RewriteTask, wanted: SpliceRequirements, storage: Storage) -> None:
        self.task = task
        self.wanted = wanted
        self.storage = storage
        #: Of the store's requests, those that a written file has told.
        self.requests_told = 0

    @property
    def is_in_store(self) -> bool:
        """Whether the new files are objects of a store."""
        return self.task.outputs[0][0].startswith("s3:")

    @cached_property
    def arrow(self) -> ArrowStore | None:
        """The store that Arrow reaches, if the new files lie in one."""
        if not self.task.outputs[0][0].startswith(ARROW_SCHEMES):
            return None
        # Its clients are loaded only where tables lie in such a store.
        from neve.storage.arrow import ArrowStore

        return ArrowStore(self.storage.arrow_settings)

    @cached_property
    def store(self) -> S3Store:
        """The store, its requests counted for this task."""
        if self.storage.refusal:
            raise ParquetUnsupported(f"{self.task.inputs[0].path}: {self.storage.refusal}.")
        # The client is installed only where tables lie in S3.
        from neve.storage.s3 import S3Store

        return S3Store(self.storage.s3_client())

    @cached_property
    def files(self) -> TaskFiles:
        """The same as files of this machine, for whoever rewrites rows."""
        return TaskFiles(self.storage, lambda: self.store)

    def close(self) -> None:
        """Leave nothing on this machine."""
        if "files" in self.__dict__:
            self.files.close()

    @cached_property
    def opened(self) -> Sequence[tuple[Reader, Source]]:
        """All inputs with their footers and indexes; readers of objects stay usable."""
        return [self.first, *self._open(self.task.inputs[1:])]

    @cached_property
    def first(self) -> tuple[Reader, Source]:
        """The first input: files of a table are mostly alike, so it may tell enough."""
        (opened,) = self._open(self.task.inputs[:1])
        return opened

    def _open(self, inputs: Sequence[TaskInput]) -> Sequence[tuple[Reader, Source]]:
        if not self.arrow and not self.is_in_store:
            return [_open_local(source) for source in inputs]
        with ThreadPoolExecutor(FOOTERS_AT_ONCE, "task-open") as pool:
            if arrow := self.arrow:
                return list(pool.map(lambda one: _open_through(arrow, one), inputs))
            store, keep = self.store, len(self.task.inputs) <= TAILS_KEPT
            return list(pool.map(lambda one: _open_object(store, one, keep), inputs))

    def requests_since(self) -> int:
        """Of the store, since they were told the last time."""
        if "store" not in self.__dict__:
            return 0
        told, self.requests_told = self.requests_told, self.store.counts.requests
        return self.requests_told - told

    def objects(self, numbers: Sequence[int]) -> list[S3Reader]:
        """Readers of these inputs, where they are objects."""
        return [cast("S3Reader", self.opened[number][0]) for number in numbers]

    def planned_copies(self) -> list[PlannedCopy]:
        """The inputs shared out evenly over the outputs, or a refusal to copy them."""
        if self.task.deletes:
            raise ParquetUnsupported("Deletes must be applied, which a copy cannot.")
        if why := refusal_of_file(self.first[1].footer, self.wanted):
            raise ParquetUnsupported(why)
        sources = [source for _, source in self.opened]
        if why := refusal([source.footer for source in sources], self.wanted):
            raise ParquetUnsupported(why)
        shares = split_evenly(
            range(len(sources)),
            parts=len(self.task.outputs),
            at_least=1,
            size_of=lambda number: self.task.inputs[number].size_bytes,
        )
        # All are planned before one is written: whoever refuses has left nothing behind.
        return [PlannedCopy(tuple(s), plan_splice([sources[n] for n in s])) for s in shares]

    def whole(self, numbers: Sequence[int]) -> tuple[SourceRange, ...]:
        """These inputs with all their rows, as a copy has them behind each other."""
        rows = [self.opened[number][1].footer.rows for number in numbers]
        paths = [self.task.inputs[number].path for number in numbers]
        return tuple(SourceRange(path, 0, count) for path, count in zip(paths, rows, strict=True))


def _open_local(source: TaskInput) -> tuple[Reader, Source]:
    if not source.path.startswith(("file:", "/")):
        raise ParquetUnsupported(f"{source.path} is an object, and the new file would be none.")
    with LocalReader(local_path(source.path)) as reader:
        return reader, _load_checked(reader, source.size_bytes)


def _open_through(arrow: ArrowStore, source: TaskInput) -> tuple[Reader, Source]:
    try:
        with arrow.open(source.path) as reader:
            return reader, _load_checked(reader, source.size_bytes)
    except ParquetError as error:
        if isinstance(error.__cause__, OSError):
            # Iceberg's own client may have credentials that Arrow's does not know.
            raise ParquetUnsupported(
                f"Arrow's client does not get through: {error.message}"
            ) from error
        raise


def _open_object(store: S3Store, source: TaskInput, keep_tail: bool) -> tuple[Reader, Source]:
    from neve.storage.s3 import S3Reader

    reader = S3Reader(store, source.path)
    loaded = _load_checked(reader, source.size_bytes)
    if not keep_tail:
        reader.forget_tail()
    return reader, loaded


def _load_checked(reader: Reader, size_bytes: int) -> Source:
    """A source's footer and indexes; a file that is not as its manifest says is no source."""
    if reader.size_bytes != size_bytes:
        raise ParquetError(
            f"{reader.path} has {reader.size_bytes} bytes, and its manifest says {size_bytes}."
        )
    return load_source(reader)
