"""Tables of a query, on their way to the process that reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from neve.model.database import Wanted
from neve.model.table import TableRef


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table as it was loaded, in a form that travels to another process."""

    table: TableRef
    #: As a metadata file has it.
    metadata: str = field(repr=False)
    metadata_location: str
    #: How its files are reached.
    properties: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class QueryRelation:
    """A table of a query, and what the query needs of it."""

    source: TableSource
    wanted: Wanted
