"""The section `access` of neve.yaml: who may ask a server for what."""

from __future__ import annotations

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from neve.access.asked import Sensitive
from neve.access.quotas import Quota
from neve.access.rights import EVERYTHING, Grant, Role
from neve.model.errors import InputError
from neve.model.sizes import parse_size
from neve.sections import Names, Section, as_policies_read


def _optional_size(raw: object) -> int | None:
    return None if raw is None else parse_size(str(raw))


class GrantSettings(Section):
    """A role in some namespaces."""

    role: Role
    #: Patterns of `catalog.namespace`.
    tables: Names = (EVERYTHING,)
    purge: bool = False
    policies: bool = False

    def grants(self) -> tuple[Grant, ...]:
        said = {"purge": self.purge, "policies": self.policies}
        return tuple(Grant(self.role, pattern, **said) for pattern in self.tables)

    @model_validator(mode="after")
    def _can_be_granted(self) -> Self:
        try:
            self.grants()
        except InputError as error:
            raise ValueError(error.message) from error
        return self


#: Who signs with a public key's other half; a shared secret would let every reader of it sign.
SignatureAlgorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"
]


class OidcSettings(Section):
    """Whose tokens are believed, and what their holders may do."""

    issuer: str = Field(min_length=1)
    audience: str = Field(min_length=1)
    #: Where the issuer's keys are; as its own description says where it is left out.
    jwks_url: str | None = None
    algorithms: tuple[SignatureAlgorithm, ...] = Field(default=("RS256", "ES256"), min_length=1)
    leeway_seconds: int = Field(default=30, ge=0, le=300)
    name_claim: str = "sub"
    #: The claim that names the tenant; without it, all tokens are of the tenant without a name.
    tenant_claim: str | None = None
    #: The claim that holds a list of roles or groups, and what each of them may do.
    roles_claim: str = "roles"
    roles: dict[str, tuple[GrantSettings, ...]] = Field(default_factory=dict)
    #: Roles whose holders act for all tenants.
    all_tenants_roles: Names = ()

    @field_validator("issuer", "jwks_url")
    @classmethod
    def _is_safe(cls, value: str | None) -> str | None:
        if value is not None and not is_safe_address(value):
            raise ValueError("it must begin with https://, or be on this machine")
        return value


def is_safe_address(url: str) -> bool:
    """Whether what is read there can be believed: over TLS, or without leaving this machine."""
    parts = urlsplit(url)
    if parts.username is not None or not parts.hostname:
        return False
    if parts.scheme == "https":
        return True
    return parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")


class QuotaSettings(Section):
    """How much a tenant may ask for."""

    max_open_jobs: int | None = Field(default=None, ge=0)
    max_bytes_per_day: Annotated[int | None, as_policies_read(_optional_size)] = None
    max_usd_per_day: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    def quota(self) -> Quota:
        return Quota(**self.model_dump())


class AccessSettings(Section):
    """Who may ask a server for what. Off, it is for this machine alone."""

    enabled: bool = False
    oidc: OidcSettings | None = None
    #: What a second person must agree to.
    approval: tuple[Sensitive, ...] = ()
    #: By tenant; `*` is for those that have none of their own.
    quotas: dict[str, QuotaSettings] = Field(default_factory=dict)
    #: Of one caller, on one server.
    requests_per_minute: int = Field(default=600, ge=1, le=1_000_000)
    #: Whether the audit log is written; where nothing is said, if access is asked for.
    audit: bool | None = None
    #: Seals the audit log, so that nobody without it can change a row; it belongs into a variable.
    audit_key: str | None = Field(default=None, min_length=16, repr=False)

    @model_validator(mode="after")
    def _knows_who_asks(self) -> Self:
        if self.approval and not self.enabled:
            raise ValueError("a second person can agree only where access is enabled")
        return self

    @property
    def is_audited(self) -> bool:
        return self.enabled if self.audit is None else self.audit

    def quota(self, tenant: str) -> Quota:
        found = self.quotas.get(tenant) or self.quotas.get(EVERYTHING)
        return found.quota() if found else Quota()
