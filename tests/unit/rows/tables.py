"""Random schemas with rows in them, as Hypothesis draws them."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from neve.rows.arrow import arrow_field, arrow_type
from neve.rows.schema import LIST, MAP, STRUCT, Field, Schema, Type

FLOATS = [0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), -(2.0**-10)]
PRIMITIVES: dict[str, tuple[Type, st.SearchStrategy[Any]]] = {
    "boolean": (Type("boolean"), st.booleans()),
    "int": (Type("int"), st.integers(-(2**31), 2**31 - 1)),
    "long": (Type("long"), st.integers(-(2**63), 2**63 - 1)),
    "float": (Type("float"), st.sampled_from(FLOATS) | st.floats(width=32)),
    "double": (Type("double"), st.sampled_from(FLOATS) | st.floats()),
    "date": (Type("date"), st.integers(-800_000, 3_000_000)),
    "time": (Type("time"), st.integers(0, 86_400_000_000 - 1)),
    "timestamp": (Type("timestamp"), st.integers(-(2**60), 2**60)),
    "timestamptz": (Type("timestamptz"), st.integers(-(2**60), 2**60)),
    "timestamp_ns": (Type("timestamp_ns"), st.integers(-(2**63), 2**63 - 1)),
    "string": (Type("string"), st.text(max_size=40)),
    "uuid": (Type("uuid"), st.binary(min_size=16, max_size=16)),
    "binary": (Type("binary"), st.binary(max_size=40)),
    "fixed": (Type("fixed", length=5), st.binary(min_size=5, max_size=5)),
    "small": (
        Type("decimal", precision=7, scale=2),
        st.integers(1 - 10**7, 10**7 - 1).map(lambda value: Decimal(value).scaleb(-2)),
    ),
    "large": (
        Type("decimal", precision=38, scale=0),
        st.integers(1 - 10**38, 10**38 - 1).map(lambda value: Decimal(value)),
    ),
}


@st.composite
def types(draw: Any, next_id: Any, depth: int = 2) -> Type:
    kind = draw(st.sampled_from([*PRIMITIVES, *([STRUCT, LIST, MAP] if depth else [])]))
    if kind in PRIMITIVES:
        return PRIMITIVES[kind][0]
    if kind == STRUCT:
        return Type(STRUCT, tuple(draw(fields(next_id, depth - 1))))
    names = ["element"] if kind == LIST else ["key", "value"]
    inside = []
    for name in names:
        required = name == "key" or draw(st.booleans())
        # Keys are plain, as in every engine.
        of = draw(types(next_id, 0 if name == "key" else depth - 1))
        inside.append(Field(next(next_id), name, required, of))
    return Type(kind, tuple(inside))


@st.composite
def fields(draw: Any, next_id: Any, depth: int = 2) -> list[Field]:
    made = []
    for _ in range(draw(st.integers(1, 4))):
        id_ = next(next_id)
        kind = draw(types(next_id, depth))
        made.append(Field(id_, f"c{id_}", draw(st.booleans()), kind))
    return made


def values(field: Field) -> st.SearchStrategy[Any]:
    """Values of a field, as Arrow takes them."""
    kind = field.type
    if kind.name == STRUCT:
        found = st.fixed_dictionaries({child.name: values(child) for child in kind.children})
    elif kind.name == LIST:
        found = st.lists(values(kind.children[0]), max_size=3)
    elif kind.name == MAP:
        pair = st.tuples(*(values(child) for child in kind.children))
        found = st.lists(pair, max_size=3)
    else:
        found = next(each for of, each in PRIMITIVES.values() if of == kind)
    return found if field.required else st.none() | found


def array(field: Field, rows: list[Any]) -> Any:
    """An array of the field's own type."""
    kind = arrow_type(field.type)
    if field.type.name == "uuid":
        return pa.ExtensionArray.from_storage(kind, pa.array(rows, pa.binary(16)))
    if not field.type.is_nested:
        return pa.array(rows, kind)
    if field.type.name == STRUCT:
        absent = [row is None for row in rows]
        inside = []
        for child in field.type.children:
            each = [None if row is None else row[child.name] for row in rows]
            made = array(
                child, [filler(child) if v is None and child.required else v for v in each]
            )
            inside.append(made)
        of = [arrow_field(child) for child in field.type.children]
        return pa.StructArray.from_arrays(inside, fields=of, mask=pa.array(absent, pa.bool_()))
    offsets = [0]
    for row in rows:
        offsets.append(offsets[-1] + len(row or ()))
    flat = [each for row in rows for each in row or ()]
    mask = pa.array([row is None for row in rows], pa.bool_())
    made = pa.array(offsets, pa.int32())
    if field.type.name == LIST:
        inside = array(field.type.children[0], flat)
        return pa.ListArray.from_arrays(made, inside, type=kind, mask=mask)
    keys, items = (array(child, [pair[at] for pair in flat]) for at, child in _parts(field))
    return pa.MapArray.from_arrays(made, keys, items, type=kind, mask=mask)


def _parts(field: Field) -> list[tuple[int, Field]]:
    return list(enumerate(field.type.children))


def filler(field: Field) -> Any:
    """Some value of a required field, for rows in which its struct is null."""
    kind = field.type
    if kind.name == STRUCT:
        return {child.name: filler(child) if child.required else None for child in kind.children}
    if kind.name in (LIST, MAP):
        return []
    plain = {"string": "", "binary": b"", "boolean": False, "decimal": Decimal(0)}
    plain |= {"uuid": bytes(16), "fixed": bytes(kind.length)}
    return plain.get(kind.name, 0)


def table(schema: Schema, rows: list[dict[str, Any]]) -> Any:
    """A table of these rows, with field ids at every level."""
    arrays = [array(field, [row[field.name] for row in rows]) for field in schema.fields]
    return pa.Table.from_arrays(
        arrays, schema=pa.schema([arrow_field(field) for field in schema.fields])
    )


@st.composite
def tables(draw: Any, max_rows: int = 6) -> tuple[Schema, list[dict[str, Any]]]:
    """A schema and rows of it."""
    counter = iter(range(1, 10_000))
    schema = Schema(tuple(draw(fields(counter))))
    row = st.fixed_dictionaries({field.name: values(field) for field in schema.fields})
    return schema, draw(st.lists(row, max_size=max_rows))


def listed(found: Any) -> list[Any]:
    """The values of an array, moments as numbers: Python's own end at the year 9999."""
    kind = found.type
    if isinstance(found, pa.ChunkedArray):
        return [value for chunk in found.chunks for value in listed(chunk)]
    if pa.types.is_dictionary(kind):
        return listed(found.dictionary_decode())
    if isinstance(kind, pa.BaseExtensionType):
        return listed(found.storage)
    valid = found.is_valid().to_pylist()
    if pa.types.is_struct(kind):
        inside = [listed(found.field(at)) for at in range(kind.num_fields)]
        names = [kind.field(at).name for at in range(kind.num_fields)]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*inside, strict=True)]
    elif pa.types.is_map(kind):
        pairs = list(zip(listed(found.keys), listed(found.items), strict=True))
        rows = _cut(found, pairs)
    elif pa.types.is_list(kind):
        rows = _cut(found, listed(found.values))
    elif pa.types.is_temporal(kind):
        return found.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    else:
        return list(found.to_pylist())
    return [row if is_valid else None for row, is_valid in zip(rows, valid, strict=True)]


def _cut(found: Any, flat: list[Any]) -> list[Any]:
    offsets = found.offsets.to_pylist()
    return [flat[start:end] for start, end in pairwise(offsets)]
