"""Rows for a terminal of any width: what is no sentence is never broken in its middle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

GAP = 2
#: A column of sentences is not narrower than this; it goes below its row rather.
LEAST_WIDTH = 28
INDENT = 4
#: An id is no figure, though it may begin with a digit.
ID = re.compile(r"[0-9a-z]{8,}")
#: A space inside of a name makes it no sentence.
QUOTED = re.compile(r"`[^`]*`")
#: What stands in a cell about which there is nothing to say.
NOTHING = "–"


class Listing:
    """A plain table where it fits; otherwise sentences wrap, or stand below their row."""

    def __init__(self, headers: Sequence[str], rows: Iterable[Sequence[str]], title: str = ""):
        self._headers = list(headers)
        self._rows = [list(row) for row in rows]
        self._title = title
        columns = range(len(self._headers))
        self._columns = [[row[index] for row in self._rows] for index in columns]
        self._widths = [
            max(map(cell_len, [header, *cells]))
            for header, cells in zip(self._headers, self._columns, strict=True)
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._title:
            yield Text(self._title, style="italic")
        width = options.max_width
        sentences = [index for index in self._all if self._is_sentence(index)]
        fixed = sum(w for index, w in enumerate(self._widths) if index not in sentences)
        left = width - fixed - GAP * (len(self._headers) - 1)
        # Of columns that must shrink each gets as much as the others.
        needed = max([LEAST_WIDTH, *map(self._longest_word, sentences)]) * len(sentences)
        if self._total(self._all) <= width or (sentences and left >= needed):
            yield self._table(sentences)
        else:
            yield from self._stacked(width, sentences)

    @property
    def _all(self) -> range:
        return range(len(self._headers))

    def _total(self, columns: Sequence[int]) -> int:
        return sum(self._widths[index] for index in columns) + GAP * (len(columns) - 1)

    def _is_sentence(self, index: int) -> bool:
        return self._widths[index] >= LEAST_WIDTH and any(
            " " in QUOTED.sub("", cell) for cell in self._columns[index]
        )

    def _longest_word(self, index: int) -> int:
        """An id or a name in a sentence is not broken either."""
        return max(cell_len(word) for cell in self._columns[index] for word in cell.split())

    def _is_figure(self, index: int) -> bool:
        cells = self._columns[index]
        return bool(cells) and all(
            (cell[:1].isdigit() or cell[:1] in "$–-") and not ID.fullmatch(cell) for cell in cells
        )

    def _table(self, sentences: Sequence[int]) -> RenderableType:
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, GAP, 0, 0))
        for index, header in enumerate(self._headers):
            justify = "right" if self._is_figure(index) else "left"
            is_fixed = index not in sentences
            table.add_column(Text(header), justify=justify, no_wrap=is_fixed, overflow="fold")  # type: ignore[arg-type]
        for row in self._rows:
            table.add_row(*map(Text, row))
        return table

    def _stacked(self, width: int, sentences: Sequence[int]) -> Iterable[RenderableType]:
        """As many columns in a line as fit; the others below it, each after its name."""
        told = [index for index in self._all if any(map(_is_told, self._columns[index]))]
        side: list[int] = []
        for index in told:
            if index not in sentences and self._total([*side, index]) <= width:
                side.append(index)
        # One that is longer than a line stands above the others: the terminal breaks it.
        above = [index for index in told[:1] if index not in side and index not in sentences]
        below = [index for index in told if index not in side and index not in above]
        yield self._line(self._headers, side, bold=True)
        for row in self._rows:
            for index in above:
                yield unbroken(row[index])
            yield self._line(row, side)
            for index in below:
                if _is_told(row[index]):
                    yield self._below(index, row[index], sentences)

    def _below(self, index: int, cell: str, sentences: Sequence[int]) -> RenderableType:
        if index in sentences:
            return Padding(Text(cell), (0, 0, 0, INDENT), expand=False)
        return unbroken(f"{' ' * INDENT}{self._headers[index]} {cell}")

    def _line(self, cells: Sequence[str], columns: Sequence[int], bold: bool = False) -> Text:
        parts = []
        for index in columns:
            padding = " " * (self._widths[index] - cell_len(cells[index]))
            is_right = self._is_figure(index)
            parts.append(padding + cells[index] if is_right else cells[index] + padding)
        line = unbroken((" " * GAP).join(parts).rstrip())
        line.style = "bold" if bold else ""
        return line


def _is_told(cell: str) -> bool:
    return cell not in ("", NOTHING)


def unbroken(text: str, style: str = "") -> Text:
    """A line to be copied as a whole: where it is too long, the terminal breaks it."""
    return Text(text, style, no_wrap=True, overflow="ignore")
