"""JSON Schemas from the description that Kubernetes gives of its own API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: The version whose objects the chart is held to.
KUBERNETES = "v1.34.2"
PREFIX = "#/definitions/"
#: Texts there that may also be numbers.
INT_OR_STRING = "int-or-string"
NUMBER_OR_STRING = "io.k8s.apimachinery.pkg.api.resource.Quantity"

Schema = dict[str, Any]


def write_schemas(description: Path, into: Path) -> None:
    """A schema with all that it refers to for each kind of object, strict about unknown keys."""
    definitions = json.loads(description.read_text(encoding="utf-8"))["definitions"]
    strict = {name: _strict(name, schema) for name, schema in definitions.items()}
    for name, schema in definitions.items():
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            whole = {
                "$ref": PREFIX + name,
                "definitions": {used: strict[used] for used in sorted(_reached(name, strict))},
            }
            path = into / f"{file_stem(kind['group'], kind['version'], kind['kind'])}.json"
            path.write_text(json.dumps(whole), encoding="utf-8")


def file_stem(group: str, version: str, kind: str) -> str:
    """As kubeconform asks for it."""
    parts = (kind.lower(), group.partition(".")[0], version.lower())
    return "-".join(part for part in parts if part)


def _strict(name: str, schema: Schema) -> Schema:
    if schema.get("format") == INT_OR_STRING or name == NUMBER_OR_STRING:
        return {"type": ["string", "number"]}
    if "properties" not in schema:
        return schema
    return {"additionalProperties": False} | schema


def _reached(name: str, definitions: dict[str, Schema]) -> set[str]:
    reached, waiting = set(), [name]
    while waiting:
        current = waiting.pop()
        if current not in reached:
            reached.add(current)
            waiting += _references(definitions[current])
    return reached


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(target := value.get("$ref"), str):
            yield target.removeprefix(PREFIX)
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)
