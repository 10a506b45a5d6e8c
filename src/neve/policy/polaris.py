"""Maintenance policies of Apache Polaris, as values of Neve's policies.

Polaris knows four predefined types; each has a content with `enable` and a free-form `config`.
Where a policy is attached stands beside it, not in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from neve.model.durations import format_duration
from neve.model.errors import InputError
from neve.policy.keys import KEYS, refusal
from neve.policy.values import suggest

DATA_COMPACTION = "system.data-compaction"
METADATA_COMPACTION = "system.metadata-compaction"
SNAPSHOT_EXPIRY = "system.snapshot-expiry"
ORPHAN_FILE_REMOVAL = "system.orphan-file-removal"

#: The operation that each type is about.
TYPES = {
    DATA_COMPACTION: "rewrite_data_files",
    METADATA_COMPACTION: "rewrite_manifests",
    SNAPSHOT_EXPIRY: "expire_snapshots",
    ORPHAN_FILE_REMOVAL: "remove_orphan_files",
}
#: Settings that tell the type of a content that stands alone.
TELLING = {
    "target_file_size_bytes": DATA_COMPACTION,
    "compaction_strategy": DATA_COMPACTION,
    "spec_id": METADATA_COMPACTION,
    "max_snapshot_age_days": SNAPSHOT_EXPIRY,
    "min_snapshot_to_keep": SNAPSHOT_EXPIRY,
    "max_ref_age_days": SNAPSHOT_EXPIRY,
    "max_orphan_file_age_in_days": ORPHAN_FILE_REMOVAL,
    "locations": ORPHAN_FILE_REMOVAL,
    "prefix_mismatch_mode": ORPHAN_FILE_REMOVAL,
}
#: What stands in a policy beside its settings.
FRAME = ("version", "enable", "config", "name", "type", "policy-type", "description", "inheritable")


@dataclass(slots=True)
class PolarisPolicy:
    """One policy: raw values by key, and what could not be carried over."""

    name: str
    type: str
    values: dict[str, object] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def _days(raw: object) -> object:
    try:
        return format_duration(float(str(raw)) * 86400)
    except ValueError:
        raise InputError(f"{raw!r} is not a number of days.") from None


def _same(raw: object) -> object:
    return str(raw).lower() if isinstance(raw, bool) else raw


def _strategy(raw: object) -> object:
    return str(raw).lower().replace("-", "").replace("_", "")


Write = Callable[[object], object]

#: Settings by type whose names differ from Iceberg's, with the key and how it is written there.
CARRIED: dict[tuple[str, str], tuple[str, Write]] = {
    (DATA_COMPACTION, "compaction_strategy"): ("rewrite_data_files.strategy", _strategy),
    (SNAPSHOT_EXPIRY, "max_snapshot_age_days"): ("expire_snapshots.older_than", _days),
    (SNAPSHOT_EXPIRY, "min_snapshot_to_keep"): ("expire_snapshots.retain_last", _same),
    (ORPHAN_FILE_REMOVAL, "max_orphan_file_age_in_days"): (
        "remove_orphan_files.older_than",
        _days,
    ),
}
LEFT = {
    "max_ref_age_days": "Neve leaves the age of branches and tags to the table's own settings",
    "locations": "Neve looks for orphans where the table's metadata says that it lives",
}


def is_polaris(document: object) -> bool:
    """Whether the document looks like a policy of Polaris, or several."""
    return bool(_policies(document))


def read_polaris(document: object, kind: str | None = None) -> list[PolarisPolicy]:
    """The policies in a document: one, a list, or an answer of Polaris' interface."""
    if kind is not None and kind not in TYPES:
        raise InputError(
            f"There is no predefined Polaris policy type {kind!r}.", next_step=suggest(kind, TYPES)
        )
    return [
        _read_policy(position, item, kind)
        for position, item in enumerate(_policies(document), start=1)
    ]


def _policies(document: object) -> list[Mapping[str, Any]]:
    if isinstance(document, Mapping):
        for key in ("applicable-policies", "policies"):
            if isinstance(document.get(key), list):
                document = document[key]
                break
    if isinstance(document, Mapping) and isinstance(document.get("policy"), Mapping):
        document = document["policy"]
    items = document if isinstance(document, list) else [document]
    found = [item for item in items if isinstance(item, Mapping)]
    if found and all("content" in item or "enable" in item for item in found):
        return found
    return []


def _read_policy(position: int, item: Mapping[str, Any], kind: str | None) -> PolarisPolicy:
    content = _content(item)
    given = item.get("policy-type") or item.get("type") or kind or _guess(content)
    if given not in TYPES:
        raise InputError(
            f"Policy {position} has the type {given!r}, which is not about maintenance.",
            next_step=suggest(str(given), TYPES),
        )
    policy = PolarisPolicy(str(item.get("name") or str(given).removeprefix("system.")), given)
    operation, enable = TYPES[given], content.get("enable")
    if not isinstance(enable, bool):
        raise InputError(
            f"Policy {policy.name!r} has enable: {enable!r}, which is neither true nor false."
        )
    policy.values[f"{operation}.enabled"] = enable
    for name, raw in _settings(policy.name, content):
        _carry(policy, operation, name, raw)
    return policy


def _content(item: Mapping[str, Any]) -> Mapping[str, Any]:
    content = item.get("content", item)
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InputError(f"The content of a policy is not JSON: {error}.") from error
    if not isinstance(content, Mapping):
        raise InputError("The content of a policy must hold keys and values.")
    return content


def _guess(content: Mapping[str, Any]) -> str:
    config = content.get("config")
    names = [*content, *(config if isinstance(config, Mapping) else ())]
    for name in names:
        if name in TELLING:
            return TELLING[name]
    raise InputError(
        "The file does not say which type of policy it holds.",
        next_step=f"Add --type with one of {', '.join(TYPES)}.",
    )


def _settings(name: str, content: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    version = content.get("version", "2025-02-03")
    if version != "2025-02-03":
        raise InputError(f"Policy {name!r} is of version {version!r}, which is not known.")
    yield from ((key, raw) for key, raw in content.items() if key not in FRAME)
    config = content.get("config") or {}
    if not isinstance(config, Mapping):
        raise InputError(f"The config of policy {name!r} must hold keys and values.")
    yield from config.items()


def _carry(policy: PolarisPolicy, operation: str, name: str, raw: object) -> None:
    key, write = CARRIED.get((policy.type, name), ("", _same))
    candidates = (key, f"{operation}.{name}", f"{operation}.options.{name.replace('_', '-')}")
    for candidate in candidates:
        if candidate in KEYS:
            policy.values[candidate] = write(raw)
            return
    why = LEFT.get(name) or next(filter(None, map(refusal, candidates)), "Neve has no counterpart")
    policy.left.append(f"{policy.name}: {name}={raw}: {why}.")
