"""Field ids for files that have none, from a table's name mapping."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from neve.model.errors import RowsCorrupt, RowsUnsupported
from neve.rows.arrow import FIELD_ID, children, field_id, is_list


@dataclass(frozen=True, slots=True)
class MappedField:
    """A field that files know by any of these names."""

    id: int | None
    children: Mapping[str, MappedField]


NameMapping = Mapping[str, MappedField]


def parse_name_mapping(text: str) -> NameMapping:
    """The table property `schema.name-mapping.default`."""
    try:
        return _mapped(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise RowsCorrupt("The table's name mapping cannot be understood.") from None


def _mapped(entries: Sequence[Mapping[str, Any]]) -> NameMapping:
    found: dict[str, MappedField] = {}
    for entry in entries:
        id_ = entry.get("field-id")
        field = MappedField(None if id_ is None else int(id_), _mapped(entry.get("fields") or ()))
        for name in entry["names"]:
            if found.setdefault(str(name), field) is not field:
                raise RowsCorrupt(f"The table's name mapping has {name!r} twice.")
    return found


def with_ids(schema: Any, mapping: NameMapping | None) -> Any:
    """A file's schema with field ids: its own, or those of the mapping where it has none at all."""
    ids = [field_id(field) for field in _all_fields(list(schema))]
    if all(id_ is None for id_ in ids):
        if mapping is None:
            raise RowsUnsupported("The file has no field ids, and the table no name mapping.")
        return pa.schema([_with_id(field, mapping) for field in schema])
    if any(id_ is None for id_ in ids):
        raise RowsUnsupported("Only some columns of the file have field ids.")
    return schema


def _all_fields(fields: Sequence[Any]) -> list[Any]:
    inside = [child for field in fields for child in _all_fields(children(field.type))]
    return [*fields, *inside]


def _with_id(field: Any, mapping: NameMapping, name: str | None = None) -> Any:
    found = mapping.get(name or field.name)
    inside = found.children if found else {}
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_with_id(child, inside) for child in children(kind)])
    elif pa.types.is_map(kind):
        key, value = children(kind)
        kind = pa.map_(_with_id(key, inside, "key"), _with_id(value, inside, "value"))
    elif is_list(kind):
        # Writers name it "element", "item" or "array"; the mapping always "element".
        kind = pa.list_(_with_id(children(kind)[0], inside, "element"))
    id_ = found.id if found else None
    metadata = {} if id_ is None else {FIELD_ID: str(id_).encode()}
    return pa.field(field.name, kind, field.nullable, metadata)


def in_files(names: Sequence[str]) -> list[str]:
    """How Iceberg's writers spell names of columns in files: letters, digits and underscores alone.

    pyiceberg filters no column whose name in a file has a dot. Where two would be one, all stay.
    """
    spelled = ["".join(_spelled(name)) for name in names]
    return spelled if len(set(spelled)) == len(names) else list(names)


def _spelled(name: str) -> Iterator[str]:
    for place, char in enumerate(name):
        # Java's characters are units of UTF-16: what takes two of them is no letter and no digit.
        units = char.encode("utf-16-be")
        is_digit = char.isdecimal() and len(units) == 2
        if char == "_" or (char.isalpha() and len(units) == 2) or (place and is_digit):
            yield char
        elif is_digit:
            yield f"_{char}"
        else:
            yield from (f"_x{units[at] * 256 + units[at + 1]:X}" for at in range(0, len(units), 2))
