"""Who may do what with a table, and which tables there are for somebody."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from neve.access.rights import Caller, Right
from neve.guarding.notes import Notes
from neve.looking import Overrides, Table
from neve.model.errors import AccessDenied, InputError, TableNotFound
from neve.model.expiry import Consumer
from neve.model.facts import TableFacts
from neve.model.found import Found
from neve.model.policies import EffectivePolicy, PolicyRule
from neve.model.stored_policy import StoredPolicy
from neve.model.table import TableRef, split_name
from neve.neve import Neve


class GuardedTables(Neve):
    """Tables and policies as one caller sees them."""

    def __init__(
        self, neve: Neve, caller: Caller, right: Right, notes: Notes | None = None
    ) -> None:
        # The same application and listeners: only what may be asked of it differs.
        self.__dict__.update(neve.__dict__)
        self._whole = neve
        self.caller, self._right = caller, right
        self._notes = notes or Notes()

    def table(self, name: Table) -> TableRef:
        """The table that a name means, if the caller has the right of this request on it."""
        if not self._sees_all and self._is_nowhere(str(name)):
            # Which catalogs there are is for whoever looks at all of them.
            raise _no_table(str(name), str(name).partition(".")[0])
        ref = super().table(name)
        self._notes.table = str(ref)
        self._allow(ref, (self._right,))
        return ref

    def acting_tenant(self, tenant: str) -> str:
        """In whose name a request acts: the caller's own tenant where it does not say."""
        if not tenant and not self.caller.all_tenants:
            return self.caller.tenant
        if not self.caller.is_of(tenant):
            raise AccessDenied(
                f"You may not act for the tenant {tenant!r}.",
                next_step="Leave the tenant out, or use a key of that tenant.",
            )
        return tenant

    def acting_as(self, said: str) -> str:
        """Who a request is by: whoever sent it, once somebody made sure of that."""
        if not self.caller.is_known:
            return said
        if said not in ("", self.caller.name, self.caller.person):
            raise AccessDenied(
                f"You are {self.caller.name}, and cannot ask as {said!r}.",
                next_step="Leave the name out.",
            )
        return self.caller.name

    def _allow(self, table: TableRef, rights: Collection[Right]) -> None:
        if not self.caller.sees(table):
            # In the words for a table that is not there: nobody learns that it is.
            raise _no_table(str(table), table.catalog)
        for right in sorted(rights):
            if not self.caller.may(right, table):
                raise _denied(right, f"on table {table}")

    def _everywhere(self, right: Right) -> None:
        if not self.caller.has_everywhere(right):
            raise _denied(right, "for all tables and tenants")

    @property
    def _sees_all(self) -> bool:
        return self.caller.has_everywhere(Right.VIEW)

    def find(self, *patterns: str) -> Found:
        """Tables that the caller sees, and troubles of catalogs that it has to do with."""
        return self._seen_of(super().find, patterns)

    def maintainable(self, *patterns: str) -> Found:
        """The same of tables that `maintain` would take."""
        return self._seen_of(super().maintainable, patterns)

    def _seen_of(self, find: Callable[..., Found], patterns: Sequence[str]) -> Found:
        if self._sees_all:
            return find(*patterns)
        # In a catalog that is not there, there is as little as in one of others.
        wanted = [pattern for pattern in patterns if not self._is_nowhere(pattern)]
        found = find(*wanted) if wanted or not patterns else Found([])
        problems = {n: e for n, e in found.problems.items() if self._has_to_do_with(n)}
        return Found([table for table in found.tables if self.caller.sees(table)], problems)

    def _is_nowhere(self, name: str) -> bool:
        """Whether it names a catalog that is not configured."""
        try:
            parts = split_name(name)
        except InputError:
            return False
        return len(parts) > 2 and parts[0] not in self._app.catalog_names

    def policy(self, table: Table, overrides: Overrides = None) -> EffectivePolicy:
        """The table's policy; of policies that are not for it, a tenant hears nothing."""
        found = super().policy(table, overrides)
        if self._sees_all:
            return found
        return replace(found, matches=tuple(match for match in found.matches if match.matches))

    def policies(self) -> list[tuple[PolicyRule, Callable[[TableFacts], bool]]]:
        """The configured policies, to whoever looks at all tables."""
        return super().policies() if self._sees_all else []

    def stored_policies(self) -> list[StoredPolicy]:
        """Policies that were set while Neve runs, to whoever looks at all tables."""
        return super().stored_policies() if self._sees_all else []

    def policies_and_documents(self) -> list[tuple[PolicyRule, StoredPolicy | None]]:
        """All policies with their documents, to whoever looks at all tables."""
        return super().policies_and_documents() if self._sees_all else []

    def set_policy(
        self,
        name: str,
        document: Mapping[str, Any],
        *,
        expected: int | None,
        updated_by: str = "",
    ) -> tuple[PolicyRule, StoredPolicy] | None:
        """Set a policy, with the right to do so for all tables: it may be for any of them."""
        self._everywhere(Right.POLICIES)
        who = self.acting_as(updated_by)
        return super().set_policy(name, document, expected=expected, updated_by=who)

    def remove_policy(self, name: str, *, expected: int) -> bool:
        """Forget a policy, with the right to change them."""
        self._everywhere(Right.POLICIES)
        return super().remove_policy(name, expected=expected)

    def consumers(self) -> list[Consumer]:
        """Readers of tables that the caller sees."""
        return [item for item in super().consumers() if self.caller.sees(item.table)]

    def _has_to_do_with(self, catalog: str) -> bool:
        return any(grant.may_be_in(catalog) for grant in self.caller.grants)


def _no_table(name: str, catalog: str) -> TableNotFound:
    return TableNotFound(
        f"There is no table {name}.", next_step=f"List tables: neve tables '{catalog}.*'"
    )


def _denied(right: Right, where: str) -> AccessDenied:
    return AccessDenied(
        f"You lack the right to {_VERBS[right]} {where}.",
        next_step="Ask whoever gives out keys and roles for it.",
    )


_VERBS: Mapping[Right, str] = {
    Right.OPEN: "look",
    Right.VIEW: "look",
    Right.OPERATE: "operate",
    Right.PURGE: "delete for good",
    Right.POLICIES: "change policies",
    Right.SERVICE: "look at the server",
}
