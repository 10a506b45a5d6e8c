"""The schema of a Parquet file: its leaves, its field ids and a form that can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from neve.model.errors import ParquetCorrupt, ParquetUnsupported
from neve.parquet import thrift
from neve.parquet.layout import Element

#: Room for some 30,000 columns; decoded, a hostile schema is a hundred times its size.
MAX_SCHEMA_BYTES: Final = 2 * 1024 * 1024

_REPEATED: Final = 2
_MAP, _MAP_KEY_VALUE, _LIST = 1, 2, 3
_LOGICAL_MAP, _LOGICAL_LIST, _LOGICAL_VARIANT = 2, 3, 16


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column that holds values."""

    path: tuple[str, ...]
    #: The path as ColumnMetaData spells it, to compare without decoding.
    encoded_path: bytes
    physical_type: int
    field_id: int | None
    #: Of decimals.
    precision: int | None = None
    scale: int | None = None
    #: Of byte arrays whose values all have one length.
    type_length: int | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """What a file says about its columns."""

    #: The encoded list of schema elements, as the file has it.
    raw: bytes
    #: Equal for two files exactly if their columns are the same, field ids included.
    canonical: bytes
    leaves: tuple[Leaf, ...]
    #: Dotted paths of the columns, at any level, that should carry a field id and do not.
    without_field_id: tuple[str, ...]

    @property
    def has_all_field_ids(self) -> bool:
        """Whether columns can be found by id at every level, as Iceberg requires."""
        return not self.without_field_id


@dataclass(slots=True)
class _Node:
    """A group whose children are still to come."""

    path: tuple[str, ...]
    element: thrift.Struct
    children: int
    left: int
    needs_ids: bool


# Files of one table mostly share one schema to the byte, and 300 columns take milliseconds.
@lru_cache(maxsize=32)
def read_schema(raw: bytes) -> Schema:
    """Understand an encoded list of schema elements."""
    elements = decode_elements(raw)
    leaves: list[Leaf] = []
    without_id: list[str] = []
    open_groups = [_root(elements)]
    for element in elements[1:]:
        while open_groups and not open_groups[-1].left:
            open_groups.pop()
        if not open_groups:
            raise ParquetCorrupt("The schema has more columns than its groups announce.")
        parent = open_groups[-1]
        parent.left -= 1
        path = (*parent.path, _name(element))
        if parent.needs_ids and _needs_id(element, parent):
            without_id.append(".".join(path))
        if element.get(Element.TYPE) is None:
            open_groups.append(_group(path, element, parent.needs_ids))
            thrift.check_depth(len(open_groups))
        else:
            leaves.append(_leaf(path, element))
    if any(group.left for group in open_groups):
        raise ParquetCorrupt("The schema has fewer columns than its groups announce.")
    return Schema(raw, _canonical(elements), tuple(leaves), tuple(without_id))


def decode_elements(raw: bytes) -> list[thrift.Struct]:
    """The elements of an encoded schema, the root first."""
    if len(raw) > MAX_SCHEMA_BYTES:
        raise ParquetUnsupported(f"Its schema takes {len(raw)} bytes, over {MAX_SCHEMA_BYTES}.")
    # A list is only read as part of a struct: give this one a field header and a stop.
    wrapped, _ = thrift.decode_struct(thrift.encode_field_header(0, 1, thrift.LIST) + raw + b"\0")
    items = wrapped.get(1)
    values = items.values if isinstance(items, thrift.Items) else ()
    elements = [value for value in values if isinstance(value, thrift.Struct)]
    if not elements or len(elements) != len(values):
        raise ParquetCorrupt("The schema is not a list of schema elements.")
    if any(
        len({field.id for field in element.fields}) < len(element.fields) for element in elements
    ):
        raise ParquetCorrupt("The schema has a column that says the same thing twice.")
    return elements


def _canonical(elements: list[thrift.Struct]) -> bytes:
    # The root's name and repetition are the writer's taste ("schema", "table", "spark_schema").
    root = [
        field
        for field in elements[0].fields
        if field.id not in (Element.NAME, Element.REPETITION, Element.FIELD_ID)
    ]
    ordered = [
        thrift.Struct(tuple(sorted(fields, key=lambda field: field.id)))
        for fields in (root, *(element.fields for element in elements[1:]))
    ]
    return b"".join(thrift.encode_struct(element) for element in ordered)


def _root(elements: list[thrift.Struct]) -> _Node:
    return _group((), elements[0], needs_ids=True)


def _group(path: tuple[str, ...], element: thrift.Struct, needs_ids: bool) -> _Node:
    children = element.get(Element.CHILDREN)
    if not isinstance(children, int) or children < 0:
        raise ParquetCorrupt(f"The schema's group {'.'.join(path)!r} has no number of children.")
    is_variant = _logical_type(element) == _LOGICAL_VARIANT
    return _Node(path, element, children, children, needs_ids and not is_variant)


def _leaf(path: tuple[str, ...], element: thrift.Struct) -> Leaf:
    physical = element.get(Element.TYPE)
    field_id = element.get(Element.FIELD_ID)
    if not isinstance(physical, int) or element.get(Element.CHILDREN):
        raise ParquetCorrupt(f"The schema's column {'.'.join(path)!r} has an unclear type.")
    encoded = [thrift.encode_binary(name.encode()) for name in path]
    header = thrift.encode_list_header(thrift.BINARY, len(path))
    return Leaf(
        path,
        header + b"".join(encoded),
        physical,
        field_id if isinstance(field_id, int) else None,
        precision=_number(element, Element.PRECISION),
        scale=_number(element, Element.SCALE),
        type_length=_number(element, Element.TYPE_LENGTH),
    )


def _number(element: thrift.Struct, field_id: int) -> int | None:
    value = element.get(field_id)
    return value if isinstance(value, int) else None


def _name(element: thrift.Struct) -> str:
    name = element.get(Element.NAME)
    if not isinstance(name, bytes):
        raise ParquetCorrupt("The schema has a column without a name.")
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise ParquetCorrupt("The schema has a column whose name is not UTF-8.") from None


def _needs_id(element: thrift.Struct, parent: _Node) -> bool:
    if element.get(Element.FIELD_ID) is not None:
        return False
    # The repeated group between a list or map and its elements is encoding, not a column.
    repeated_group = (
        element.get(Element.REPETITION) == _REPEATED and element.get(Element.TYPE) is None
    )
    if not repeated_group:
        return True
    if _is_map(parent.element):
        return False
    return not (_is_list(parent.element) and _wraps_one_element(element))


def _wraps_one_element(element: thrift.Struct) -> bool:
    name = _name(element)
    legacy_element = name == "array" or name.endswith("_tuple")
    return element.get(Element.CHILDREN) == 1 and not legacy_element


def _is_map(element: thrift.Struct) -> bool:
    converted = element.get(Element.CONVERTED_TYPE)
    return converted in (_MAP, _MAP_KEY_VALUE) or _logical_type(element) == _LOGICAL_MAP


def _is_list(element: thrift.Struct) -> bool:
    return element.get(Element.CONVERTED_TYPE) == _LIST or _logical_type(element) == _LOGICAL_LIST


def _logical_type(element: thrift.Struct) -> int | None:
    logical = element.get(Element.LOGICAL_TYPE)
    if isinstance(logical, thrift.Struct) and logical.fields:
        return logical.fields[0].id
    return None
