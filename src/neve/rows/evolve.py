"""Rows of a file as the table's current schema has them, found by field id at every level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from neve.model.errors import RowsCorrupt, RowsUnsupported
from neve.rows.arrow import arrow_field, arrow_type, children, field_id, is_list, stored
from neve.rows.defaults import missing_column, repeated
from neve.rows.names import NameMapping, with_ids
from neve.rows.promote import promoted
from neve.rows.schema import LIST, MAP, STRUCT, Field, Schema

_NOTHING: Final[Mapping[int, Any]] = {}


def evolve(
    table: Any,
    schema: Schema,
    mapping: NameMapping | None = None,
    constants: Mapping[int, Any] = _NOTHING,
) -> Any:
    """The rows in the columns of `schema`: order, names, types, and defaults for what is missing.

    `table` holds all columns of a file, as its footer describes them. `constants` are the values of
    identity partition columns, by field id, which files of imported tables do not hold. Values stay
    laid out as they are (dictionaries, large offsets) where that does not change what is written.
    """
    file_fields = _by_id(list(with_ids(table.schema, mapping)))
    columns, fields = [], []
    for field in stored(schema.fields):
        column = _column(table, file_fields.get(field.id), field, constants)
        columns.append(column)
        fields.append(arrow_field(field, column.type))
    if not columns:
        raise RowsUnsupported("The schema has no columns that files hold.")
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _by_id(fields: list[Any]) -> dict[int, tuple[int, Any]]:
    found: dict[int, tuple[int, Any]] = {}
    for position, field in enumerate(fields):
        id_ = field_id(field)
        if id_ is not None and found.setdefault(id_, (position, field))[0] != position:
            raise RowsCorrupt(f"The file has two columns of field id {id_}.")
    return found


def _column(
    table: Any, found: tuple[int, Any] | None, field: Field, constants: Mapping[int, Any]
) -> Any:
    if found is None:
        if field.id in constants:
            return repeated(constants[field.id], field.type, table.num_rows)
        return missing_column(field, table.num_rows)
    position, file_field = found
    # An empty column has no chunk, and still needs its type.
    chunks = table.column(position).chunks or [pa.nulls(0, table.schema.field(position).type)]
    arrays = [_array(chunk, file_field, field, None) for chunk in chunks]
    if field.id in constants:
        _check_constant(arrays, constants[field.id], field)
    return pa.chunked_array(_alike(arrays, field))


def _alike(arrays: list[Any], field: Field) -> list[Any]:
    """Chunks of one type: a writer may have given up a dictionary half way."""
    if all(array.type == arrays[0].type for array in arrays):
        return arrays
    return [array.cast(arrow_type(field.type)) for array in arrays]


def _check_constant(arrays: list[Any], constant: Any, field: Field) -> None:
    """Refuse a file that says something else than its partition, whose value readers show."""
    expected = _bits(repeated(constant, field.type, 1))
    for array in arrays:
        plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        found = _bits(plain).unique()
        if len(found) and not found.cast(expected.type).equals(expected):
            raise RowsCorrupt(f"The file's column {field.name!r} is not its partition's value.")


def _bits(array: Any) -> Any:
    """Values that compare as their bytes: NaN is itself, and -0.0 is not 0.0."""
    if isinstance(array.type, pa.BaseExtensionType):
        return array.storage
    if pa.types.is_floating(array.type):
        return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return array


def _array(array: Any, file_field: Any, field: Field, absent: Any) -> Any:
    """The values in their new form. Rows of `absent` lie in a struct that is null."""
    match field.type.name:
        case name if name == STRUCT:
            made = _struct(array, file_field, field, absent)
        case name if name == LIST:
            made = _list(array, file_field, field)
        case name if name == MAP:
            made = _map(array, file_field, field)
        case _:
            made = promoted(array, field)
    return _required(made, field, absent) if field.required else made


def _struct(array: Any, file_field: Any, field: Field, absent: Any) -> Any:
    if not pa.types.is_struct(file_field.type):
        raise _not_a(field, file_field)
    is_null = array.is_null()
    inside = is_null if absent is None else pc.or_(is_null, absent)
    found = _by_id(children(file_field.type))
    arrays, fields = [], []
    for child in stored(field.type.children):
        if child.id in found:
            position, file_child = found[child.id]
            made = _array(array.field(position), file_child, child, inside)
        else:
            made = missing_column(child, len(array))
        arrays.append(made)
        fields.append(arrow_field(child, made.type))
    if not arrays:
        raise RowsUnsupported(f"The struct {field.name!r} has no fields that files hold.")
    mask = is_null if array.null_count else None
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)


def _list(array: Any, file_field: Any, field: Field) -> Any:
    if not is_list(file_field.type):
        raise _not_a(field, file_field)
    if not pa.types.is_list(array.type):
        array = array.cast(pa.list_(array.type.value_field))
    element = field.type.children[0]
    file_element = children(file_field.type)[0]
    _check_same(file_element, element, field)
    made = _array(array.values, file_element, element, None)
    kind = pa.list_(arrow_field(element, made.type))
    return _of_offsets(array, kind, made)


def _map(array: Any, file_field: Any, field: Field) -> Any:
    if not pa.types.is_map(file_field.type):
        raise _not_a(field, file_field)
    key, value = field.type.children
    file_key, file_value = children(file_field.type)
    _check_same(file_key, key, field)
    _check_same(file_value, value, field)
    keys = _array(array.keys, file_key, key, None)
    values = _array(array.items, file_value, value, None)
    fields = [arrow_field(key, keys.type), arrow_field(value, values.type)]
    entries = pa.StructArray.from_arrays([keys, values], fields=fields)
    return _of_offsets(array, pa.map_(*fields), entries)


def _of_offsets(array: Any, kind: Any, inside: Any) -> Any:
    validity, offsets = array.buffers()[:2]
    return pa.Array.from_buffers(
        kind, len(array), [validity, offsets], array.null_count, array.offset, [inside]
    )


def _check_same(file_field: Any, field: Field, parent: Field) -> None:
    if field_id(file_field) != field.id:
        raise RowsUnsupported(
            f"The {field.name} of {parent.name!r} has another field id in the file."
        )


def _not_a(field: Field, file_field: Any) -> RowsUnsupported:
    return RowsUnsupported(
        f"Column {field.name!r} is a {field.type.name}, and {file_field.type} in the file."
    )


def _required(array: Any, field: Field, absent: Any) -> Any:
    """The array without nulls; those of rows whose struct is null are no values at all."""
    if not array.null_count:
        return array
    is_null = array.is_null()
    stray = is_null if absent is None else pc.and_not(is_null, absent)
    if pc.any(stray).as_py():
        raise RowsCorrupt(f"The required column {field.name!r} has nulls.")
    return _filled(array)


def _filled(array: Any) -> Any:
    """The array with its nulls as whatever bytes lie there."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _filled(array.storage))
    if pa.types.is_dictionary(kind):
        return _filled(array.dictionary_decode())
    if pa.types.is_struct(kind):
        inside = [array.field(position) for position in range(kind.num_fields)]
        return pa.StructArray.from_arrays(inside, fields=children(kind))
    buffers = array.buffers()
    if pa.types.is_list(kind):
        return _without_nulls(array, buffers[1:2], [array.values])
    if pa.types.is_map(kind):
        fields = children(kind)
        entries = pa.StructArray.from_arrays([array.keys, array.items], fields=fields)
        return _without_nulls(array, buffers[1:2], [entries])
    return _without_nulls(array, buffers[1:], None)


def _without_nulls(array: Any, buffers: list[Any], inside: list[Any] | None) -> Any:
    return pa.Array.from_buffers(array.type, len(array), [None, *buffers], 0, array.offset, inside)
