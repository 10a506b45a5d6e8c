"""Commits to catalogs that hold the name of a metadata file: the file is written here.

The catalog's own code still swaps the names, by comparing with the file that was judged. It runs
on a copy of the catalog whose steps of making and writing metadata are replaced.
"""

from __future__ import annotations

import copy
import gzip
import uuid
from collections.abc import Callable
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import FileIO
from pyiceberg.table import StagedTable, Table
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from neve.catalog.careful_tables import plain_properties
from neve.catalog.errors import UNREADABLE, first_line
from neve.catalog.metadata_json import GZIP_SUFFIXES, changed, read_json, to_text
from neve.catalog.recent import with_metadata
from neve.model.errors import ExecutionError
from neve.model.metadata_change import MetadataChange

ENCRYPTION_KEY = "encryption.key-id"
COMPRESSION = "write.metadata.compression-codec"


def commit_file(
    catalog: Catalog,
    judged: Table,
    change: MetadataChange,
    now_ms: int,
    still_held: Callable[[], None],
) -> Table:
    """Replace the judged metadata file by one with the change, if it is still the current one."""
    if ENCRYPTION_KEY in judged.metadata.properties:
        raise ExecutionError(
            f"Table {change.table} is encrypted, and its catalog may keep a checksum of its "
            "metadata that would not be updated here, so nothing was changed.",
            next_step="Make the change with the engine that encrypts the table.",
        )
    text, metadata = _prepare(judged, change, now_ms)
    location = _new_location(judged)

    def stage(current: Table | None, identifier: Any, *_: object) -> StagedTable:
        if current is None or current.metadata_location != judged.metadata_location:
            raise CommitFailedException(f"Table {change.table} has other metadata by now.")
        return StagedTable(
            identifier=identifier,
            metadata=metadata,
            metadata_location=location,
            io=judged.io,
            catalog=catalog,
        )

    def write(*_: object, **__: object) -> None:
        _write(judged.io, location, text, change)
        # What follows is the swap alone.
        still_held()

    once: Any = copy.copy(catalog)
    once._update_and_stage_table = stage
    once._write_metadata = write
    # What Glue calls for S3 tables.
    once._write_metadata_no_exist_check = write
    answer = once.commit_table(judged, (), ())
    if answer.metadata_location != location:
        raise ExecutionError(
            f"{change.purpose} failed, and nothing was changed: catalogs of the kind "
            f"{type(catalog).__name__} do not take metadata that is written for them."
        )
    return with_metadata(judged, metadata, location)


def _prepare(judged: Table, change: MetadataChange, now_ms: int) -> tuple[str, TableMetadata]:
    """The new metadata, as it will be written and as pyiceberg reads it."""
    location = judged.metadata_location
    try:
        text = to_text(changed(read_json(judged.io, location), location, change, now_ms))
        return text, TableMetadataUtil.parse_raw(text)
    except UNREADABLE as error:
        raise ExecutionError(
            f"{change.purpose} failed, and nothing was changed: metadata file {location} "
            f"cannot be changed: {first_line(error)}",
            next_step=f"See what is wrong with it: neve doctor {change.table.typed}",
        ) from error


def _new_location(judged: Table) -> str:
    """The name as every writer gives it: a version, then something that is never given twice."""
    head = judged.metadata_location.rpartition("/")[2].partition("-")[0]
    version = int(head) + 1 if head.isdecimal() else 0
    properties = plain_properties(judged)
    zipped = ".gz" if properties.get(COMPRESSION, "none").lower() == "gzip" else ""
    provider = load_location_provider(judged.metadata.location, properties)
    return provider.new_metadata_location(f"{version:05d}-{uuid.uuid4()}{zipped}.metadata.json")


def _write(io: FileIO, location: str, text: str, change: MetadataChange) -> None:
    data = text.encode()
    if location.endswith(GZIP_SUFFIXES):
        data = gzip.compress(data)
    try:
        with io.new_output(location).create() as file:
            file.write(data)
    except OSError as error:
        raise ExecutionError(
            f"{change.purpose} failed, and nothing was changed: "
            f"metadata could not be written: {first_line(error)}"
        ) from error
