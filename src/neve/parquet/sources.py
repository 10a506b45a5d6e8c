"""The sources of a plan, opened as they are needed and few at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from neve.model.errors import ParquetError
from neve.parquet.plan import SourceFile
from neve.storage.readers import Closing, Reader

#: Well over the pieces that an executor reads ahead, so that no reader is closed while in use.
MAX_OPEN_SOURCES: Final = 32


class Planned(Protocol):
    """Any plan that takes bytes of files."""

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """The files, as they were when the plan was made."""


class ClosableReader(Reader, Protocol):
    """A reader that holds a descriptor or a connection."""

    def close(self) -> None:
        """Give it back."""


AnyReader = TypeVar("AnyReader", bound=ClosableReader)


class OpenSources(Closing, Generic[AnyReader]):
    """Readers of a plan's sources, each checked to be the file that was planned with."""

    def __init__(self, plan: Planned, open_reader: Callable[[str], AnyReader]) -> None:
        self._files = plan.sources
        self._open_reader = open_reader
        self._readers: OrderedDict[int, AnyReader] = OrderedDict()

    def reader(self, index: int) -> AnyReader:
        """The reader of a source; the one unused for longest makes room for it."""
        if index in self._readers:
            self._readers.move_to_end(index)
            return self._readers[index]
        if len(self._readers) == MAX_OPEN_SOURCES:
            self._readers.popitem(last=False)[1].close()
        source = self._files[index]
        reader = self._open_reader(source.path)
        self._readers[index] = reader
        if reader.size_bytes != source.size_bytes:
            raise ParquetError(
                f"{source.path} has {reader.size_bytes} bytes, it had {source.size_bytes} when "
                "the splice was planned.",
                next_step="Plan again.",
            )
        return reader

    def close(self) -> None:
        """Give back what is open."""
        while self._readers:
            self._readers.popitem()[1].close()
