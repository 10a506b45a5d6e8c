"""Sections of neve.yaml, each a value that knows what it may hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import time
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    field_validator,
    model_validator,
)

from neve.access.asked import Sensitive
from neve.access.quotas import Quota
from neve.access.rights import EVERYTHING, Grant, Role
from neve.model.durations import parse_duration
from neve.model.errors import InputError
from neve.model.orphans import OrphanRules, check_orphan_age
from neve.model.policy import DEFAULT_TARGET_FILE_SIZE_BYTES, CompactionPolicy
from neve.model.sizes import parse_size
from neve.planning.cost import CostModel
from neve.policy import values as read


def _as_policies_read(reader: Callable[[object], Any]) -> PlainValidator:
    """A value that is written as in a policy."""

    def check(raw: object) -> Any:
        try:
            return reader(raw)
        except InputError as error:
            raise ValueError(" ".join(filter(None, (error.message, error.next_step)))) from error

    return PlainValidator(check)


def _optional_size(raw: object) -> int | None:
    return None if raw is None else parse_size(str(raw))


TimeZone = Annotated[str, _as_policies_read(read.timezone)]
Names = Annotated[tuple[str, ...], _as_policies_read(read.words)]


class Section(BaseModel):
    """One section of the file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SparkSettings(Section):
    """How the Spark session is made."""

    master: str = "local[*]"
    # It may hold credentials of storage.
    conf: dict[str, str] = Field(default_factory=dict, repr=False)
    #: Settle commits whose answer leaves open what happened; see docs/decisions/0012.
    commit_gate: bool = True

    @field_validator("conf", mode="before")
    @classmethod
    def _values_are_text(cls, value: object) -> object:
        if isinstance(value, dict):
            return {
                key: str(item).lower() if isinstance(item, bool) else str(item)
                for key, item in value.items()
            }
        return value


class StateSettings(Section):
    """Where jobs and outcomes are remembered."""

    # It may hold a password, so that it is not shown.
    url: str = Field(default="sqlite:///.neve/state.db", repr=False)
    #: How long a table stays held after its worker was killed; heartbeats renew it.
    lease_seconds: int = Field(default=10, ge=5, le=3600)
    #: What the keys on a Redis server begin with, so that several Neves may share one.
    prefix: str = Field(default="neve", pattern=r"^[A-Za-z0-9_.-]{1,64}$")

    @model_validator(mode="after")
    def _only_redis_has_prefixes(self) -> Self:
        default = type(self).model_fields["prefix"].default
        if self.prefix != default and not self.url.startswith("redis"):
            raise ValueError("a prefix goes with a url that begins with redis")
        return self


class CompactionSettings(Section):
    """Targets and thresholds for every table, unless a call says otherwise."""

    target_file_size: str | int = DEFAULT_TARGET_FILE_SIZE_BYTES
    min_file_size_ratio: float = 0.75
    min_input_files: int = 2
    delete_file_ratio: float = 0.1
    delete_record_ratio: float = 0.1
    quiet_seconds: int = 3600
    min_row_group_size: str | int = CompactionPolicy().min_row_group_bytes
    undo_window_days: float = Field(default=7.0, gt=0, le=3650)

    def policy(self, target_file_size_bytes: int | None = None) -> CompactionPolicy:
        """These settings as a policy."""
        target = target_file_size_bytes or parse_size(str(self.target_file_size))
        return CompactionPolicy(
            target_file_size_bytes=target,
            min_file_size_ratio=self.min_file_size_ratio,
            min_input_files=self.min_input_files,
            delete_file_ratio=self.delete_file_ratio,
            delete_record_ratio=self.delete_record_ratio,
            quiet_seconds=self.quiet_seconds,
            min_row_group_bytes=parse_size(str(self.min_row_group_size)),
            undo_window_seconds=int(self.undo_window_days * 86400),
        )

    def chosen(self) -> dict[str, str]:
        """Fields of the policy that are not left at their defaults, and the key of each here."""
        fields = {
            "target_file_size": "target_file_size_bytes",
            "min_row_group_size": "min_row_group_bytes",
            "undo_window_days": "undo_window_seconds",
        }
        return {fields.get(key, key): f"compaction.{key}" for key in sorted(self.model_fields_set)}


class CostSettings(Section):
    """Prices of the cost model."""

    get_usd_per_1000: float = Field(default=CostModel().get_usd_per_1000, ge=0)
    put_usd_per_1000: float = Field(default=CostModel().put_usd_per_1000, ge=0)
    compute_usd_per_gb_second: float = Field(default=CostModel().compute_usd_per_gb_second, ge=0)
    memory_gb: float = Field(default=CostModel().memory_gb, gt=0)

    def model(self) -> CostModel:
        return CostModel(**self.model_dump())


class OrphanSettings(Section):
    """When a file counts as an orphan, and how long it waits in quarantine."""

    older_than: str = "3d"
    purge_delay_hours: float = Field(default=24.0, ge=1, le=24 * 365)
    max_orphan_ratio: float = Field(default=OrphanRules().max_orphan_ratio, ge=0, le=1)

    def rules(self) -> OrphanRules:
        """These settings as rules."""
        seconds = parse_duration(self.older_than)
        check_orphan_age(seconds)
        return OrphanRules(
            older_than_seconds=seconds,
            purge_delay_seconds=int(self.purge_delay_hours * 3600),
            max_orphan_ratio=self.max_orphan_ratio,
        )

    def chosen(self) -> dict[str, str]:
        """Fields of the rules that are not left at their defaults, and the key of each here."""
        fields = {
            "older_than": "older_than_seconds",
            "purge_delay_hours": "purge_delay_seconds",
        }
        return {fields.get(key, key): f"orphans.{key}" for key in sorted(self.model_fields_set)}


class TrinoSettings(Section):
    """Where Trino is, and how far its maintenance goes. Used with `engine: trino`."""

    host: str = "localhost"
    port: int = Field(default=8080, ge=1, le=65535)
    user: str = "neve"
    password: str | None = Field(default=None, repr=False)
    http_scheme: Literal["http", "https"] = "http"
    catalog: str = "iceberg"
    #: Keys may not be called `schema` in a pydantic model, so the field has another name.
    schema_name: str = Field(default="lakehouse", alias="schema")
    file_size_threshold: str = "10MB"
    snapshot_retention: str = "7d"
    orphan_retention: str = "7d"
    #: Lowers Trino's own floor of seven days; left out, that floor protects.
    min_retention: str | None = None
    #: Ends a statement that Trino cannot finish, for example while its storage is down.
    query_max_run_time: str = "30m"


class MaintainSettings(Section):
    """How `neve maintain` goes through many tables."""

    #: Tables that are worked on at the same time.
    parallel_tables: int = Field(default=4, ge=1, le=64)


class ServerSettings(Section):
    """Where `neve serve` listens; on other addresses than this machine's with `access` alone."""

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=1, le=65535)


class SchedulerSettings(Section):
    """When tables get their turn from `neve serve`, unless a policy says otherwise."""

    enabled: bool = True
    #: For tables without a schedule of their own; without it, these wait to be asked for.
    default_schedule: Annotated[str | None, _as_policies_read(read.cron)] = None
    #: The clock of schedules and windows that name none.
    timezone: TimeZone = "UTC"


class NotificationSettings(Section):
    """Whom to tell: addresses by name, and who hears of what where no policy says it."""

    # An address holds the secrets that it takes to write there.
    channels: dict[str, str] = Field(default_factory=dict, repr=False)
    failures: Names = ()
    recoveries: Names = ()
    digest: Names = ()
    #: When the digest of the day before is sent.
    digest_at: Annotated[time, _as_policies_read(read.clock)] = time(6)
    timezone: TimeZone = "UTC"


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
    max_bytes_per_day: Annotated[int | None, _as_policies_read(_optional_size)] = None
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
