"""The one door to a table's policy: every verb asks here, whoever called it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from neve.model.facts import TableFacts
from neve.model.operation import Operation
from neve.model.policies import EffectivePolicy, PolicyBook
from neve.model.stored_policy import StoredPolicy
from neve.model.table import TableRef
from neve.policy.effective import DEFAULT
from neve.policy.resolve import resolve
from neve.service.stored_policies import rule_of

#: Operations that remove something for good run only where somebody asked for it.
DELETING = frozenset({Operation.EXPIRE_SNAPSHOTS, Operation.REMOVE_ORPHAN_FILES})


@dataclass(frozen=True, slots=True)
class Policies:
    """What is configured about tables, asked for one table at a time."""

    book: PolicyBook = field(default_factory=PolicyBook)
    #: What was set while Neve runs, by whatever process that shares the state.
    stored: Callable[[], Sequence[StoredPolicy]] = tuple

    @property
    def configured(self) -> Policies:
        """Those of the file alone, for whoever only looks while the state is away."""
        return Policies(self.book)

    @property
    def current(self) -> PolicyBook:
        """The book with the policies of the state after those of the file."""
        found = self.stored()
        if not found:
            return self.book
        return replace(self.book, rules=(*self.book.rules, *map(rule_of, found)))

    @property
    def version(self) -> object:
        """Another one whenever a policy of the state has changed."""
        return [(policy.name, policy.revision) for policy in self.stored()]

    def effective(
        self,
        facts: TableFacts,
        overrides: Mapping[str, object] | None = None,
        *,
        apply: bool = False,
    ) -> EffectivePolicy:
        """What all layers together say; overrides are what the caller said, the strongest layer.

        With `apply`, what deletes for good runs also where no layer says whether to.
        """
        said, book = dict(overrides or {}), self.current
        policy = resolve(book, facts.table, facts.properties, said)
        if not apply:
            return policy
        # What a policy turned off stays off: --apply speaks only where nobody spoke.
        keys = [f"{operation}.enabled" for operation in sorted(DELETING)]
        unsaid = [key for key in keys if policy.setting(key).source == DEFAULT]
        enabled: dict[str, object] = dict.fromkeys(unsaid, True)
        return resolve(book, facts.table, facts.properties, {**said, **enabled})

    def by_name(self, table: TableRef) -> EffectivePolicy:
        """What the configuration says of a table whose properties nobody can tell."""
        return resolve(self.current, table, {})
