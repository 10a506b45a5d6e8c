"""Files whose values Iceberg's reader in Spark would take for others, found by their footers.

Iceberg's specification says what a column's values look like in Parquet. Files that were written
by others and imported may hold something else under the same field id: nanoseconds where the
table has microseconds, another scale, numbers without a sign; or columns may have no ids, where
readers differ on what they are. The reader does not always refuse those, and what it rewrites then
is wrong for good. So only what is known to be read rightly goes through it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final

from pyspark.sql import SparkSession

from neve.model.errors import ParquetError, RowsError
from neve.model.facts import NAME_MAPPING_PROPERTY
from neve.model.table import TableRef
from neve.parquet.footer import read_file_schema
from neve.parquet.kinds import LeafKind, leaf_kinds
from neve.parquet.schema import Schema
from neve.planning.constants import Constants
from neve.rows.names import MappedField, NameMapping, parse_name_mapping
from neve.rows.schema import Field, Type, parse_type
from neve.spark.errors import engine_errors
from neve.spark.footers import AT_ONCE_IN_STORE, stage_width
from neve.spark.master import is_local
from neve.spark.opened_file import Unopened, opened
from neve.spark.rewrite.of_partition import why_of_another
from neve.spark.tables import iceberg, load_table
from neve.storage.access import Storage

#: Each takes less than a tenth of a millisecond.
MAX_OPENED_HERE: Final = 20_000
_DECIMAL: Final = re.compile(r"decimal\((\d+), (\d+)\)")
_SMALL_INTS: Final = frozenset({"int8", "int16", "int32", "uint8", "uint16"})
_MOMENTS: Final = frozenset({"timestamp[us]", "int96"})
_READ: Final[dict[str, frozenset[str]]] = {
    "boolean": frozenset({"boolean"}),
    "int": _SMALL_INTS,
    "long": _SMALL_INTS | {"int64"},
    "float": frozenset({"float"}),
    "double": frozenset({"float", "double"}),
    "date": frozenset({"date", "int32"}),
    "time": frozenset({"time[us]"}),
    "timestamp": _MOMENTS,
    "timestamptz": _MOMENTS,
    "timestamp_ns": frozenset({"timestamp[ns]"}),
    "timestamptz_ns": frozenset({"timestamp[ns]"}),
    "string": frozenset({"string", "binary"}),
    "binary": frozenset({"string", "binary"}),
    "uuid": frozenset({"uuid", "fixed[16]"}),
}
#: What Iceberg would hardly read as anything that it is.
_NEVER: Final = frozenset({"timestamp[ms]", "timestamp[ns]", "time[ms]", "time[ns]"}) | {
    *("uint32", "uint64", "interval", "float16"),
}


@dataclass(frozen=True, slots=True)
class Columns:
    """What the table says of its columns, in a form that travels to tasks."""

    #: Of columns that hold values, by field id.
    types: Mapping[int, Type]
    #: Of those columns that are not part of others, by field id.
    names: Mapping[int, str]
    #: None where the table has none: then Iceberg goes by the place of a column.
    mapping: NameMapping | None = None


#: From the columns of a file to the field ids that they are read by.
_Ids = Callable[[Sequence[LeafKind], Columns], Sequence[int | None]]


def columns_of(schema: str, name_mapping: str | None) -> Columns:
    """The table's columns, of the JSON of its schema and of its name mapping, if it has one.

    A mapping that cannot be understood maps nothing.
    """
    document = json.loads(schema)
    types = dict(_types(document))
    names = {int(field["id"]): str(field["name"]) for field in document["fields"]}
    try:
        return Columns(types, names, parse_name_mapping(name_mapping) if name_mapping else None)
    except RowsError:
        return Columns(types, names, {})


def _types(document: Mapping[str, Any]) -> Iterator[tuple[int, Type]]:
    """Types that are not known here are passed over: they do not hide their neighbours."""
    inside = [(each["id"], each["type"]) for each in document.get("fields", ())]
    parts = ("element", "key", "value")
    inside += [(document[f"{part}-id"], document[part]) for part in parts if part in document]
    for id_, kind in inside:
        if isinstance(kind, dict):
            yield from _types(kind)
            continue
        with suppress(RowsError):
            yield int(id_), parse_type(kind)


def why_misread(schema: Schema, columns: Columns) -> str | None:
    """Why a file of this schema is not read rightly, or None."""
    leaves = list(leaf_kinds(schema))
    if all(leaf.field_id is None for leaf in leaves):
        if columns.mapping is None:
            return _why_not_by_place(leaves, columns) or _why_misread(leaves, columns, _places)
        return _why_misread(leaves, columns, _by_name)
    if schema.without_field_id:
        # Spark finds nothing there; others go by the mapping, or refuse the file.
        return f"its column {schema.without_field_id[0]} has no field id, and others have one"
    return _why_misread(leaves, columns, _own_ids)


def _why_misread(leaves: Sequence[LeafKind], columns: Columns, ids: _Ids) -> str | None:
    for leaf, id_ in zip(leaves, ids(leaves, columns), strict=True):
        wanted = columns.types.get(id_) if id_ is not None else None
        name = ".".join(leaf.path)
        if wanted is None:
            # A column that is gone, or that nobody can tell: then only what is never read rightly.
            if id_ is None and leaf.kind in _NEVER:
                return f"its column {name} holds {leaf.kind}, which Iceberg does not read as such"
        elif not is_read(wanted, leaf.kind):
            return f"its column {name} holds {leaf.kind}, and the table has {wanted}"
    return None


def _own_ids(leaves: Sequence[LeafKind], columns: Columns) -> list[int | None]:
    return [leaf.field_id for leaf in leaves]


def _by_name(leaves: Sequence[LeafKind], columns: Columns) -> list[int | None]:
    return [_mapped(leaf.path, columns.mapping) for leaf in leaves]


def _places(leaves: Sequence[LeafKind], columns: Columns) -> list[int]:
    """Without ids and names, Iceberg takes the first column for that of id 1, and so on."""
    tops = dict.fromkeys(leaf.path[0] for leaf in leaves)
    places = {name: place for place, name in enumerate(tops, start=1)}
    return [places[leaf.path[0]] for leaf in leaves]


def _why_not_by_place(leaves: Sequence[LeafKind], columns: Columns) -> str | None:
    """Why the place of a column does not tell which one it is, or None.

    A struct's parts have no place, so that Iceberg finds none of them, and a column that stands
    elsewhere, or has been renamed since, may be another.
    """
    for leaf, id_ in zip(leaves, _places(leaves, columns), strict=True):
        name = leaf.path[0]
        is_known = id_ in columns.names or name in columns.names.values()
        if is_known and (len(leaf.path) > 1 or columns.names.get(id_) != name):
            return (
                f"its column {'.'.join(leaf.path)} has no field id, and the table no name mapping"
            )
    return None


def is_read(wanted: Type, kind: str) -> bool:
    """Whether Iceberg's reader is known to read such values as what they are."""
    if wanted.name == "binary" and kind.startswith("fixed["):
        return True
    if wanted.name == "fixed":
        return kind == f"fixed[{wanted.length}]"
    if wanted.name == "decimal":
        found = _DECIMAL.fullmatch(kind)
        return bool(found and int(found[1]) <= wanted.precision and int(found[2]) == wanted.scale)
    # Of types that are not here, such as variant, only Iceberg knows what they look like.
    return kind in _READ.get(wanted.name, {kind})


def _mapped(path: Sequence[str], mapping: NameMapping | None) -> int | None:
    """The id by name; what Parquet puts between a list and its elements has none."""
    found, inside = None, mapping or {}
    for name in path:
        if name in inside:
            found = inside[name].id
            inside = inside[name].children
    return found


def find_misread(
    session: SparkSession,
    table: TableRef,
    paths: Sequence[str],
    in_doubt: Mapping[str, Constants],
    storage: Storage,
) -> dict[str, str]:
    """Of the files, those that are not read rightly, each with the reason.

    Many, or objects of a store, take one Spark stage; for some files on this machine its Python
    workers would take longer to begin than the files to be opened.
    """
    if not paths:
        return {}
    loaded, context = load_table(session, table), session.sparkContext
    with engine_errors(f"Opening files of table {table}"):
        schema = str(iceberg(session).SchemaParser.toJson(loaded.schema()))
        columns = columns_of(schema, loaded.properties().get(NAME_MAPPING_PROPERTY))
        work = partial(_look, columns=columns, in_doubt=in_doubt, storage=storage)
        if (
            is_local(context.master or "")
            and len(paths) <= MAX_OPENED_HERE
            and all(map(_is_file, paths))
        ):
            return dict(work(paths))
        tasks = stage_width(len(paths), context.defaultParallelism)
        return dict(context.parallelize(paths, tasks).mapPartitions(work).collect())


def _is_file(path: str) -> bool:
    scheme, colon, _ = path.partition(":")
    return not colon or scheme == "file"


def _look(
    paths: Iterable[str], columns: Columns, in_doubt: Mapping[str, Constants], storage: Storage
) -> Iterator[tuple[str, str]]:
    known: dict[bytes, str | None] = {}
    doubtful = []
    for path, schema in _schemas(paths, partial(_schema, storage=storage)):
        if schema.raw not in known:
            known[schema.raw] = why_misread(schema, columns)
        if (why := known[schema.raw]) is not None:
            yield path, why
        elif path in in_doubt:
            doubtful.append(path)
    if doubtful:
        look = partial(_of_another, columns=columns, in_doubt=in_doubt, storage=storage)
        with ThreadPoolExecutor(AT_ONCE_IN_STORE, "partitions") as pool:
            found = zip(doubtful, pool.map(look, doubtful), strict=True)
            yield from ((path, why) for path, why in found if why is not None)


def _of_another(
    path: str, columns: Columns, in_doubt: Mapping[str, Constants], storage: Storage
) -> str | None:
    """Why its own values may be lost, or None; also where only Iceberg itself reaches it."""
    told = {id_: value for id_, value in in_doubt[path] if id_ in columns.types}
    fields = [Field(id_, columns.names[id_], False, columns.types[id_]) for id_ in told]
    # Without a mapping Iceberg goes by places, which are those of the names by now.
    by_place = {name: MappedField(id_, {}) for id_, name in columns.names.items()}
    mapping = by_place if columns.mapping is None else columns.mapping
    try:
        with opened(path, storage) as reader:
            return why_of_another(reader, told, fields, mapping)
    except (Unopened, ParquetError):
        return None


def _schemas(paths: Iterable[str], read: partial[Schema | None]) -> Iterator[tuple[str, Schema]]:
    """Files that can be opened; where none of some can, the others are not waited for."""
    left = iter(paths)
    with ThreadPoolExecutor(AT_ONCE_IN_STORE, "footers") as pool:
        while some := list(islice(left, AT_ONCE_IN_STORE * 4)):
            found = list(zip(some, pool.map(read, some), strict=True))
            yield from ((path, schema) for path, schema in found if schema is not None)
            if all(schema is None for _, schema in found):
                return


def _schema(path: str, storage: Storage) -> Schema | None:
    """What its footer says; None where only Iceberg itself reaches the file, or reads it."""
    try:
        with opened(path, storage) as reader:
            return read_file_schema(reader)
    except (Unopened, ParquetError, ModuleNotFoundError):
        # The client of a store need not be installed.
        return None
