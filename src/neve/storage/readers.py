"""Random access to the bytes of a file, wherever it lies."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Protocol, Self

from neve.model.errors import ParquetCorrupt, ParquetError

#: One request to a store fetches the whole footer of most files, and little of a small file.
FIRST_READ_BYTES: Final = 32 * 1024
#: What is in memory of a file that is read as a whole.
PIECE_BYTES: Final = 4 * 1024 * 1024


class Reader(Protocol):
    """What the Parquet code asks of a file; `read_at` may be called from several threads."""

    @property
    def path(self) -> str:
        """How the file is called in errors and in plans."""

    @property
    def size_bytes(self) -> int:
        """The length of the file when it was opened."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`, or an error."""


class MemoryReader:
    """A file that is a byte string: the twin for tests and for what is already at hand."""

    def __init__(self, data: bytes, path: str = "memory") -> None:
        self.path = path
        self.size_bytes = len(data)
        self._data = data

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`, or an error."""
        return whole(self._data[offset : offset + length], self.path, offset, length)


class Closing(ABC):
    """Is closed at the end of a `with` block."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class LocalReader(Closing):
    """A file on this machine."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            self._descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            raise cannot_read(self.path, error) from error
        self.size_bytes = os.fstat(self._descriptor).st_size

    def fileno(self) -> int:
        """The descriptor, for copies that the kernel makes."""
        return self._descriptor

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`, or an error."""
        try:
            data = os.pread(self._descriptor, length, offset)
            # One call answers with at most 2 GiB, and a signal may cut it shorter.
            while 0 < len(data) < length:
                more = os.pread(self._descriptor, length - len(data), offset + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise cannot_read(self.path, error) from error
        return whole(data, self.path, offset, length)

    def close(self) -> None:
        """Give the descriptor back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class StoreReader(Closing):
    """A file in a pyarrow file system: S3, GCS, Azure, HDFS or the local disk."""

    def __init__(self, file_system: Any, path: str) -> None:
        self.path = path
        try:
            self._file = file_system.open_input_file(path)
            self.size_bytes = int(self._file.size())
        except OSError as error:
            raise cannot_read(path, error) from error

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`, or an error."""
        try:
            data = bytes(self._file.read_at(length, offset))
        except OSError as error:
            raise cannot_read(self.path, error) from error
        return whole(data, self.path, offset, length)

    def close(self) -> None:
        """Close the connection to the file."""
        self._file.close()


def pieces_of(reader: Reader) -> Iterator[bytes]:
    """All bytes of a file, a few megabytes at a time."""
    for offset in range(0, reader.size_bytes, PIECE_BYTES):
        yield reader.read_at(offset, min(PIECE_BYTES, reader.size_bytes - offset))


def whole(data: bytes, path: str, offset: int, length: int) -> bytes:
    """The same bytes, once it is sure that none are missing."""
    if len(data) == length:
        return data
    raise ParquetCorrupt(
        f"{path} ended after {len(data)} of the {length} bytes expected at offset {offset}."
    )


def cannot_read(path: str, error: OSError) -> ParquetError:
    """The error for a file that the store does not hand out."""
    return ParquetError(
        f"{path} cannot be read: {error.strerror or error}.",
        next_step="Check that the file exists and that the storage credentials reach it.",
    )
