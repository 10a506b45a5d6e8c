"""A predicate on columns. It selects files, never rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

Literal = str | int | float | Decimal | bool | date | datetime


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column operator value`, where the operator is one of = <> < <= > >=."""

    column: str
    operator: str
    value: Literal
    #: Where the column stands in the text, for messages.
    position: int = 0


@dataclass(frozen=True, slots=True)
class In:
    """`column IN (values)`, or its negation."""

    column: str
    values: tuple[Literal, ...]
    negated: bool = False
    position: int = 0


@dataclass(frozen=True, slots=True)
class IsNull:
    """`column IS NULL`, or its negation."""

    column: str
    negated: bool = False
    position: int = 0


@dataclass(frozen=True, slots=True)
class Not:
    operand: Predicate


@dataclass(frozen=True, slots=True)
class And:
    operands: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    operands: tuple[Predicate, ...]


Leaf = Comparison | In | IsNull
Predicate = Leaf | Not | And | Or


def leaves(predicate: Predicate) -> Iterator[Leaf]:
    """The comparisons that a predicate is built from, from left to right."""
    if isinstance(predicate, And | Or):
        for operand in predicate.operands:
            yield from leaves(operand)
    elif isinstance(predicate, Not):
        yield from leaves(predicate.operand)
    else:
        yield predicate
