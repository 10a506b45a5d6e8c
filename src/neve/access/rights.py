"""What a caller may be allowed to do, by role and for which tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from neve.model.errors import InputError
from neve.model.table import TableRef

EVERYTHING = "*"
PATTERN = re.compile(r"[\w$@*?-]+(\.[\w$@*?-]+)*", re.UNICODE)
MAX_PATTERN_LENGTH = 1024


class Right(StrEnum):
    """What a request needs."""

    #: Nobody is asked who they are.
    OPEN = "open"
    VIEW = "view"
    #: Run, stop and repeat jobs, make plans, pause schedules.
    OPERATE = "operate"
    #: Delete for good: no role has it by itself.
    PURGE = "purge"
    #: Change policies: no role has it by itself.
    POLICIES = "policies"
    #: Look at the server as a whole: figures of all tenants, catalogs, the whole audit log.
    SERVICE = "service"


class Role(StrEnum):
    """Rights that go together."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset((Right.VIEW,)),
    Role.OPERATOR: frozenset((Right.VIEW, Right.OPERATE)),
    Role.ADMIN: frozenset((Right.VIEW, Right.OPERATE, Right.SERVICE)),
}
#: Rights that are not about one table: whoever uses them has them for all tables and tenants.
EVERYWHERE = frozenset((Right.POLICIES, Right.SERVICE))


@dataclass(frozen=True, slots=True)
class Grant:
    """A role in the namespaces that a pattern is for, and in those below them."""

    role: Role
    #: `catalog.namespace`, each part a glob of its own; `*` alone is for everything.
    tables: str = EVERYTHING
    purge: bool = False
    policies: bool = False

    def __post_init__(self) -> None:
        if len(self.tables) > MAX_PATTERN_LENGTH or not PATTERN.fullmatch(self.tables):
            raise InputError(
                f"{self.tables[:100]!r} is not a pattern of namespaces.",
                next_step="Write catalog.namespace, with * in a part for any text, or * alone.",
            )
        if self.purge and self.role is Role.VIEWER:
            raise InputError(
                "A viewer cannot have the right to purge.", next_step="Give the role operator."
            )

    @property
    def is_for_everything(self) -> bool:
        return self.tables == EVERYTHING

    def covers(self, catalog: str, namespace: tuple[str, ...]) -> bool:
        """Whether the pattern is for a namespace or for one above it, part by part."""
        if self.is_for_everything:
            return True
        parts, names = self.tables.split("."), (catalog, *namespace)
        # A pattern of a catalog alone is for all of it.
        if len(parts) > len(names):
            return False
        return all(fnmatchcase(name, part) for part, name in zip(parts, names, strict=False))

    def may_be_in(self, catalog: str) -> bool:
        """Whether it may be for something in the catalog."""
        return fnmatchcase(catalog, self.tables.partition(".")[0])

    def has(self, right: Right) -> bool:
        if right is Right.PURGE:
            return self.purge
        if right is Right.POLICIES:
            return self.policies
        return right is Right.OPEN or right in RIGHTS[self.role]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks."""

    #: As jobs and the audit log name it.
    name: str
    grants: tuple[Grant, ...] = ()
    #: Whose jobs it sees and asks for; "" is one of them.
    tenant: str = ""
    all_tenants: bool = False
    #: Whose caller it is: two keys of one person are one, where a second person must agree.
    person: str = ""
    #: Whether somebody made sure of it.
    is_known: bool = True

    def may(self, right: Right, table: TableRef) -> bool:
        """Whether it has the right on a table. Everything is refused that no grant allows."""
        return any(g.has(right) and g.covers(table.catalog, table.namespace) for g in self.grants)

    def sees(self, table: TableRef) -> bool:
        return self.may(Right.VIEW, table)

    def has_somewhere(self, right: Right) -> bool:
        """Whether there may be a table on which it has the right."""
        if right in EVERYWHERE:
            return self.has_everywhere(right)
        return any(grant.has(right) for grant in self.grants)

    def has_everywhere(self, right: Right) -> bool:
        """Whether it has the right on all tables of all tenants."""
        everything = any(grant.has(right) and grant.is_for_everything for grant in self.grants)
        return everything and self.all_tenants

    def is_of(self, tenant: str) -> bool:
        """Whether it acts for the tenant."""
        return self.all_tenants or tenant == self.tenant

    @property
    def share(self) -> str:
        """Under which name it takes of what all callers use; who acts for all tenants is one."""
        return self.name if self.all_tenants else self.tenant

    def sees_job(self, table: TableRef, tenant: str) -> bool:
        """A job of its tenant, or of nobody in particular, on a table that it sees."""
        return self.sees(table) and (tenant == "" or self.is_of(tenant))


#: Whoever reaches a server that asks nobody who they are.
LOCAL = Caller(
    "",
    (Grant(Role.ADMIN, EVERYTHING, purge=True, policies=True),),
    all_tenants=True,
    is_known=False,
)
#: Whoever has not said who they are, on a server that asks.
NOBODY = Caller("nobody", is_known=False)
