"""Where Trino's tables are, and how far each of its operations goes."""

from __future__ import annotations

from dataclasses import dataclass

from neve.trino.operations import DEFAULT_FILE_SIZE_THRESHOLD, DEFAULT_RETENTION
from neve.trino.quoting import duration_literal, quote_identifier, size_literal
from neve.trino.tables import DEFAULT_CATALOG, DEFAULT_SCHEMA


@dataclass(frozen=True, slots=True)
class MaintenanceSettings:
    """Where the tables are and how far each operation goes.

    `min_retention` lowers Trino's own floor of 7 days; leave it out to keep that protection.
    """

    catalog: str = DEFAULT_CATALOG
    schema: str = DEFAULT_SCHEMA
    file_size_threshold: str = DEFAULT_FILE_SIZE_THRESHOLD
    snapshot_retention: str = DEFAULT_RETENTION
    orphan_retention: str = DEFAULT_RETENTION
    min_retention: str | None = None

    def __post_init__(self) -> None:
        quote_identifier(self.catalog)
        quote_identifier(self.schema)
        size_literal(self.file_size_threshold)
        duration_literal(self.snapshot_retention)
        duration_literal(self.orphan_retention)
        if self.min_retention is not None:
            duration_literal(self.min_retention)


DEFAULT_SETTINGS = MaintenanceSettings()
