"""A file to be, as data: parts in order, each a range of a source or bytes of our own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that the plan copies from, as it was when the plan was made."""

    path: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CopyRange:
    """Bytes that are taken from a source as they are."""

    source: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Literal:
    """Bytes of structure that the plan itself holds: magic, indexes, footer."""

    data: bytes = field(repr=False)

    @property
    def length(self) -> int:
        """How many bytes they are."""
        return len(self.data)


@dataclass(frozen=True, slots=True)
class Encoded:
    """Pages that were encoded again. They are data as copied ones are, and proven as those."""

    data: bytes = field(repr=False)

    @property
    def length(self) -> int:
        """How many bytes they are."""
        return len(self.data)


Part: TypeAlias = CopyRange | Literal | Encoded


@dataclass(frozen=True, slots=True)
class SplicePlan:
    """A new file, part by part; the last part is the footer with its length and magic."""

    sources: tuple[SourceFile, ...]
    parts: tuple[Part, ...] = field(repr=False)
    size_bytes: int
    rows: int
    row_groups: int
    #: Where each row group starts in the new file.
    split_offsets: tuple[int, ...] = field(repr=False)
    #: What the new file lacks that some source had, and why.
    notes: tuple[str, ...]

    @property
    def copied_bytes(self) -> int:
        """How many bytes come from the sources."""
        return sum(part.length for part in self.parts if isinstance(part, CopyRange))

    @property
    def encoded_bytes(self) -> int:
        """How many bytes of data do not."""
        return sum(part.length for part in self.parts if isinstance(part, Encoded))

    @property
    def data_bytes(self) -> int:
        """How many bytes of data the file has; the rest is structure."""
        return self.copied_bytes + self.encoded_bytes

    @property
    def footer(self) -> bytes:
        """The footer with its length and the closing magic."""
        last = self.parts[-1]
        return last.data if isinstance(last, Literal) else b""


class PartList:
    """Parts of a new file as they are laid down one after the other; neighbours grow together."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._parts: list[Part] = []
        self._pending: list[bytes] = []

    def copy(self, source: int, offset: int, length: int, max_gap_bytes: int = 0) -> int:
        """Lay down a range of a source, and return where it comes to lie.

        A range that starts at most `max_gap_bytes` after the one before takes the gap along.
        """
        self._flush()
        last = self._parts[-1] if self._parts else None
        if isinstance(last, CopyRange) and last.source == source:
            gap = offset - last.offset - last.length
            if 0 <= gap <= max_gap_bytes:
                self._parts[-1] = CopyRange(source, last.offset, last.length + gap + length)
                self.size_bytes += gap + length
                return self.size_bytes - length
        self._parts.append(CopyRange(source, offset, length))
        self.size_bytes += length
        return self.size_bytes - length

    def write(self, data: bytes) -> int:
        """Lay down literal bytes, and return where they come to lie."""
        self._pending.append(data)
        self.size_bytes += len(data)
        return self.size_bytes - len(data)

    def encode(self, data: bytes) -> int:
        """Lay down pages that were encoded again, and return where they come to lie."""
        self._flush()
        self._parts.append(Encoded(data))
        self.size_bytes += len(data)
        return self.size_bytes - len(data)

    def finish(self, footer: bytes) -> tuple[Part, ...]:
        """All parts, with the footer as the last one."""
        self._flush()
        self._parts.append(Literal(footer))
        self.size_bytes += len(footer)
        return tuple(self._parts)

    def _flush(self) -> None:
        if self._pending:
            self._parts.append(Literal(b"".join(self._pending)))
            self._pending.clear()
