"""From a request to the columns and partitions of a new table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from unicodedata import category

from neve.database.bodies import CreateTable, FieldType, PartitionField
from neve.database.values import DECIMAL
from neve.model.database import Column, NewTable, PartitionBy
from neve.model.errors import InputError
from neve.model.table import UNSEEN
from neve.policy.values import suggest

#: Names of types, and Iceberg's own; a whole number of JSON may need 64 bits.
TYPES = {
    "string": "string",
    "integer": "long",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "number": "double",
    "boolean": "boolean",
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    "uuid": "uuid",
    "binary": "binary",
}
#: Types that are made of others, and what each of them must say.
NESTED = {"struct": ("fields",), "list": ("element",), "map": ("key", "value")}
PARTS = ("fields", "element", "key", "value")
MAX_DEPTH = 16
MAX_COLUMNS = 2000
WIDE = frozenset(("bucket", "truncate"))
MAX_PRECISION = 38
SPACES = re.compile(r"\s+")


def new_table(request: CreateTable, properties: Mapping[str, str]) -> NewTable:
    """The table that is asked for, or InputError with the first trouble."""
    columns = tuple(_columns(request.table_schema.fields, "", 1))
    if sum(map(_size, columns)) > MAX_COLUMNS:
        raise InputError(f"A table may have {MAX_COLUMNS} columns, parts of columns included.")
    known = {column.name for column in columns}
    for part in request.partitioning:
        if part.field not in known:
            raise InputError(
                f"partitioning names {part.field!r}, which is no field of the schema.",
                next_step=suggest(part.field, known),
            )
    partitions = tuple(PartitionBy(p.field, _transform(p)) for p in request.partitioning)
    if len({part.field for part in request.partitioning}) < len(partitions):
        # Nobody could write to it: the library takes one part of a field.
        raise InputError(
            "partitioning names the same field twice.", next_step="Take one part of each field."
        )
    _refuse_same_paths(columns)
    return NewTable(columns, partitions, properties)


def _refuse_same_paths(columns: Iterable[Column]) -> None:
    """A part of a column is known by its path, which another column may have for a name."""
    paths = list(_paths(columns, ""))
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise InputError(
            f"Two fields are called {twice[:200]!r}: one of them is a part of another.",
            next_step="Take names without dots.",
        )


def _paths(columns: Iterable[Column], place: str) -> Iterator[str]:
    for column in columns:
        yield place + column.name
        yield from _paths(column.parts, f"{place}{column.name}.")


def _size(column: Column) -> int:
    return 1 + sum(map(_size, column.parts))


def _columns(fields: Mapping[str, FieldType], place: str, depth: int) -> Iterator[Column]:
    seen: dict[str, str] = {}
    for name, field in fields.items():
        if any(category(character) in UNSEEN for character in name) or name != name.strip():
            raise InputError(f"{name!r} cannot be used as the name of a field.")
        if other := seen.get(name.casefold()):
            raise InputError(
                f"The fields {other!r} and {name!r} differ in case alone, which SQL does not see."
            )
        seen[name.casefold()] = name
        yield _column(name, field, f"{place}{name}", depth)


def _column(name: str, field: FieldType, place: str, depth: int) -> Column:
    kind = SPACES.sub("", field.type.lower())
    said = tuple(part for part in PARTS if getattr(field, part) is not None)
    if said != NESTED.get(kind, ()):
        wants = " and ".join(NESTED.get(kind, ())) or "none of " + ", ".join(PARTS)
        raise InputError(f"Field {place}: the type {field.type[:60]!r} takes {wants}.")
    if kind == "uuid" and depth > 1:
        # Arrow cannot write them there.
        raise InputError(
            f"Field {place}: a UUID is a column of its own, not a part of another.",
            next_step="Take the type string for it.",
        )
    if kind not in NESTED:
        return Column(name, _type(place, field.type), field.required)
    if depth >= MAX_DEPTH:
        raise InputError(f"Field {place[:200]}: columns are nested more than {MAX_DEPTH} deep.")
    return Column(name, kind, field.required, tuple(_parts(kind, field, place, depth + 1)))


def _parts(kind: str, field: FieldType, place: str, depth: int) -> Iterator[Column]:
    if kind == "struct":
        yield from _columns(field.fields or {}, f"{place}.", depth)
        return
    for name in NESTED[kind]:
        part = _column(name, getattr(field, name), f"{place}.{name}", depth)
        # A map has no entry without a key.
        yield Column(name, part.type, part.required or name == "key", part.parts)


def _type(place: str, text: str) -> str:
    written = SPACES.sub("", text.lower())
    if known := TYPES.get(written):
        return known
    found = DECIMAL.fullmatch(written)
    if found and 0 < int(found[1]) <= MAX_PRECISION and int(found[2]) <= int(found[1]):
        return f"decimal({int(found[1])}, {int(found[2])})"
    raise InputError(
        f"Field {place}: there is no type {text[:60]!r}.",
        next_step=suggest(written[:60], [*TYPES, *NESTED, "decimal(38, 9)"]),
    )


def _transform(part: PartitionField) -> str:
    if (part.width is not None) != (part.transform in WIDE):
        raise InputError(
            f"partitioning by {part.transform} of {part.field} "
            + ("needs a width." if part.transform in WIDE else "takes no width."),
        )
    return part.transform if part.width is None else f"{part.transform}[{part.width}]"
