"""A reader as a file object, for libraries that take nothing else."""

from __future__ import annotations

import io
from collections.abc import Callable

from neve.storage.readers import Reader


class AsFile(io.RawIOBase):
    """The file that `reader` gives whenever it is asked."""

    def __init__(self, reader: Callable[[], Reader]) -> None:
        self._reader, self._at = reader, 0

    def read(self, size: int = -1) -> bytes:
        reader = self._reader()
        left = reader.size_bytes - self._at
        data = reader.read_at(self._at, left if size < 0 else min(size, left))
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        end = self._reader().size_bytes
        self._at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: end}[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True
