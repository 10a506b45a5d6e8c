"""The surveyor: tables by name, facts by table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from neve.catalog.connect import Catalogs
from neve.catalog.survey import survey
from neve.model.facts import TableFacts
from neve.model.table import TableRef
from neve.planning.filters import parse_filter


class CatalogSurveyor:
    """Surveys tables of the configured catalogs."""

    def __init__(self, catalogs: Catalogs, clock: Callable[[], datetime]) -> None:
        self._catalogs = catalogs
        self._clock = clock

    def tables(self, pattern: str) -> list[TableRef]:
        return self._catalogs.tables(pattern)

    def survey(
        self, table: TableRef, *, where: str | None = None, snapshot_id: int | None = None
    ) -> TableFacts:
        now = self._clock()
        predicate = parse_filter(where, today=now.date()) if where is not None else None
        return survey(
            table,
            self._catalogs.load(table),
            now=now,
            predicate=predicate,
            where=where,
            snapshot_id=snapshot_id,
        )
