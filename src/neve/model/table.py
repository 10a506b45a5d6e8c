"""Names of tables."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from unicodedata import category

from neve.model.errors import InputError

PLAIN_PART = re.compile(r"[\w$@-]+", re.UNICODE)
QUOTED_PART = re.compile(r"`((?:[^`]|``)+)`|\"((?:[^\"]|\"\")+)\"")
#: A part as `str` of a table writes it.
WRITTEN_PART = re.compile(r"([\w$@-]+)|`((?:[^`]|``)*)`", re.UNICODE)
MAX_NAME_LENGTH = 1024
#: Controls, marks without width, surrogates and line separators: names that read alike differ.
UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


@dataclass(frozen=True, slots=True, order=True)
class TableRef:
    """One table: `catalog.namespace.table`, where a namespace may have several levels."""

    catalog: str
    namespace: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return ".".join(quote_part(part) for part in (self.catalog, *self.namespace, self.name))

    @property
    def typed(self) -> str:
        """The name as a shell takes it: backticks and dollars are its own signs."""
        return shlex.quote(str(self))

    def sibling(self, name: str) -> TableRef:
        """The table of that name in the same namespace."""
        return TableRef(self.catalog, self.namespace, name)


def quote_part(part: str) -> str:
    """The part as it is written in a table name: bare where that is unambiguous."""
    if PLAIN_PART.fullmatch(part):
        return part
    return "`" + part.replace("`", "``") + "`"


def parse_table_ref(text: str, *, default_catalog: str, catalogs: Collection[str]) -> TableRef:
    """Read `catalog.namespace.table`, or `namespace.table` in the default catalog."""
    parts = split_name(text)
    if len(parts) >= 3 and parts[0] in catalogs:
        return TableRef(parts[0], tuple(parts[1:-1]), parts[-1])
    if len(parts) == 2:
        return TableRef(default_catalog, (parts[0],), parts[1])
    known = ", ".join(sorted(catalogs)) or "none"
    if len(parts) < 2:
        raise InputError(
            f"{text!r} is not a table name.",
            next_step="Write catalog.namespace.table or namespace.table.",
        )
    raise InputError(
        f"There is no catalog named {parts[0]!r} (configured: {known}).",
        next_step="Write catalog.namespace.table with a configured catalog, "
        "or add the catalog to neve.yaml.",
    )


def split_name(text: str) -> list[str]:
    """Split a dotted name; parts in backticks or double quotes may hold any printable text."""
    if len(text) > MAX_NAME_LENGTH:
        raise InputError(f"A table name may have {MAX_NAME_LENGTH} characters at most.")
    parts: list[str] = []
    position = 0
    while True:
        part, position = _read_part(text, position)
        parts.append(part)
        if position == len(text):
            return parts
        if text[position] != ".":
            raise _bad_name(text, position)
        position += 1


def read_name(text: str) -> list[str]:
    """The parts of a name that a table was written as, whatever characters a catalog gave it."""
    parts: list[str] = []
    position = 0
    while found := WRITTEN_PART.match(text, position):
        plain, quoted = found.groups()
        parts.append(plain if plain is not None else quoted.replace("``", "`"))
        position = found.end()
        if position == len(text):
            return parts
        if text[position] != ".":
            break
        position += 1
    raise _bad_name(text, position)


def _read_part(text: str, position: int) -> tuple[str, int]:
    if plain := PLAIN_PART.match(text, position):
        return plain.group(), plain.end()
    quoted = QUOTED_PART.match(text, position)
    if quoted is None or any(category(character) in UNSEEN for character in quoted.group()):
        raise _bad_name(text, position)
    backticked, double_quoted = quoted.groups()
    if backticked is not None:
        return backticked.replace("``", "`"), quoted.end()
    return double_quoted.replace('""', '"'), quoted.end()


def _bad_name(text: str, position: int) -> InputError:
    if text[position : position + 1] in ("*", "?"):
        return InputError(
            f"{text!r} is not a table name: it has wildcards, and this takes one table.",
            next_step=f"neve tables {shlex.quote(text)} lists what it is for; "
            "neve plan and neve maintain take all of them at once.",
        )
    return InputError(
        f"{text!r} is not a table name: unexpected text at character {position + 1}.",
        next_step="Write catalog.namespace.table; put unusual names in backticks, and all of it in "
        "single quotes for a shell.",
    )
