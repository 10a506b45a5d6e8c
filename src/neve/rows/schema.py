"""An Iceberg schema as a value, read from the JSON of a table's metadata."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from neve.model.errors import RowsCorrupt, RowsUnsupported

ROW_ID: Final = 2147483540
LAST_UPDATED_SEQUENCE_NUMBER: Final = 2147483539

STRUCT, LIST, MAP, UNKNOWN = "struct", "list", "map", "unknown"
PRIMITIVES: Final = frozenset(
    {"boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz"}
    | {"timestamp_ns", "timestamptz_ns", "string", "uuid", "binary", UNKNOWN}
)
MAX_DEPTH: Final = 64
_DECIMAL: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED: Final = re.compile(r"fixed\[\s*(\d+)\s*\]")

Parsed = TypeVar("Parsed")


@dataclass(frozen=True, slots=True)
class Type:
    """A type; of a list the child is its element, of a map they are key and value."""

    name: str
    children: tuple[Field, ...] = ()
    #: Of decimals.
    precision: int = 0
    scale: int = 0
    #: Of fixed.
    length: int = 0

    @property
    def is_nested(self) -> bool:
        return self.name in (STRUCT, LIST, MAP)

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision}, {self.scale})"
        return f"fixed[{self.length}]" if self.name == "fixed" else self.name


@dataclass(frozen=True, slots=True)
class Field:
    """A column at any level."""

    id: int
    name: str
    required: bool
    type: Type
    #: As JSON has it; None for none, which means null.
    initial_default: Any = None


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table."""

    fields: tuple[Field, ...]
    id: int = 0

    def walk(self) -> Iterator[tuple[tuple[Field, ...], Field]]:
        """Every field at any level, parents first, each with its ancestors."""
        return _walk((), self.fields)

    def names(self) -> dict[int, str]:
        """The full name of every field, as Iceberg spells it in properties."""
        return {
            field.id: ".".join(each.name for each in (*ancestors, field))
            for ancestors, field in self.walk()
        }

    def find(self, field_id: int) -> tuple[tuple[Field, ...], Field] | None:
        """A field with its ancestors."""
        return next((found for found in self.walk() if found[1].id == field_id), None)

    def with_lineage(self) -> Schema:
        """The schema with the two columns that format 3 stores for moved rows."""
        return replace(
            self,
            fields=(
                *self.fields,
                Field(ROW_ID, "_row_id", False, Type("long")),
                Field(
                    LAST_UPDATED_SEQUENCE_NUMBER,
                    "_last_updated_sequence_number",
                    False,
                    Type("long"),
                ),
            ),
        )

    def select(self, field_ids: Sequence[int]) -> Schema:
        """The schema with these fields alone, and what they lie in, in order of their ids."""
        wanted = set(field_ids)
        fields = tuple(sorted(_selected(self.fields, wanted), key=lambda field: field.id))
        if wanted - {field.id for _, field in replace(self, fields=fields).walk()}:
            raise RowsUnsupported(f"The schema has not all of the fields {sorted(wanted)}.")
        return replace(self, fields=fields)


def parse_schema(document: Mapping[str, Any] | str) -> Schema:
    """The schema of metadata.json, or of the key `iceberg.schema` in a footer."""
    found = json.loads(document) if isinstance(document, str) else document
    schema = _parsed(lambda: Schema(_fields(found, 0), int(found.get("schema-id", 0))), found)
    ids = [field.id for _, field in schema.walk()]
    if len(set(ids)) < len(ids):
        raise RowsCorrupt("The schema uses a field id twice.")
    return schema


def parse_type(document: Mapping[str, Any] | str, depth: int = 0) -> Type:
    """A type, as the JSON of a schema has it."""
    if depth > MAX_DEPTH:
        raise RowsUnsupported(f"The schema is nested more than {MAX_DEPTH} levels deep.")
    return _parsed(lambda: _type(document, depth), document)


def _parsed(parse: Callable[[], Parsed], document: object) -> Parsed:
    try:
        return parse()
    except (KeyError, TypeError, AttributeError):
        text = json.dumps(document, default=str)
        raise RowsCorrupt(f"The schema has a part that is none: {text[:200]}") from None


def _type(document: Mapping[str, Any] | str, depth: int) -> Type:
    if isinstance(document, str):
        return _primitive(document)
    match document["type"]:
        case "struct":
            return Type(STRUCT, _fields(document, depth))
        case "list":
            return Type(LIST, (_inner(document, "element", depth),))
        case "map":
            key = replace(_inner(document, "key", depth), required=True)
            return Type(MAP, (key, _inner(document, "value", depth)))
        case other:
            raise RowsUnsupported(f"Columns of type {other} are not rewritten natively.")


def _primitive(text: str) -> Type:
    if text in PRIMITIVES:
        return Type(text)
    if found := _DECIMAL.fullmatch(text):
        precision, scale = int(found[1]), int(found[2])
        if not 1 <= precision <= 38 or scale > precision:
            raise RowsCorrupt(f"The schema has a decimal that cannot be: {text}.")
        return Type("decimal", precision=precision, scale=scale)
    if found := _FIXED.fullmatch(text):
        return Type("fixed", length=int(found[1]))
    raise RowsUnsupported(f"Columns of type {text} are not rewritten natively.")


def _fields(document: Mapping[str, Any], depth: int) -> tuple[Field, ...]:
    return tuple(
        Field(
            int(each["id"]),
            str(each["name"]),
            bool(each["required"]),
            parse_type(each["type"], depth + 1),
            each.get("initial-default"),
        )
        for each in document["fields"]
    )


def _inner(document: Mapping[str, Any], part: str, depth: int) -> Field:
    required = bool(document.get(f"{part}-required", True))
    kind = parse_type(document[part], depth + 1)
    return Field(int(document[f"{part}-id"]), part, required, kind)


def _walk(
    ancestors: tuple[Field, ...], fields: Sequence[Field]
) -> Iterator[tuple[tuple[Field, ...], Field]]:
    for field in fields:
        yield ancestors, field
        yield from _walk((*ancestors, field), field.type.children)


def _selected(fields: Sequence[Field], wanted: set[int]) -> Iterator[Field]:
    for field in fields:
        if field.id in wanted:
            yield field
        elif field.type.name == STRUCT and (
            inside := tuple(_selected(field.type.children, wanted))
        ):
            yield replace(field, type=Type(STRUCT, inside))
