"""The part of the façade about who may do what: keys, tokens, approvals, the audit log."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from neve.access.approvals import Approval, ApprovalState, check_decision, request_digest
from neve.access.chain import AuditEntry, AuditHead, AuditRow
from neve.access.keys import ApiKey, caller_of, digest_of, new_secret, prefix_of
from neve.access.quotas import Quota
from neve.access.rights import Caller, Grant
from neve.access_settings import AccessSettings
from neve.app import App, make_trail
from neve.looking import Looking
from neve.model.errors import EnvironmentProblem, InputError, NotAuthenticated
from neve.model.table import TableRef
from neve.secrets import hide_secrets
from neve.service.quotas import held_room
from neve.service.services import Services

if TYPE_CHECKING:
    from neve.identity.tokens import Tokens


class Access:
    """Who may ask, who agreed to what, and what was written down about it."""

    def __init__(self, app: App, services: Services) -> None:
        self._app, self._services, self._store = app, services, app.store
        self._trail = make_trail(app.settings, app.store)

    @property
    def settings(self) -> AccessSettings:
        return self._app.settings.access

    def hide(self, text: str) -> str:
        """The text without what nobody may know."""
        return hide_secrets(text, self._secrets)

    @cached_property
    def _secrets(self) -> list[str]:
        return self._app.settings.secrets()

    # Keys and tokens

    def authenticate(self, sent: str) -> Caller:
        """Whose key or token this is, or NotAuthenticated."""
        if prefix := prefix_of(sent):
            key = self._store.api_keys.key(prefix)
            if caller := caller_of(sent, key, self._services.clock()):
                return caller
        elif sent.count(".") == 2 and self.settings.oidc is not None:
            return self._tokens.caller(sent)
        raise NotAuthenticated(
            "The key or token is not accepted.",
            next_step="Send Authorization: Bearer with a key that is neither revoked nor expired.",
        )

    @cached_property
    def _tokens(self) -> Tokens:
        assert self.settings.oidc is not None
        try:
            from neve.identity.tokens import Tokens
        except ImportError as error:
            raise EnvironmentProblem(
                f"access.oidc needs the package {error.name}, which is not installed.",
                next_step="pip install 'neve[server]'",
            ) from error
        return Tokens(self.settings.oidc, self._services.clock)

    def create_key(
        self,
        name: str,
        grants: Sequence[Grant],
        *,
        tenant: str = "",
        all_tenants: bool = False,
        owner: str = "",
        expires_in_seconds: float | None = None,
        by: str = "",
    ) -> tuple[ApiKey, str]:
        """A new key, and the text that is shown this once."""
        for text in (name, tenant or name, owner or name):
            _check_name(text)
        if tenant and all_tenants:
            raise InputError("A key is for one tenant or for all of them, not both.")
        if not grants:
            raise InputError("A key needs a role.", next_step="Give --role and --tables.")
        now = self._services.clock()
        # A clock or an interval out of range is for whoever asked to hear of.
        expires_at = None if expires_in_seconds is None else _later(now, expires_in_seconds)
        while True:
            prefix, secret = new_secret()
            key = ApiKey(
                prefix,
                digest_of(secret),
                name,
                tuple(grants),
                now,
                tenant,
                all_tenants,
                owner,
                expires_at,
            )
            if self._store.api_keys.add(key):
                break
        self.record(by, "create key", "done", detail=f"{prefix} {name}", tenant=tenant)
        return key, secret

    def all_keys(self) -> list[ApiKey]:
        """All keys, revoked and expired ones too; none of them with its secret."""
        return self._store.api_keys.all()

    def revoke_key(self, prefix: str, *, by: str = "") -> None:
        """Let a key be refused from now on."""
        key = self._store.api_keys.key(prefix)
        if key is None:
            raise InputError(f"There is no key {prefix!r}.", next_step="neve keys list")
        if not self._store.api_keys.revoke(prefix, self._services.clock()):
            raise InputError(f"The key {prefix} is revoked already.", next_step="neve keys list")
        self.record(by, "revoke key", "done", detail=f"{prefix} {key.name}", tenant=key.tenant)

    def person_of(self, name: str) -> str:
        """Whose caller it was that a job or plan names."""
        kind, _, rest = name.partition(":")
        if kind == "user":
            return rest
        key = self._store.api_keys.key(rest.partition(":")[0]) if kind == "key" else None
        return key.caller.person if key is not None else name

    # The audit log

    def record(
        self,
        who: str,
        action: str,
        outcome: str,
        *,
        tenant: str = "",
        table: str = "",
        job_id: str = "",
        detail: str = "",
    ) -> None:
        """Append a row, where the configuration asks for a log."""
        if self.settings.is_audited:
            at = self._services.clock()
            self._trail.record(
                AuditEntry(at, who, action, outcome, tenant, table, job_id, detail=detail)
            )

    def audit_rows(self, before: int | None = None, limit: int = 100) -> list[AuditRow]:
        """Rows of the log, newest first, from below a number on."""
        return self._store.audit.newest(before, limit)

    def verify_audit(self, noted: Iterable[AuditHead] = ()) -> tuple[AuditHead, str | None]:
        """Where the log ends, and what is wrong with it: None where all rows fit."""
        return self._trail.verify(noted)

    # Approvals

    def ask_approval(
        self,
        caller: Caller,
        tenant: str,
        table: TableRef,
        operation: str,
        arguments: Mapping[str, object],
        state: tuple[str, ...],
    ) -> Approval:
        """The approval of exactly this request on this state, asked for now or before."""
        return self._store.approvals.ask(
            Approval(
                str(uuid.uuid4()),
                request_digest(caller, tenant, table, operation, arguments, state),
                table,
                operation,
                json.dumps(dict(arguments), sort_keys=True),
                caller.name,
                caller.person,
                tenant,
                self._services.clock(),
            )
        )

    def use_approval(self, approval: Approval) -> bool:
        """Use it up, if somebody agreed; True once."""
        states = (ApprovalState.APPROVED, ApprovalState.USED)
        is_valid = approval.is_valid(self._services.clock())
        return is_valid and self._store.approvals.move(approval.approval_id, *states)

    def give_back_approval(self, approval: Approval) -> None:
        """Let it be used after all: what it was for did not come to be."""
        states = (ApprovalState.USED, ApprovalState.APPROVED)
        self._store.approvals.move(approval.approval_id, *states)

    def approval(self, approval_id: str) -> Approval | None:
        return self._store.approvals.approval(approval_id)

    def approvals(self, limit: int = 100) -> list[Approval]:
        """What a second person was asked to agree to, newest first."""
        return self._store.approvals.newest(limit)

    def decide(self, approval: Approval, caller: Caller, *, agrees: bool) -> Approval:
        """Agree or refuse, once, as somebody else than who asked."""
        check_decision(approval, caller, self._services.clock())
        state = ApprovalState.APPROVED if agrees else ApprovalState.REJECTED
        moved = self._store.approvals.move(
            approval.approval_id, ApprovalState.PENDING, state, caller.name
        )
        found = self._store.approvals.approval(approval.approval_id) or approval
        if not moved:
            check_decision(found, caller, self._services.clock())
        return found

    # Quotas

    def quota(self, tenant: str) -> Quota:
        return self.settings.quota(tenant)

    def room(self, tenant: str, jobs: int, key: str = "") -> AbstractContextManager[str]:
        """Room for so many more jobs, or TooMuch where the tenant may not have them.

        Requests with the same key are given the same room.
        """
        now = self._services.clock()
        return held_room(self.quota(tenant), self._store, tenant, now, jobs, key)


class Accessing(Looking):
    """What a configured Neve knows about who may ask."""

    @cached_property
    def access(self) -> Access:
        """Keys, approvals and the audit log."""
        return Access(self._app, self._services)


def _later(now: datetime, seconds: float) -> datetime:
    try:
        return now + timedelta(seconds=seconds)
    except OverflowError:
        raise InputError(
            "The key would be good for longer than time is counted.",
            next_step="Give a shorter time, for example 90d.",
        ) from None


def _check_name(text: str) -> None:
    if not (text.strip() and text.isprintable() and len(text) <= 200):
        raise InputError(
            "A name has 1 to 200 printable characters.",
            next_step="Give a name that says who uses the key.",
        )
