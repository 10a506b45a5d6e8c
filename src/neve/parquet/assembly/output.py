"""Where a new file goes, byte after byte."""

from __future__ import annotations

from typing import Final, Protocol

from neve.storage.readers import Reader

_COPY_BYTES: Final = 8 * 1024 * 1024


class Sink(Protocol):
    """Takes bytes in order: a file, or a stream into a store."""

    def write(self, data: bytes | memoryview) -> object:
        """Take all of them."""


class RangeSink(Sink, Protocol):
    """A sink that has a better way for bytes of other files."""

    def copy(self, reader: Reader, offset: int, length: int) -> None:
        """Take a range of a file."""


class Output:
    """A sink that knows how far it is, and that copies neighbouring ranges together."""

    def __init__(self, sink: Sink | RangeSink) -> None:
        self.position = 0
        self._sink = sink
        self._pending: tuple[Reader, int, int] | None = None

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes."""
        self.flush()
        self._sink.write(data)
        self.position += len(data)

    def copy(self, reader: Reader, offset: int, length: int) -> None:
        """Append a range of a file, perhaps together with the next one."""
        if self._pending is not None:
            source, start, end = self._pending
            if source is reader and end == offset:
                self._pending = (reader, start, end + length)
                self.position += length
                return
            self.flush()
        self._pending = (reader, offset, offset + length)
        self.position += length

    def flush(self) -> None:
        """Carry out what is pending."""
        if self._pending is None:
            return
        reader, start, end = self._pending
        self._pending = None
        copy = getattr(self._sink, "copy", None)
        if copy is not None:
            copy(reader, start, end - start)
            return
        for offset in range(start, end, _COPY_BYTES):
            self._sink.write(reader.read_at(offset, min(_COPY_BYTES, end - offset)))
