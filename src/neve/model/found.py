"""Tables that a pattern is for."""

from __future__ import annotations

from dataclasses import dataclass, field

from neve.model.errors import NeveError
from neve.model.table import TableRef

#: A name with one of these is a pattern.
GLOB_CHARACTERS = "*?["


@dataclass(frozen=True, slots=True)
class Found:
    """Tables of those catalogs that answered, and the problem with each that did not."""

    tables: list[TableRef]
    problems: dict[str, NeveError] = field(default_factory=dict)
    #: Catalogs that were asked.
    asked: int = 0
    #: Whether it was asked for by the name of one table, and not by a pattern.
    is_named: bool = False
