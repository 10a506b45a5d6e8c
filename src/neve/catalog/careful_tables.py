"""Properties of tables are their writers'. None of them says which code runs here."""

from __future__ import annotations

from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import StaticTable, Table
from pyiceberg.table.refs import MAIN_BRANCH

from neve.model.errors import EngineNeeded, TableUnreadable
from neve.model.table import TableRef

#: How older metadata says that there is none.
NO_SNAPSHOT = -1
#: A class that pyiceberg would import and ask for the names of files.
LOCATION_PROVIDER = "write.py-location-provider.impl"


def ignoring_tables(catalog: Catalog) -> Catalog:
    """The catalog, which reaches files as its own properties say."""
    load = catalog._load_file_io

    def load_by_catalog(properties: Any = None, location: str | None = None) -> FileIO:
        return load(location=location)

    catalog._load_file_io = load_by_catalog  # type: ignore[method-assign]
    return catalog


def static_table(metadata_location: str, properties: dict[str, str]) -> StaticTable:
    """A table by its metadata file; pyiceberg would open its files with its own properties."""
    io = load_file_io(properties, metadata_location)
    return StaticTable(
        identifier=("static-table", metadata_location),
        metadata_location=metadata_location,
        metadata=FromInputFile.table_metadata(io.new_input(metadata_location)),
        io=io,
        catalog=NoopCatalog("static-table"),
    )


def plain_properties(table: Table) -> dict[str, str]:
    """The table's properties, without the code that one of them may name."""
    named = table.metadata.properties
    return {key: value for key, value in named.items() if key != LOCATION_PROVIDER}


def refuse_own_code(ref: TableRef, table: Table) -> None:
    """Raise where writing to the table would import what a property of it names."""
    if LOCATION_PROVIDER in table.metadata.properties:
        raise EngineNeeded(
            f"Table {ref} names a class of its own ({LOCATION_PROVIDER}), which is not run here.",
            next_step="Remove that property, or write to the table with Spark.",
        )


def refuse_lost_head(ref: TableRef, table: Table) -> None:
    """Raise where the current snapshot is not among those that are told: it would seem empty."""
    metadata = table.metadata
    main = [item.snapshot_id for name, item in metadata.refs.items() if name == MAIN_BRANCH]
    for head in (metadata.current_snapshot_id, *main):
        if head is not None and head != NO_SNAPSHOT and not metadata.snapshot_by_id(head):
            raise TableUnreadable(
                f"The metadata of table {ref} cannot be read: its current snapshot {head} is not "
                "among its snapshots.",
                next_step=f"See what is wrong and the way back: neve doctor {ref}",
            )
