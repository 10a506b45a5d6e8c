"""What each command prints with -o json, down to its second level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from page_parts import code, table

from neve.cli.json_schemas import schemas

INTRODUCTION = """\
# JSON

What commands print with `-o json`. Each document has a JSON Schema in `docs/json`, which every test
of a command is held to. Errors are documents, too: [error.schema.json](../json/error.schema.json).
"""


def page() -> str:
    parts = [INTRODUCTION]
    for name, schema in sorted(schemas().items()):
        parts.append(f"## {name}\n")
        parts.append(f"Schema: [{name}.schema.json](../json/{name}.schema.json)\n")
        for title, fields in _shapes(schema, schema.get("$defs", {})):
            parts.append(f"{title}:\n" if title else "")
            parts.append(table(("key", "value"), fields))
    return "\n".join(parts)


def _shapes(schema: Any, known: dict[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The objects that a document may be, each with its keys."""
    schema = _followed(schema, known)
    for option in schema.get("anyOf", ()):
        yield from _shapes(option, known)
    if schema.get("type") == "array":
        for title, fields in _shapes(schema.get("items", {}), known):
            yield f"A list of {title or 'objects'}", fields
    if fields := schema.get("properties"):
        rows = [(code(key), _kind(value, known)) for key, value in fields.items()]
        yield schema.get("title", ""), rows


def _followed(schema: Any, known: dict[str, Any]) -> Any:
    name = schema.get("$ref", "").rpartition("/")[2]
    return known.get(name, schema) if name else schema


def _kind(schema: Any, known: dict[str, Any]) -> str:
    if name := schema.get("$ref", "").rpartition("/")[2]:
        inner = known.get(name, {})
        return " or ".join(map(str, inner["enum"])) if "enum" in inner else name
    if options := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(_kind(option, known) for option in options))
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}), known)}"
    return f"{kind} ({schema['format']})" if "format" in schema else str(kind)
