"""Policies of other systems, as a `policies:` section for neve.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neve.model.durations import format_duration
from neve.model.errors import InputError
from neve.planning.yaml_documents import BadDocument, parse_json, parse_yaml, read_bounded
from neve.policy.amoro import PREFIXES, values_of_properties
from neve.policy.documents import policy_document, read_policies
from neve.policy.keys import KEYS, read_value
from neve.policy.polaris import is_polaris, read_polaris

ATTACHMENTS = "Where the policies are attached does not stand in the file: write it into match."


@dataclass(frozen=True, slots=True)
class ImportedPolicies:
    """Policies as they are written in neve.yaml, and what could not be carried over."""

    source: str
    policies: tuple[Mapping[str, Any], ...]
    left: tuple[str, ...]


def import_policies(
    document: object, *, tables: tuple[str, ...] = (), kind: str | None = None
) -> ImportedPolicies:
    """Read a document of Polaris or Amoro; what comes out can be read back as policies."""
    match = {"tables": tables or ("*",)}
    if is_polaris(document):
        found = read_polaris(document, kind)
        made = [_document(policy.name, match, policy.values) for policy in found]
        left = [line for policy in found for line in policy.left]
        imported = ImportedPolicies(
            "Apache Polaris", tuple(made), (*left, *(() if tables else (ATTACHMENTS,)))
        )
    else:
        imported = _from_amoro(document, match)
    read_policies(list(imported.policies))
    return imported


def _from_amoro(document: object, match: Mapping[str, Any]) -> ImportedPolicies:
    properties = document if isinstance(document, Mapping) else {}
    texts = {str(name): _text(value) for name, value in properties.items()}
    if not any(name.startswith(PREFIXES) for name in texts):
        raise InputError(
            "The file holds neither a policy of Apache Polaris nor properties of Apache Amoro.",
            next_step="Give a policy as JSON, or properties such as self-optimizing.enabled=true.",
        )
    found = values_of_properties(texts)
    values = {key: raw for key, (raw, _) in found.values.items()}
    others = [
        f"{name}: it is not a property of Amoro's optimizer."
        for name in sorted(texts)
        if not name.startswith(PREFIXES)
    ]
    made = _document("amoro", match, values)
    return ImportedPolicies("Apache Amoro", (made,), (*found.left, *others))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _document(name: str, match: Mapping[str, Any], values: Mapping[str, object]) -> Any:
    """Values are read and written back, so that each is checked and has its own type."""
    order = list(KEYS)
    written = {key: _written(key, values[key]) for key in sorted(values, key=order.index)}
    return policy_document(name, match, written)


def _written(key: str, raw: object) -> Any:
    try:
        value = read_value(key, raw)
    except InputError as error:
        message = f"{key} cannot be {raw!r}: {error.message}"
        raise InputError(message, next_step=error.next_step) from error
    if KEYS[key].field.endswith("_seconds") and not key.endswith("_seconds"):
        return format_duration(int(str(value)))
    return value


def read_document(file: Path) -> object:
    """What a file holds: JSON, YAML, or lines of properties."""
    try:
        text = read_bounded(file)
    except BadDocument as error:
        raise InputError(f"The file {file} {error}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The file {file} cannot be read: {error}.") from error
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if lines and all("=" in line for line in lines):
        pairs = (line.partition("=") for line in lines)
        return {name.strip(" '\""): value.strip(" '\"") for name, _, value in pairs}
    try:
        return parse_json(text) if text.lstrip()[:1] in ("{", "[") else parse_yaml(text)
    except BadDocument as error:
        raise InputError(
            f"The file {file} is neither JSON, YAML nor properties: it {error}.",
            next_step="Check quotes, commas and indentation.",
        ) from error
