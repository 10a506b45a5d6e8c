"""A metadata file with a change applied, and everything else in it left as it is.

pyiceberg's model drops what it does not know when it writes metadata again: fields of newer
versions, unknown keys. So the JSON itself is edited, by the rules of Iceberg's `TableMetadata`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from pyiceberg.io import FileIO

from neve.model.errors import ExecutionError
from neve.model.metadata_change import MAIN, MetadataChange
from neve.model.twins import without_twins

PREVIOUS_VERSIONS = "write.metadata.previous-versions-max"
DEFAULT_PREVIOUS_VERSIONS = 100
GZIP_SUFFIXES = (".gz.metadata.json", ".metadata.json.gz")
NO_SNAPSHOT = (None, -1)

Json = dict[str, Any]


def read_json(io: FileIO, location: str) -> Json:
    """The file's JSON; refuses one that could not be written again without a loss."""
    with io.new_input(location).open() as file:
        data = file.read()
    if location.endswith(GZIP_SUFFIXES):
        data = gzip.decompress(data)
    text = data.decode()
    try:
        exact = json.loads(text, parse_float=Decimal, object_pairs_hook=without_twins)
        found: Json = json.loads(text)
        faithful = exact == json.loads(to_text(found), parse_float=Decimal)
    except (ValueError, OverflowError) as error:
        raise _unfaithful(location) from error
    if not faithful:
        raise _unfaithful(location)
    return found


def _unfaithful(location: str) -> ExecutionError:
    return ExecutionError(
        f"Metadata file {location} holds a number or a key that cannot be written again as it is, "
        "so nothing was changed.",
        next_step="Let the engine that wrote it commit once more, and run the command again.",
    )


def to_text(metadata: Json) -> str:
    return json.dumps(metadata, separators=(",", ":"), allow_nan=False)


def changed(base: Json, location: str, change: MetadataChange, now_ms: int) -> Json:
    """The metadata that follows the base, which lies at the location."""
    now_ms = max(now_ms, *_moments(base))
    result = {**base, "refs": _refs(base, change)}
    if change.set_main is not None:
        result["current-snapshot-id"] = change.set_main
        entry = {"timestamp-ms": now_ms, "snapshot-id": change.set_main}
        result["snapshot-log"] = [*(base.get("snapshot-log") or ()), entry]
    if change.remove_snapshots:
        _remove(result, set(change.remove_snapshots))
    result["metadata-log"] = _metadata_log(base, location)
    result["last-updated-ms"] = now_ms
    return result


def _moments(base: Json) -> Iterable[int]:
    """Iceberg refuses metadata whose logs are younger than itself; this clock may be behind."""
    yield base["last-updated-ms"]
    for log in ("snapshot-log", "metadata-log"):
        yield from (entry["timestamp-ms"] for entry in base.get(log) or ())


def _refs(base: Json, change: MetadataChange) -> Json:
    refs = dict(base.get("refs") or {})
    head = base.get("current-snapshot-id")
    if MAIN not in refs and head not in NO_SNAPSHOT:
        # Writers of long ago knew no refs.
        refs[MAIN] = {"snapshot-id": head, "type": "branch"}
    for tag in change.tags:
        refs[tag.name] = {
            "snapshot-id": tag.snapshot_id,
            "type": "tag",
            "max-ref-age-ms": tag.max_age_ms,
        }
    if change.set_main is not None:
        refs[MAIN] = {**refs.get(MAIN, {"type": "branch"}), "snapshot-id": change.set_main}
    for name in change.drop_refs:
        refs.pop(name, None)
    return refs


def _remove(metadata: Json, gone: set[int]) -> None:
    for key in ("snapshots", "statistics", "partition-statistics"):
        if metadata.get(key):
            metadata[key] = [item for item in metadata[key] if item["snapshot-id"] not in gone]
    there = {snapshot["snapshot-id"] for snapshot in metadata["snapshots"]}
    log: list[Json] = []
    for entry in metadata.get("snapshot-log") or ():
        if entry["snapshot-id"] in there:
            log.append(entry)
        else:
            # Travelling in time over a gap would show a wrong state.
            log.clear()
    if metadata.get("snapshot-log"):
        metadata["snapshot-log"] = log


def _metadata_log(base: Json, location: str) -> list[Json]:
    properties = base.get("properties") or {}
    limit = max(1, int(properties.get(PREVIOUS_VERSIONS, DEFAULT_PREVIOUS_VERSIONS)))
    entry = {"timestamp-ms": base["last-updated-ms"], "metadata-file": location}
    return [*(base.get("metadata-log") or ()), entry][-limit:]
