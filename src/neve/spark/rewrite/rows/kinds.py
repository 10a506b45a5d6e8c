"""Files by the schema that they have: thousands of them share a few, which are understood once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from neve.model.errors import RowsCorrupt
from neve.rows.arrow import arrow_field, children, field_id
from neve.rows.names import NameMapping, with_ids
from neve.rows.schema import Field

#: Files say which offsets their writer had in memory; what is written is the same.
_USUAL: Final = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}


@dataclass(frozen=True, slots=True)
class FileKind:
    """What files of one schema hold."""

    #: Names of their top-level columns by field id.
    names: Mapping[int, str]
    #: Columns whose values are in the current type as they are read.
    unchanged: frozenset[int]


class FileKinds:
    """The schemas that were met, as the table's columns have them."""

    def __init__(self, fields: Mapping[int, Field], mapping: NameMapping | None) -> None:
        self._fields, self._mapping = fields, mapping
        self._known: dict[bytes, FileKind] = {}
        self._by_key: dict[object, FileKind] = {}

    def of(self, schema: Any) -> FileKind:
        """The kind of a file with this Arrow schema."""
        # Schemas that differ in nothing but their field ids are equal to Arrow.
        key = schema.remove_metadata().serialize().to_pybytes()
        if key not in self._known:
            self._known[key] = self._understood(with_ids(schema, self._mapping))
        return self._known[key]

    def by_key(self, key: object, schema: Callable[[], Any]) -> FileKind:
        """The same, where the key already tells which schema it is."""
        if key not in self._by_key:
            self._by_key[key] = self.of(schema())
        return self._by_key[key]

    def _understood(self, schema: Any) -> FileKind:
        names: dict[int, str] = {}
        unchanged = set()
        for field in schema:
            id_ = field_id(field)
            if id_ is None:
                continue
            if names.setdefault(id_, field.name) != field.name:
                raise RowsCorrupt(f"The file has two columns of field id {id_}.")
            if id_ in self._fields and _is_as_wanted(field, self._fields[id_]):
                unchanged.add(id_)
        return FileKind(names, frozenset(unchanged))


def _is_as_wanted(found: Any, field: Field) -> bool:
    """Whether values are taken as they are: of the same type, field ids and nulls inside too."""
    wanted = arrow_field(field)
    if found.nullable and not wanted.nullable:
        return False
    of = found.type.value_type if pa.types.is_dictionary(found.type) else found.type
    return bool(pa.field("", _usual(of)).equals(pa.field("", wanted.type), check_metadata=True))


def _usual(kind: Any) -> Any:
    """The same type with the offsets that are written, at every depth."""
    inside = [each.with_type(_usual(each.type)) for each in children(kind)]
    if pa.types.is_struct(kind):
        return pa.struct(inside)
    if pa.types.is_map(kind):
        return pa.map_(*inside)
    return pa.list_(inside[0]) if pa.types.is_list(kind) else _USUAL.get(kind, kind)
