"""The columns of a file down to their levels: where a chunk of one file fits into another.

Definition and repetition levels count the optional and repeated nodes on the way to a leaf. Pages
mean the same in two files where the nodes on the way are the same: their repetition one by one, and
their field ids. Names are left out of it, so that a renamed column stays the same column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

from neve.model.errors import ParquetUnsupported
from neve.parquet import thrift
from neve.parquet.assembly.values import ValueType, value_type
from neve.parquet.layout import Element
from neve.parquet.schema import Schema, decode_elements, read_schema

REQUIRED: Final = 0
REPEATED: Final = 2

Path: TypeAlias = tuple[str, ...]
#: Repetition and field id of every node from a top-level column down to a leaf.
Levels: TypeAlias = tuple[tuple[int, int | None], ...]
#: Field ids by path, for files that were written without them.
MappedIds: TypeAlias = Mapping[Path, int]
NO_IDS: Final[MappedIds] = {}


@dataclass(frozen=True, slots=True)
class Column:
    """A leaf of the schema."""

    #: Its place among the leaves, and that of its top-level column among those.
    index: int
    top: int
    path: Path
    encoded_path: bytes
    levels: Levels
    value: ValueType
    #: How many lists and maps the leaf is inside of; 0 where a row has one value.
    max_repetition_level: int

    @property
    def field_id(self) -> int | None:
        """The id of the leaf."""
        return self.levels[-1][1]

    @property
    def name(self) -> str:
        """The dotted path, for people."""
        return ".".join(self.path)


@lru_cache(maxsize=64)
def columns_of(schema_raw: bytes) -> tuple[Column, ...]:
    """The leaves of an encoded schema, in order."""
    schema = read_schema(schema_raw)
    return tuple(_columns(schema, decode_elements(schema_raw)))


def columns_with_ids(schema_raw: bytes, mapped: MappedIds) -> tuple[Column, ...]:
    """The leaves of an encoded schema, with ids by path where the file has none."""
    columns = columns_of(schema_raw)
    return tuple(_with_ids(column, mapped) for column in columns) if mapped else columns


def by_field_id(columns: tuple[Column, ...], path: str) -> dict[int, Column]:
    """The leaves that can be found by id."""
    found = {column.field_id: column for column in columns if column.field_id is not None}
    if len(found) < sum(column.field_id is not None for column in columns):
        raise ParquetUnsupported(f"{path} has two columns with the same field id.")
    return found


def _with_ids(column: Column, mapped: MappedIds) -> Column:
    levels = tuple(
        (repetition, mapped.get(column.path[: depth + 1]) if field_id is None else field_id)
        for depth, (repetition, field_id) in enumerate(column.levels)
    )
    return replace(column, levels=levels)


def _columns(schema: Schema, elements: list[thrift.Struct]) -> Iterator[Column]:
    # The schema was checked when it was read: every group has the children that it announces.
    leaves = iter(schema.leaves)
    index = 0
    top = -1
    open_groups: list[tuple[Levels, int]] = [((), _children(elements[0]))]
    for element in elements[1:]:
        while open_groups[-1][1] == 0:
            open_groups.pop()
        levels, left = open_groups[-1]
        open_groups[-1] = (levels, left - 1)
        top += not levels
        repetition = _integer(element, Element.REPETITION) or REQUIRED
        levels = (*levels, (repetition, _integer(element, Element.FIELD_ID)))
        if element.get(Element.TYPE) is None:
            open_groups.append((levels, _children(element)))
            continue
        leaf = next(leaves)
        repeated = sum(repetition == REPEATED for repetition, _ in levels)
        value = value_type(element)
        yield Column(index, top, leaf.path, leaf.encoded_path, levels, value, repeated)
        index += 1


def _children(element: thrift.Struct) -> int:
    return _integer(element, Element.CHILDREN) or 0


def _integer(element: thrift.Struct, field_id: int) -> int | None:
    value = element.get(field_id)
    return value if isinstance(value, int) else None
