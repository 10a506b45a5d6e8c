"""One connection to Trino, with all that jobs need of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neve.trino.connect import connect, lost_errors, trino_errors
from neve.trino.maintenance_log import TrinoLog
from neve.trino.procedures import TrinoProcedures
from neve.trino.settings import MaintenanceSettings


@dataclass(frozen=True, slots=True)
class TrinoEngine:
    """Runs operations, and writes the log, over one session."""

    connection: Any
    procedures: TrinoProcedures
    log: TrinoLog

    def close(self) -> None:
        self.connection.close()


def open_trino(settings: MaintenanceSettings, **reach: Any) -> TrinoEngine:
    """Connect; `reach` is what `neve.trino.connect` takes."""
    errors = trino_errors()
    connection = connect(catalog=settings.catalog, schema=settings.schema, **reach)
    cursor = connection.cursor()
    procedures = TrinoProcedures(cursor, errors, settings, lost_errors())
    return TrinoEngine(connection, procedures, TrinoLog(cursor, errors))
