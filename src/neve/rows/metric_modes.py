"""Which statistics a table wants of each column: `write.metadata.metrics.*`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from neve.model.errors import RowsCorrupt
from neve.rows.schema import LIST, MAP, STRUCT, Field, Schema

DEFAULT_PROPERTY: Final = "write.metadata.metrics.default"
COLUMN_PREFIX: Final = "write.metadata.metrics.column."
LIMIT_PROPERTY: Final = "write.metadata.metrics.max-inferred-column-defaults"
LIMIT_DEFAULT: Final = 100
_ORDER_KEEPING: Final = re.compile(r"identity|years?|months?|days?|hours?|truncate\[\d+\]")


@dataclass(frozen=True, slots=True)
class MetricsMode:
    """What is kept of a column."""

    counts: bool = True
    #: At most this many characters or bytes of a bound; None for all of them, 0 for no bounds.
    bound_length: int | None = 0


NONE: Final = MetricsMode(counts=False)
COUNTS: Final = MetricsMode()
FULL: Final = MetricsMode(bound_length=None)
TRUNCATE_16: Final = MetricsMode(bound_length=16)


def metric_modes(
    schema: Schema, properties: Mapping[str, str], sort_order: Mapping[str, Any] | None = None
) -> dict[int, MetricsMode]:
    """The mode of every field, as Iceberg's writers decide it.

    `sort_order` is the table's, as its metadata has it: columns that rows are sorted by get bounds.
    """
    names = schema.names()
    default, by_name = _defaults(schema, properties, names)
    for field_id in _sorted_by(sort_order):
        if field_id in names:
            by_name[names[field_id]] = TRUNCATE_16 if default in (NONE, COUNTS) else default
    for key, value in properties.items():
        if key.startswith(COLUMN_PREFIX):
            by_name[key.removeprefix(COLUMN_PREFIX)] = _parse(value, default)
    return {field_id: by_name.get(name, default) for field_id, name in names.items()}


def _defaults(
    schema: Schema, properties: Mapping[str, str], names: Mapping[int, str]
) -> tuple[MetricsMode, dict[str, MetricsMode]]:
    if DEFAULT_PROPERTY in properties:
        return _parse(properties[DEFAULT_PROPERTY], TRUNCATE_16), {}
    limit = _limit(properties)
    if sum(_counted(field) for field in schema.fields) <= limit:
        return TRUNCATE_16, {}
    # Tables with very many columns keep statistics of the first ones alone.
    chosen: list[int] = []
    _choose(schema.fields, limit, chosen)
    return NONE, {names[field_id]: TRUNCATE_16 for field_id in chosen}


def _limit(properties: Mapping[str, str]) -> int:
    text = properties.get(LIMIT_PROPERTY, str(LIMIT_DEFAULT))
    try:
        found = int(text)
    except ValueError:
        raise RowsCorrupt(f"The table property {LIMIT_PROPERTY} is no number: {text!r}.") from None
    return found if found >= 0 else LIMIT_DEFAULT


def _counted(field: Field) -> int:
    """How many columns a field counts for; what lies in a list or map counts if it is plain."""
    inside = field.type.children
    if field.type.name == STRUCT:
        return 1 + sum(_counted(child) for child in inside)
    if field.type.name in (LIST, MAP):
        plain = len(inside) if not inside[-1].type.is_nested else 0
        return plain + sum(_counted(child) - _is_own(child) for child in inside)
    return 1


def _is_own(child: Field) -> int:
    """Elements, keys and values do not count as fields besides."""
    return 0 if child.type.name in (LIST, MAP) else 1


def _choose(fields: tuple[Field, ...], limit: int, chosen: list[int]) -> None:
    for field in fields:
        if len(chosen) < limit and not field.type.is_nested:
            chosen.append(field.id)
    for field in fields:
        if len(chosen) < limit:
            _choose(field.type.children, limit, chosen)


def _sorted_by(sort_order: Mapping[str, Any] | None) -> list[int]:
    fields = (sort_order or {}).get("fields", ())
    return [
        int(field["source-id"])
        for field in fields
        if "source-id" in field and _ORDER_KEEPING.fullmatch(str(field["transform"]))
    ]


def _parse(text: str, otherwise: MetricsMode) -> MetricsMode:
    lowered = text.lower()
    known = {"none": NONE, "counts": COUNTS, "full": FULL}
    if lowered in known:
        return known[lowered]
    found = re.fullmatch(r"truncate\((\d+)\)", lowered)
    if found is None or not 0 < int(found[1]) < 2**31:
        return otherwise
    return MetricsMode(bound_length=int(found[1]))
