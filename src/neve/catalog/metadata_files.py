"""The metadata folder of a table whose current metadata file cannot be used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyarrow.fs import FileSelector, FileType
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table.metadata import TableMetadata

from neve.catalog.checked_avro import (
    Damaged,
    damage_explained,
    parse_metadata,
    read_text,
    stored_size,
)
from neve.catalog.manifest_lists import read_list
from neve.catalog.timestamps import moment
from neve.model.integrity import MetadataFile, MetadataHistory

SUFFIXES = (".metadata.json", ".metadata.json.gz")
MAX_OPENED = 30
#: What half a metadata file still tells.
UUID = re.compile(r'"table-uuid"\s*:\s*"([0-9a-fA-F-]{36})"')
LOGGED = re.compile(r'"metadata-file"\s*:\s*"([^"\\]{1,2000})"')
RECORDS = "total-records"


@dataclass(frozen=True, slots=True)
class _Opened:
    """A metadata file, as far as it can be read."""

    file: MetadataFile
    text: str = ""
    logged: tuple[str, ...] = ()


def read_history(
    properties: Mapping[str, str],
    location: str | None,
    previous: str | None,
    folder: str | None,
) -> MetadataHistory:
    """Every metadata file of the folder, the newest opened and tried."""
    folder = (folder or (location or "").rpartition("/")[0]).rstrip("/")
    if not folder:
        return MetadataHistory(None, problem="the catalog does not say where its metadata lies")
    try:
        with damage_explained():
            io = load_file_io(dict(properties), folder)
            names = _list(properties, folder)
    except Damaged as error:
        return MetadataHistory(folder, problem=str(error))
    opened = [_open(io, f"{folder}/{name}") for name in names[:MAX_OPENED]]
    current = next((o for o in opened if _name(o.file.location) == _name(location or "")), None)
    said = UUID.search(current.text) if current else None
    ancestors = {_name(logged) for logged in (current.logged if current else ())}
    confirmed = _confirmed(opened, previous)
    files = [
        replace(
            item.file,
            confirmed_by=confirmed.get(_name(item.file.location)),
            is_predecessor=_name(item.file.location) in ancestors | {_name(previous or "")},
        )
        for item in opened
    ]
    return MetadataHistory(
        folder=folder,
        files=tuple(sorted(files, key=_age, reverse=True)),
        unopened=max(0, len(names) - MAX_OPENED),
        table_uuid=said.group(1).lower() if said else None,
    )


def _list(properties: Mapping[str, str], folder: str) -> list[str]:
    """Names of metadata files, the last written first."""
    # pyiceberg's FileIO has no listing; pyarrow's file systems behind it do.
    io = PyArrowFileIO(dict(properties))
    scheme, netloc, path = io.parse_location(folder, io.properties)
    found = io.fs_by_scheme(scheme, netloc).get_file_info(FileSelector(path))
    files = [item for item in found if item.type == FileType.File]
    files = [item for item in files if item.base_name.endswith(SUFFIXES)]
    files.sort(key=lambda item: (item.mtime_ns or 0, item.base_name), reverse=True)
    return [item.base_name for item in files]


def _open(io: FileIO, location: str) -> _Opened:
    text = ""
    try:
        with damage_explained():
            text = read_text(io, location)
            metadata = parse_metadata(text)
            file = _file(location, metadata)
            logged = tuple(entry.metadata_file for entry in metadata.metadata_log)
    except Damaged as error:
        return _Opened(
            MetadataFile(location, problem=str(error)), text, tuple(LOGGED.findall(text))
        )
    try:
        with damage_explained():
            _require_manifests(io, metadata)
    except Damaged as error:
        file = replace(file, problem=f"its snapshot {file.snapshot_id} cannot be read: {error}")
    return _Opened(file, text, logged)


def _file(location: str, metadata: TableMetadata) -> MetadataFile:
    snapshot = metadata.current_snapshot()
    if snapshot is None and metadata.current_snapshot_id is not None:
        raise ValueError(f"it has no snapshot {metadata.current_snapshot_id}, its current one")
    records = snapshot.summary[RECORDS] if snapshot and snapshot.summary else None
    return MetadataFile(
        location=location,
        table_uuid=str(metadata.table_uuid).lower(),
        updated_at=moment(metadata.last_updated_ms),
        snapshot_id=snapshot.snapshot_id if snapshot else None,
        snapshot_at=moment(snapshot.timestamp_ms) if snapshot else None,
        records=int(records) if records and records.isdecimal() else None,
    )


def _require_manifests(io: FileIO, metadata: TableMetadata) -> None:
    """Its current snapshot must have its manifest list, and every manifest must be there."""
    snapshot = metadata.current_snapshot()
    for line in read_list(io, snapshot.manifest_list) if snapshot else ():
        stored_size(io, line.path)


def _confirmed(opened: list[_Opened], previous: str | None) -> dict[str, str]:
    """By file name: what says that the table once had this metadata."""
    confirmed: dict[str, str] = {}
    for item in opened:
        for logged in item.logged:
            confirmed[_name(logged)] = f"the metadata log of {_name(item.file.location)}"
    if previous:
        confirmed[_name(previous)] = "the catalog, as the metadata before the current one"
    return confirmed


def _name(location: str) -> str:
    return location.rpartition("/")[2]


def _age(file: MetadataFile) -> tuple[bool, float, str]:
    updated = file.updated_at
    return updated is not None, updated.timestamp() if updated else 0.0, file.location
