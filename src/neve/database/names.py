"""Which table of the catalog a tenant's table is. Two tenants never name the same one.

A tenant may have any name; it becomes small letters and digits, and `_` with two hexadecimal digits
for every other byte of it. Two underscores in a row therefore end it, and what follows is the
tenant's namespace. See docs/decisions/0036-database-operations.md.
"""

from __future__ import annotations

import re
from unicodedata import category

from neve.model.errors import InputError
from neve.model.table import UNSEEN, TableRef

PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789")
#: What SQL, every catalog and every file system tell apart without quotes and without case.
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
PREFIX = "t_"
SEPARATOR = "__"
#: Catalogs take 255 characters.
MAX_TENANT_LENGTH = 160


def tenant_table(catalog: str, tenant: str, namespace: str, table: str) -> TableRef:
    """The one table that this tenant means."""
    _check_name("namespace", namespace)
    _check_name("table", table)
    return TableRef(catalog, (PREFIX + encoded_tenant(tenant) + SEPARATOR + namespace,), table)


def encoded_tenant(tenant: str) -> str:
    """The tenant as a part of a name; different tenants give different texts, whatever the case."""
    if not tenant or any(category(character) in UNSEEN for character in tenant):
        raise InputError("tenant_id must be a text whose characters can all be seen.")
    encoded = "".join(chr(b) if b in PLAIN else f"_{b:02x}" for b in tenant.encode())
    if len(encoded) > MAX_TENANT_LENGTH:
        raise InputError(f"tenant_id is too long: it takes {len(encoded)} characters to write.")
    return encoded


def tenant_of(table: TableRef) -> str | None:
    """The tenant whose table it is; None where it was not made here."""
    encoded, separator, _ = ".".join(table.namespace).removeprefix(PREFIX).partition(SEPARATOR)
    if not separator or len(table.namespace) != 1 or not table.namespace[0].startswith(PREFIX):
        return None
    parts = re.fullmatch(r"(?:[a-z0-9]|_[0-9a-f]{2})+", encoded)
    raw = re.sub(r"_([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), encoded)
    try:
        return raw.encode("latin-1").decode() if parts else None
    except UnicodeDecodeError:
        return None


def is_name(text: str) -> bool:
    return NAME.fullmatch(text) is not None


def _check_name(what: str, text: str) -> None:
    if not is_name(text):
        raise InputError(
            f"{what} {text[:80]!r} cannot be used as a name.",
            next_step="Begin with a small letter, then small letters, digits and underscores, "
            "64 at most.",
        )
