"""Changes of a table's schema, each drawn from what the schema is at that moment."""

from __future__ import annotations

import random
from collections.abc import Iterator

from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType
from tests.fuzz.histories import COLUMNS
from tests.fuzz.world import FIRST_WITH_LINEAGE, World

WIDER = {"int": "BIGINT", "float": "DOUBLE"}
#: Types of new columns that get a default, with one of each.
DEFAULTS: dict[str, tuple[object, ...]] = {
    "StringType": ("was not there", ""),
    "IntegerType": (7, -1),
    "LongType": (2**40, 0),
    "DoubleType": (-0.0, 2.5),
    "FloatType": (1.5,),
    "BooleanType": (True,),
}


def evolve(world: World, choose: random.Random) -> None:
    """One change of the schema."""
    choose.choice((_add, _add_nested, _drop, _rename, _move, _widen, _widen, _default))(
        world, choose
    )


def _alter(world: World, change: str) -> None:
    world.sql("ALTER TABLE {t} " + change)


def _fields(
    fields: tuple[NestedField, ...], above: tuple[str, ...] = ()
) -> Iterator[tuple[str, NestedField]]:
    """All fields with their names as Spark spells them, those in structs, lists and maps too."""
    for field in fields:
        path = (*above, field.name)
        yield _spelled(path), field
        way, inside = _inside(path, field.field_type)
        if isinstance(inside, StructType):
            yield from _fields(inside.fields, way)


def _inside(path: tuple[str, ...], of: IcebergType) -> tuple[tuple[str, ...], IcebergType]:
    """What lists and maps hold in the end, and the way there."""
    if isinstance(of, ListType):
        return _inside((*path, "element"), of.element_type)
    if isinstance(of, MapType):
        return _inside((*path, "value"), of.value_type)
    return path, of


def _spelled(path: tuple[str, ...]) -> str:
    return ".".join(f"`{part}`" for part in path)


def _all(world: World) -> list[tuple[str, NestedField]]:
    return list(_fields(world.loaded().schema().fields))


def _free(world: World) -> list[tuple[str, NestedField]]:
    """Fields that may be renamed, moved and dropped: everything but the id."""
    return [each for each in _all(world) if each[0] != "`id`"]


def _new_name(world: World, choose: random.Random) -> str:
    """A new one, or one that was dropped before."""
    gone = {"kind", "small", "x"} - {field.name for field in world.loaded().schema().fields}
    if gone and choose.random() < 0.4:
        return choose.choice(sorted(gone))
    return f"c{next(world.numbers)}"


def _add(world: World, choose: random.Random) -> None:
    place = choose.choice(("", " FIRST", " AFTER id"))
    of = COLUMNS[choose.choice(tuple(COLUMNS))]
    _alter(world, f"ADD COLUMN {_new_name(world, choose)} {of}{place}")


def _structs(world: World) -> list[str]:
    """Where fields can be added, also within lists and maps."""
    ways = [_inside((name,), field.field_type) for name, field in _all(world)]
    return [".".join(way) for way, inside in ways if isinstance(inside, StructType)]


def _add_nested(world: World, choose: random.Random) -> None:
    structs = _structs(world)
    if structs:
        of = choose.choice(("INT", "STRING", "DOUBLE", "ARRAY<INT>", "STRUCT<q: INT>"))
        place = choose.choice(("", " FIRST"))
        parent = choose.choice(structs)
        _alter(world, f"ADD COLUMN {parent}.c{next(world.numbers)} {of}{place}")


def _drop(world: World, choose: random.Random) -> None:
    free = _free(world)
    if free:
        _alter(world, f"DROP COLUMN {choose.choice(free)[0]}")


def _rename(world: World, choose: random.Random) -> None:
    free = _free(world)
    if free:
        _alter(world, f"RENAME COLUMN {choose.choice(free)[0]} TO {_new_name(world, choose)}")


def _move(world: World, choose: random.Random) -> None:
    free = _free(world)
    if free:
        _alter(world, f"ALTER COLUMN {choose.choice(free)[0]} FIRST")


def _widen(world: World, choose: random.Random) -> None:
    narrow = [(name, f) for name, f in _free(world) if str(f.field_type) in WIDER]
    decimals = [(name, f) for name, f in _free(world) if str(f.field_type).startswith("decimal")]
    if decimals and (not narrow or choose.random() < 0.5):
        name, field = choose.choice(decimals)
        precision, scale = str(field.field_type)[8:-1].split(", ")
        wider = min(38, int(precision) + choose.choice((1, 9, 10, 20)))
        _alter(world, f"ALTER COLUMN {name} TYPE DECIMAL({wider}, {scale})")
    elif narrow:
        name, field = choose.choice(narrow)
        _alter(world, f"ALTER COLUMN {name} TYPE {WIDER[str(field.field_type)]}")


def _default(world: World, choose: random.Random) -> None:
    """A column of format v3 that old rows have a value in."""
    if world.version < FIRST_WITH_LINEAGE:
        _add(world, choose)
        return
    of = choose.choice(tuple(DEFAULTS))
    java = world.lake.session._jvm.org.apache.iceberg  # type: ignore[union-attr]
    kind = getattr(java.types.Types, of).get()
    literal = java.expressions.Expressions.lit(choose.choice(DEFAULTS[of])).to(kind)
    update = world.lake.java(world.table).updateSchema()
    structs = [field.name for field in world.loaded().schema().fields if _is_struct(field)]
    name = f"c{next(world.numbers)}"
    if structs and choose.random() < 0.4:
        update = update.addColumn(choose.choice(structs), name, kind, None, literal)
    else:
        update = update.addColumn(name, kind, literal)
    update.commit()
    world.refresh()


def _is_struct(field: NestedField) -> bool:
    return isinstance(field.field_type, StructType)
