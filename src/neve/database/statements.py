"""One SELECT on a tenant's own tables, read by sqlglot and written anew from what was understood.

Kinds of nodes and functions are on lists; whatever is not is refused. Names of tables become names
of relations that were registered for the statement, so that nothing else can be meant by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from neve.database.allowed import FUNCTIONS, NAMED_FUNCTIONS, NODES
from neve.database.names import is_name
from neve.model.errors import QueryRefused

MAX_LENGTH = 20_000
MAX_NODES = 5_000
MAX_DEPTH = 60
DIALECT = "duckdb"
RELATION = "relation_"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A table that a statement reads, and the columns that it may need; None means all."""

    namespace: str | None
    table: str
    columns: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may be run, and its relations."""

    text: str
    relations: Mapping[str, Wanted]


def select_all(table: str) -> Statement:
    """All columns of one table."""
    return read_statement(exp.select("*").from_(exp.to_table(table)).sql(DIALECT))


def read_statement(text: str) -> Statement:
    """What the text asks for, or QueryRefused with the reason."""
    tree = _parse(text)
    _check_size(tree)
    for node in tree.walk():
        _check(node)
    _check_stars_of_nothing(tree)
    relations = _rename_tables(tree)
    written = tree.sql(DIALECT, comments=False, identify=True)
    return Statement(written, relations)


def _parse(text: str) -> exp.Expr:
    if len(text) > MAX_LENGTH:
        raise QueryRefused(f"A statement may have {MAX_LENGTH} characters at most.")
    if "\0" in text:
        raise _refused("it holds a null character")
    try:
        found = [tree for tree in parse(text, read=DIALECT) if tree is not None]
    except SqlglotError as error:
        line = str(error).splitlines()[0].split(". Line")[0]
        raise _refused(f"it cannot be read: {line[:200]}") from None
    except RecursionError:
        raise _refused("it is nested too deeply") from None
    if len(found) != 1:
        raise _refused(f"it holds {len(found)} statements, and one is wanted")
    tree = found[0]
    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise _refused("only SELECT is run")
    return tree


def _check_size(tree: exp.Expr) -> None:
    for count, node in enumerate(tree.walk()):
        if count > MAX_NODES:
            raise _refused("it is too long")
        depth, parent = 0, node.parent
        if not node.args:
            while parent is not None:
                depth, parent = depth + 1, parent.parent
        if depth > MAX_DEPTH:
            raise _refused("it is nested too deeply")


def _check(node: exp.Expr) -> None:
    kind = type(node)
    if kind is exp.Anonymous:
        name = str(node.this).lower()
        if not isinstance(node.this, str) or name not in NAMED_FUNCTIONS:
            raise _refused(f"the function {name[:60]} is not on the list")
    elif isinstance(node, exp.Func) and not isinstance(node, NODES):
        if kind not in FUNCTIONS:
            raise _refused(f"the function {node.sql_name().lower()[:60]} is not on the list")
    elif kind not in NODES:
        raise _refused(f"{kind.__name__} is not part of what QUERY understands")
    _check_parts(node)


def _check_parts(node: exp.Expr) -> None:
    """What is allowed in one form and not in another."""
    if isinstance(node, exp.With) and node.args.get("recursive"):
        raise _refused("recursive queries are not run")
    if isinstance(node, exp.Table):
        _check_table(node)
    if isinstance(node, exp.Select) and (node.args.get("into") or node.args.get("locks")):
        raise _refused("only plain SELECT is run")
    if isinstance(node, exp.DataType):
        _check_type(node)


def _check_table(node: exp.Table) -> None:
    names = [node.this, *([node.args["db"]] if node.args.get("db") else [])]
    if node.args.get("catalog") or not all(isinstance(name, exp.Identifier) for name in names):
        raise _refused("tables are named by themselves or with their namespace")
    extra = {key for key, value in node.args.items() if value}
    if extra - {"this", "db", "alias", "joins"}:
        raise _refused("tables are read as they are, without further clauses")


def _check_type(node: exp.DataType) -> None:
    if node.this in (exp.DataType.Type.USERDEFINED, exp.DataType.Type.UNKNOWN):
        raise _refused("a type is not known")


def _check_stars_of_nothing(tree: exp.Expr) -> None:
    """`COLUMNS(…)`, `EXCLUDE` and `REPLACE` say in a star what is better said plainly."""
    for star in tree.find_all(exp.Star):
        if any(star.args.get(part) for part in ("except_", "except", "replace", "rename")):
            raise _refused("a star stands alone")


def _rename_tables(tree: exp.Expr) -> dict[str, Wanted]:
    columns = _columns(tree)
    relations: dict[str, Wanted] = {}
    names: dict[tuple[str | None, str], str] = {}
    for node in list(tree.find_all(exp.Table)):
        namespace, table = node.args.get("db"), node.name
        if namespace is None and _is_of_query(node):
            continue
        place = (namespace.name if namespace else None, table)
        if not all(is_name(part) for part in place if part is not None):
            raise _refused(f"{table[:60]!r} is no name of a table")
        name = names.setdefault(place, f"{RELATION}{len(names)}")
        relations[name] = Wanted(*place, columns)
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(table, quoted=True)))
        node.set("this", exp.to_identifier(name, quoted=True))
        node.set("db", None)
    return relations


def _is_of_query(node: exp.Table) -> bool:
    """Whether the name is one that the statement itself gives, where this table stands."""
    inner: exp.Expr = node
    while (outer := inner.parent) is not None:
        found = outer.args.get("with_") or outer.args.get("with")
        if isinstance(found, exp.With) and _gives(found, node.name, inner):
            return True
        inner = outer
    return False


def _gives(found: exp.With, name: str, inside: exp.Expr) -> bool:
    for cte in found.expressions:
        # One that is defined by itself, or later, means a table.
        if cte is inside or _contains(cte, inside):
            return False
        if cte.alias.lower() == name.lower():
            return True
    return False


def _contains(outer: exp.Expr, inner: exp.Expr) -> bool:
    parent: exp.Expr | None = inner
    while parent is not None:
        if parent is outer:
            return True
        parent = parent.parent
    return False


def _columns(tree: exp.Expr) -> tuple[str, ...] | None:
    """Every name that could be a column's; None where a star asks for all."""
    stars = [star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
    if stars or any(isinstance(column.this, exp.Star) for column in tree.find_all(exp.Column)):
        return None
    return tuple(sorted({node.name for node in tree.find_all(exp.Identifier)}))


def _refused(why: str) -> QueryRefused:
    return QueryRefused(
        f"The statement is refused: {why}.",
        next_step="Write one SELECT on tables of this tenant, with plain functions.",
    )
