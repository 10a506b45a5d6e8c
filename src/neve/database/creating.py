"""From a request to the columns and partitions of a new table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from unicodedata import category

from neve.database.bodies import CreateTable, PartitionField
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
WIDE = frozenset(("bucket", "truncate"))
MAX_PRECISION = 38
SPACES = re.compile(r"\s+")


def new_table(request: CreateTable, properties: Mapping[str, str]) -> NewTable:
    """The table that is asked for, or InputError with the first trouble."""
    columns = tuple(_columns(request))
    known = {column.name for column in columns}
    for part in request.partitioning:
        if part.field not in known:
            raise InputError(
                f"partitioning names {part.field!r}, which is no field of the schema.",
                next_step=suggest(part.field, known),
            )
    partitions = tuple(PartitionBy(p.field, _transform(p)) for p in request.partitioning)
    if len(set(partitions)) < len(partitions):
        raise InputError("partitioning names the same part twice.")
    return NewTable(columns, partitions, properties)


def _columns(request: CreateTable) -> Iterator[Column]:
    seen: dict[str, str] = {}
    for name, field in request.table_schema.fields.items():
        if any(category(character) in UNSEEN for character in name) or name != name.strip():
            raise InputError(f"{name!r} cannot be used as the name of a field.")
        if other := seen.get(name.casefold()):
            raise InputError(
                f"The fields {other!r} and {name!r} differ in case alone, which SQL does not see."
            )
        seen[name.casefold()] = name
        yield Column(name, _type(name, field.type), field.required)


def _type(name: str, text: str) -> str:
    written = SPACES.sub("", text.lower())
    if known := TYPES.get(written):
        return known
    found = DECIMAL.fullmatch(written)
    if found and 0 < int(found[1]) <= MAX_PRECISION and int(found[2]) <= int(found[1]):
        return f"decimal({int(found[1])}, {int(found[2])})"
    raise InputError(
        f"Field {name}: there is no type {text[:60]!r}.",
        next_step=suggest(written[:60], [*TYPES, "decimal(38, 9)"]),
    )


def _transform(part: PartitionField) -> str:
    if (part.width is not None) != (part.transform in WIDE):
        raise InputError(
            f"partitioning by {part.transform} of {part.field} "
            + ("needs a width." if part.transform in WIDE else "takes no width."),
        )
    return part.transform if part.width is None else f"{part.transform}[{part.width}]"
