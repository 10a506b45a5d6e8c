"""Configuration: neve.yaml, the environment, then built-in defaults.

The file is found by `--config`, by NEVE_CONFIG, or as ./neve.yaml. Values may hold ${VAR},
${VAR:-default} and ${VAR:?message}. NEVE_SPARK__MASTER and the like override single values.
Catalogs that the file does not name are looked up in ~/.pyiceberg.yaml.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from neve.model.durations import parse_duration
from neve.model.errors import ConfigError, NeveError
from neve.model.orphans import OrphanRules, check_orphan_age
from neve.model.policies import PolicyBook, PolicyRule
from neve.model.policy import DEFAULT_TARGET_FILE_SIZE_BYTES, CompactionPolicy
from neve.model.sizes import parse_size
from neve.planning.cost import CostModel
from neve.planning.yaml_documents import BadDocument, parse_yaml, read_bounded
from neve.policy.documents import read_policies
from neve.policy.resolve import general_settings
from neve.secrets import secrets_of

VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?:(?P<kind>:-|:\?)(?P<rest>[^}]*))?\}")
DEFAULT_CATALOG = "lake"
EMBEDDED_CATALOG = {
    "type": "sql",
    "uri": "sqlite:///.neve/catalog.db",
    "warehouse": ".neve/warehouse",
}


class Section(BaseModel):
    """One section of the file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SparkSettings(Section):
    """How the Spark session is made."""

    master: str = "local[*]"
    conf: dict[str, str] = Field(default_factory=dict)
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
    lease_seconds: int = Field(default=60, ge=5, le=3600)
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


class Settings(BaseSettings):
    """All of neve.yaml."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, env_prefix="NEVE_", env_nested_delimiter="__"
    )

    # Catalogs may hold secrets, so they are not shown.
    catalogs: dict[str, dict[str, str]] = Field(default_factory=dict, repr=False)
    default_catalog: str | None = None
    #: Who runs `neve maintain`.
    engine: Literal["spark", "trino"] = "spark"
    trino: TrinoSettings = TrinoSettings()
    maintain: MaintainSettings = MaintainSettings()
    spark: SparkSettings = SparkSettings()
    state: StateSettings = StateSettings()
    compaction: CompactionSettings = CompactionSettings()
    orphans: OrphanSettings = OrphanSettings()
    cost: CostSettings = CostSettings()
    policies: Annotated[tuple[PolicyRule, ...], PlainValidator(read_policies)] = ()
    #: Whether table properties of Apache Amoro count, below those of Neve.
    import_amoro: bool = False

    def secrets(self) -> list[str]:
        """Values that must not appear in any line of a log."""
        own = {"password": self.trino.password or "", "url": self.state.url}
        return secrets_of({**self.catalogs, "spark": self.spark.conf, "": own})

    def policy_book(self, default_catalog: str | None = None) -> PolicyBook:
        """All that is configured about what tables should get."""
        compaction, orphans = self.compaction, self.orphans
        general = {
            **general_settings("compaction", compaction.policy(), compaction.chosen()),
            **general_settings("remove_orphan_files", orphans.rules(), orphans.chosen()),
        }
        catalog = default_catalog or self.default_catalog or next(iter(self.catalogs), None)
        return PolicyBook(self.policies, general, catalog, self.import_amoro)

    @field_validator("catalogs", mode="before")
    @classmethod
    def _properties_are_text(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {
            name: {
                key: str(item).lower() if isinstance(item, bool) else str(item)
                for key, item in properties.items()
            }
            if isinstance(properties, dict)
            else properties
            for name, properties in value.items()
        }

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings


def find_config(explicit: str | None, environ: Mapping[str, str], folder: Path) -> Path | None:
    """The configuration file to use, or None for the built-in defaults."""
    named = explicit or environ.get("NEVE_CONFIG")
    if named:
        path = Path(named).expanduser()
        if not path.is_file():
            raise ConfigError(
                f"The configuration file {named} does not exist.",
                next_step="Give --config an existing file, or unset NEVE_CONFIG.",
            )
        return path
    default = folder / "neve.yaml"
    return default if default.is_file() else None


def load_settings(
    explicit: str | None = None, *, environ: Mapping[str, str] | None = None
) -> Settings:
    """Read the configuration; relative paths in it mean relative to the file's folder."""
    environ = os.environ if environ is None else environ
    path = find_config(explicit, environ, Path.cwd())
    values = _read_yaml(path, environ) if path else {}
    folder = path.resolve().parent if path else Path.cwd()
    values.setdefault("catalogs", {DEFAULT_CATALOG: dict(EMBEDDED_CATALOG)} if not path else {})
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise _explain(error, path) from None
    except SettingsError as error:
        raise ConfigError(
            f"An environment variable cannot be used: {error}.",
            next_step="Set single values, for example NEVE_SPARK__MASTER.",
        ) from error
    return settings.model_copy(
        update={
            "catalogs": {
                name: _absolute(properties, folder)
                for name, properties in settings.catalogs.items()
            },
            "state": settings.state.model_copy(
                update={"url": absolute_sqlite_url(settings.state.url, folder)}
            ),
        }
    )


def _read_yaml(path: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    try:
        values = parse_yaml(read_bounded(path))
    except BadDocument as error:
        raise ConfigError(
            f"The configuration file {path} {error}.",
            next_step="Check indentation, colons, quotes and aliases there.",
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The configuration file {path} cannot be read: {error}.") from error
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"The configuration file {path} must hold a mapping at its top.")
    expanded = expand_variables(values, environ)
    assert isinstance(expanded, dict)
    return {str(key): value for key, value in expanded.items()}


def expand_variables(value: object, environ: Mapping[str, str]) -> object:
    """Replace ${VAR}, ${VAR:-default} and ${VAR:?message} in every text of the value.

    This happens after YAML was read, so that a variable's text cannot change the structure.
    """
    if isinstance(value, dict):
        return {key: expand_variables(item, environ) for key, item in value.items()}
    if isinstance(value, list):
        return [expand_variables(item, environ) for item in value]
    if not isinstance(value, str):
        return value

    def replace(found: re.Match[str]) -> str:
        name, kind, rest = found.group("name", "kind", "rest")
        # As in shells, an empty variable counts as missing where a default or message is given.
        if environ.get(name) or (name in environ and kind is None):
            return environ[name]
        if kind == ":-":
            return str(rest)
        why = f": {rest}" if kind == ":?" and rest else ""
        raise ConfigError(
            f"The configuration needs the environment variable {name}{why}.",
            next_step=f"Set {name}, or write ${{{name}:-default}} in the file.",
        )

    return VARIABLE.sub(replace, value)


def _explain(error: ValidationError, path: Path | None) -> NeveError:
    """One sentence about the first thing that is wrong."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    source = f"The configuration file {path}" if path else "The configuration"
    if first["type"] == "extra_forbidden":
        known = ", ".join(sorted(_known_keys(first["loc"])))
        return ConfigError(
            f"{source} has an unknown key: {key}.", next_step=f"Known keys there: {known}."
        )
    return ConfigError(f"{source} is wrong at {key}: {first['msg']}.")


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    fields = Settings.model_fields
    for part in location[:-1]:
        annotation = fields[str(part)].annotation if str(part) in fields else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        fields = annotation.model_fields
    return list(fields)


def _absolute(properties: dict[str, str], folder: Path) -> dict[str, str]:
    result = dict(properties)
    if "uri" in result:
        result["uri"] = absolute_sqlite_url(result["uri"], folder)
    warehouse = result.get("warehouse")
    # Only a SQL catalog's warehouse is a location; elsewhere it may be the name of one.
    if warehouse and result.get("type") == "sql" and "://" not in warehouse:
        result["warehouse"] = _absolute_path(warehouse, folder).as_uri()
    return result


def absolute_sqlite_url(url: str, folder: Path) -> str:
    """`sqlite:///relative` as an absolute URL; every other URL as it is."""
    prefix = "sqlite:///"
    if not url.startswith(prefix):
        return url
    path, _, query = url.removeprefix(prefix).partition("?")
    return f"{prefix}{_absolute_path(path, folder)}" + (f"?{query}" if query else "")


def _absolute_path(path: str, folder: Path) -> Path:
    try:
        return (folder / Path(path).expanduser()).resolve()
    except (RuntimeError, ValueError) as error:
        raise ConfigError(f"The path {path} cannot be used: {error}.") from error
