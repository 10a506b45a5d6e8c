"""What a statement asks of the rows of one table, in a form that the scan can use.

The scan may leave out rows that the statement would leave out, and no other: the statement still
runs as it is. Whatever is not plainly such a condition is not pushed.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from neve.model.database import Condition

OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
MAX_VALUES = 200


def conditions_on(table: exp.Table) -> tuple[Condition, ...]:
    """Conditions that every row of the table must meet to matter where the table stands."""
    select = _only_select(table)
    where = select.args.get("where") if select is not None else None
    if select is None or where is None:
        return ()
    # A name of a result may stand in WHERE as well.
    aliases = {name.lower() for name in select.named_selects}
    own = {part.lower() for part in (table.alias, table.name) if part}
    found = []
    for part in _conjuncts(where.this):
        condition = _condition(part, own)
        if condition is not None and not _is_alias(condition.column, aliases, select):
            found.append(condition)
    return tuple(found)


def _only_select(table: exp.Table) -> exp.Select | None:
    """The SELECT that reads this table and nothing beside it."""
    source = table.parent
    select = source.parent if isinstance(source, exp.From) else None
    if not isinstance(select, exp.Select) or table.args.get("joins"):
        return None
    return None if select.args.get("joins") or select.args.get("laterals") else select


def _is_alias(column: str, aliases: set[str], select: exp.Select) -> bool:
    """Whether the name may mean a result that is not the column of that name."""
    if column.lower() not in aliases:
        return False
    return any(
        item.alias_or_name.lower() == column.lower() and not isinstance(item, exp.Column)
        for item in select.expressions
    )


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.And):
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    elif isinstance(node, exp.Paren):
        yield from _conjuncts(node.this)
    else:
        yield node


def _condition(node: exp.Expr, own: set[str]) -> Condition | None:
    if (operator := OPERATORS.get(type(node))) is not None:
        return _comparison(node, operator, own)
    if isinstance(node, exp.In) and set(node.args) <= {"this", "expressions"}:
        column = _column(node.this, own)
        values = [_value(item) for item in node.expressions]
        if column and values and len(values) <= MAX_VALUES and None not in values:
            return Condition(column, "in", tuple(v for v in values if v is not None))
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        column = _column(node.this, own)
        return Condition(column, "is null") if column else None
    if isinstance(node, exp.Not) and isinstance(node.this, exp.Is):
        inner = _condition(node.this, own)
        return Condition(inner.column, "is not null") if inner else None
    return None


def _comparison(node: exp.Expr, operator: str, own: set[str]) -> Condition | None:
    left, right = node.this, node.expression
    column, value = _column(left, own), _value(right)
    if column is None:
        column, value, operator = _column(right, own), _value(left), MIRRORED[operator]
    return None if column is None or value is None else Condition(column, operator, (value,))


def _column(node: exp.Expr, own: set[str]) -> str | None:
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return None
    if node.args.get("db") or (node.table and node.table.lower() not in own):
        return None
    return str(node.name)


def _value(node: exp.Expr) -> str | int | None:
    """A whole number or a text, as it is written; everything else is left to the statement."""
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        inner = _value(node.this)
        return -inner if isinstance(inner, int) else None
    if not isinstance(node, exp.Literal):
        return None
    text = str(node.this)
    if node.is_string:
        return text
    return int(text) if text.isascii() and text.isdigit() else None
