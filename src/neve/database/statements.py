"""One SELECT on a tenant's own tables, read by sqlglot and written anew from what was understood.

Kinds of nodes and functions are on lists; whatever is not is refused. Names of tables become names
of relations that were registered for the statement, so that nothing else can be meant by them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from unicodedata import category

from sqlglot import exp
from sqlglot.errors import SqlglotError

from neve.database.allowed import FUNCTIONS, NAMED_FUNCTIONS, NODES
from neve.database.names import is_name
from neve.database.parsing import DIALECT, TooManySteps, parse_bounded
from neve.database.pushing import conditions_on
from neve.model.database import Wanted
from neve.model.errors import QueryRefused

# It would write statements that it cannot read into the log, and they are their senders'.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

MAX_LENGTH = 20_000
MAX_NODES = 5_000
MAX_DEPTH = 60
RELATION = "relation_"
GIVEN = "given_"
#: Controls and halves of characters.
UNUSABLE = frozenset(("Cc", "Cs"))
SPACES = "\t\r\n"


@dataclass(frozen=True, slots=True)
class Relation:
    """A table that a statement reads, and what it needs of it."""

    namespace: str | None
    table: str
    wanted: Wanted


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may be run, and its relations."""

    text: str
    relations: Mapping[str, Relation]


def select_all(table: str, max_rows: int) -> Statement:
    """All columns of one table, and so many rows that it is known whether there are more."""
    found = read_statement(exp.select("*").from_(exp.to_table(table)).sql(DIALECT))
    (name, relation), *_ = found.relations.items()
    few = replace(relation, wanted=replace(relation.wanted, max_rows=max_rows + 1))
    return replace(found, relations={name: few})


def read_statement(text: str) -> Statement:
    """What the text asks for, or QueryRefused with the reason."""
    try:
        return _read(text)
    except RecursionError:
        raise _refused("it is nested too deeply") from None


def _read(text: str) -> Statement:
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
    if any(category(character) in UNUSABLE and character not in SPACES for character in text):
        raise _refused("it holds characters that are none")
    try:
        found = parse_bounded(text)
    except TooManySteps:
        raise _refused("it takes too long to read") from None
    except SqlglotError as error:
        line = str(error).splitlines()[0].split(". Line")[0]
        raise _refused(f"it cannot be read: {line[:200]}") from None
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
    elif isinstance(node, exp.Func) and kind not in NODES:
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
    if isinstance(node, exp.Dot) and not isinstance(node.expression, exp.Identifier):
        raise _refused("a dot is followed by the name of a field")


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


def _rename_tables(tree: exp.Expr) -> dict[str, Relation]:
    """Every name of a table becomes one that means nothing but what was registered or defined."""
    columns = _columns(tree)
    conditions = {id(node): conditions_on(node) for node in tree.find_all(exp.Table)}
    given = _rename_given(tree)
    relations: dict[str, Relation] = {}
    names: dict[tuple[str | None, str], str] = {}
    for node in list(tree.find_all(exp.Table)):
        namespace, table = node.args.get("db"), node.name
        if namespace is None and (cte := _given_as(node, given)):
            _rename(node, cte)
            continue
        place = (namespace.name if namespace else None, table)
        if not all(is_name(part) for part in place if part is not None):
            raise _refused(f"{table[:60]!r} is no name of a table")
        is_first = place not in names
        name = names.setdefault(place, f"{RELATION}{len(names)}")
        # Where a table is read twice, either may need what the other leaves out.
        needed = Wanted(columns, conditions[id(node)] if is_first else ())
        relations[name] = Relation(*place, needed)
        _rename(node, name)
    return relations


def _rename(node: exp.Table, name: str) -> None:
    """Another table, under the name that the statement calls it by."""
    if not node.alias:
        node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
    node.set("this", exp.to_identifier(name, quoted=True))
    node.set("db", None)


def _rename_given(tree: exp.Expr) -> dict[int, str]:
    """New names for all that WITH defines; returns the old ones, by the definition."""
    old: dict[int, str] = {}
    for number, cte in enumerate(tree.find_all(exp.CTE)):
        old[id(cte)] = cte.alias.lower()
        alias = cte.args["alias"]
        alias.set("this", exp.to_identifier(f"{GIVEN}{number}", quoted=True))
    return old


def _given_as(node: exp.Table, given: Mapping[int, str]) -> str | None:
    """The definition that the name means where it stands; None: it means a table."""
    outer = node.parent
    while outer is not None:
        found = outer.args.get("with_")
        if isinstance(found, exp.With):
            # One that is defined by itself, or later, means a table.
            before = takewhile(lambda cte: not _contains(cte, node), found.expressions)
            for cte in before:
                if given[id(cte)] == node.name.lower():
                    return str(cte.alias)
        outer = outer.parent
    return None


def _contains(outer: exp.Expr, inner: exp.Expr) -> bool:
    parent: exp.Expr | None = inner
    while parent is not None and parent is not outer:
        parent = parent.parent
    return parent is not None


def _columns(tree: exp.Expr) -> tuple[str, ...] | None:
    """Every name that could be a column's; None where all of them may matter."""
    stars = [star for star in tree.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
    columns, tables = list(tree.find_all(exp.Column)), _tables(tree)
    # A table's name in the place of a column means its whole rows.
    is_row = any(column.name.lower() in tables for column in columns)
    is_natural = any(join.method == "NATURAL" for join in tree.find_all(exp.Join))
    if stars or is_row or is_natural or any(isinstance(c.this, exp.Star) for c in columns):
        return None
    return tuple(sorted({node.name for node in tree.find_all(exp.Identifier)}))


def _tables(tree: exp.Expr) -> set[str]:
    """Names that the statement has for tables."""
    given = (exp.Table, exp.Subquery, exp.CTE, exp.Values)
    named = [name for node in tree.find_all(*given) for name in (node.name, node.alias)]
    return {str(name).lower() for name in named if name}


def _refused(why: str) -> QueryRefused:
    return QueryRefused(
        f"The statement is refused: {why}.",
        next_step="Write one SELECT on tables of this tenant, with plain functions.",
    )
