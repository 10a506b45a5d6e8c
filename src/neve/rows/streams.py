"""Tables that come one after the other, taken in other pieces than they come in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class RowStream:
    """Rows in their order; nothing is copied."""

    def __init__(self, tables: Iterable[Any]) -> None:
        self._tables = iter(tables)
        self._waiting: Any = None

    def take(self, rows: int) -> list[Any]:
        """The next rows, or fewer where no more come."""
        taken: list[Any] = []
        while rows:
            if self._waiting is None or not self._waiting.num_rows:
                self._waiting = next(self._tables, None)
                if self._waiting is None:
                    break
            taken.append(self._waiting.slice(0, rows))
            self._waiting = self._waiting.slice(taken[-1].num_rows)
            rows -= taken[-1].num_rows
        return taken

    def rest(self) -> Iterator[Any]:
        """All that is left."""
        if self._waiting is not None:
            yield self._waiting
        yield from self._tables
