"""Configuration: neve.yaml, the environment, then built-in defaults.

The file is found by `--config`, by NEVE_CONFIG, or as ./neve.yaml. Values may hold ${VAR},
${VAR:-default}, ${VAR:?message} and ${ENV:VAR}. NEVE_SPARK__MASTER and the like override single
values. What a compaction service's file says in other words is translated (`neve.config`).
Catalogs that the file does not name are looked up in ~/.pyiceberg.yaml.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    Field,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from neve.access_settings import AccessSettings
from neve.config.service_file import TRANSLATED, TRANSLATED_IN, translated
from neve.config.variables import expand_variables
from neve.model.errors import ConfigError, NeveError
from neve.model.policies import PolicyBook, PolicyRule, Setting
from neve.planning.locations import CUT_OFF
from neve.planning.yaml_documents import BadDocument, parse_yaml, read_bounded, without_comments
from neve.policy.documents import read_policies
from neve.policy.resolve import chosen_setting, general_settings
from neve.policy.values import suggest
from neve.secrets import remember_secrets, secrets_of, secrets_of_addresses
from neve.sections import (
    CompactionSettings,
    CostSettings,
    DatabaseSettings,
    MaintainSettings,
    NotificationSettings,
    OrphanSettings,
    SchedulerSettings,
    ServerSettings,
    SetAsideSettings,
    SparkSettings,
    StateSettings,
    TrinoSettings,
)

__all__ = [
    "AccessSettings",
    "CompactionSettings",
    "CostSettings",
    "DatabaseSettings",
    "MaintainSettings",
    "NotificationSettings",
    "OrphanSettings",
    "SchedulerSettings",
    "ServerSettings",
    "SetAsideSettings",
    "Settings",
    "SparkSettings",
    "StateSettings",
    "TrinoSettings",
    "expand_variables",
    "load_settings",
]

DEFAULT_CATALOG = "lake"
EMBEDDED_CATALOG = {
    "type": "sql",
    "uri": "sqlite:///.neve/catalog.db",
    "warehouse": ".neve/warehouse",
}


class Settings(BaseSettings):
    """All of neve.yaml."""

    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, env_prefix="NEVE_", env_nested_delimiter="__"
    )

    #: By name, each with the properties that pyiceberg takes; they may hold secrets.
    catalogs: dict[str, dict[str, str]] = Field(default_factory=dict, repr=False)
    #: The catalog of names without one; the first of them where nothing is said.
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
    server: ServerSettings = ServerSettings()
    access: AccessSettings = AccessSettings()
    scheduler: SchedulerSettings = SchedulerSettings()
    set_aside: SetAsideSettings = SetAsideSettings()
    notifications: NotificationSettings = NotificationSettings()
    database: DatabaseSettings = DatabaseSettings()
    #: What tables should get, and when.
    policies: Annotated[tuple[PolicyRule, ...], PlainValidator(read_policies)] = ()
    #: Whether table properties of Apache Amoro count, below those of Neve.
    import_amoro: bool = False
    #: The file that it was read from, if any.
    _file: Path | None = PrivateAttr(default=None)

    @property
    def file(self) -> Path | None:
        """The file that it was read from, if any."""
        return self._file

    def secrets(self) -> list[str]:
        """Values that must not appear in any line of a log."""
        own = {
            "password": self.trino.password or "",
            "url": self.state.url,
            "secret": self.access.audit_key or "",
            "service_url": self.database.service_url or "",
            "service_secret": self.database.service_key or "",
        }
        channels = self.notifications.channels
        found = secrets_of({**self.catalogs, "spark": self.spark.conf, "": own | channels})
        return [*secrets_of_addresses(channels.values()), *found]

    def policy_book(self, default_catalog: str | None = None) -> PolicyBook:
        """All that is configured about what tables should get."""
        compaction, orphans = self.compaction, self.orphans
        general = {
            **general_settings("compaction", compaction.policy(), compaction.chosen()),
            **general_settings("remove_orphan_files", orphans.rules(), orphans.chosen()),
            **self._schedule(),
            **self._notify(),
        }
        catalog = default_catalog or self.default_catalog or next(iter(self.catalogs), None)
        return PolicyBook(self.policies, general, catalog, self.import_amoro)

    def _schedule(self) -> dict[str, Setting]:
        """What the section about the scheduler says for every table."""
        said = self.scheduler.model_fields_set
        zone = self.scheduler.timezone if "timezone" in said else None
        return {
            **chosen_setting(
                "schedule", self.scheduler.default_schedule, "scheduler.default_schedule"
            ),
            **chosen_setting("window.timezone", zone, "scheduler.timezone"),
        }

    def _notify(self) -> dict[str, Setting]:
        """Who hears of every table."""
        said: dict[str, Setting] = {}
        for name in ("failures", "recoveries", "digest"):
            channels = getattr(self.notifications, name)
            said |= chosen_setting(f"notify.{name}", channels, f"notifications.{name}")
        return said

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
            what = "is a folder" if path.is_dir() else "does not exist"
            raise ConfigError(
                f"The configuration file {named} {what}.",
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
    # Case matters: `Access` beside `access` would be one of the two, and nobody knows which.
    if unknown := [key for key in values if key not in Settings.model_fields]:
        raise _unknown_key(path, (unknown[0],))
    # A file about the database operations alone leaves the catalog to the defaults.
    is_silent = not path or set(values) == {"database"}
    values.setdefault("catalogs", {DEFAULT_CATALOG: dict(EMBEDDED_CATALOG)} if is_silent else {})
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise _explain(error, path) from None
    except SettingsError as error:
        raise ConfigError(
            f"An environment variable cannot be used: {error}.",
            next_step="Set single values, for example NEVE_SPARK__MASTER.",
        ) from error
    loaded = settings.model_copy(
        update={
            "catalogs": {
                name: _absolute(properties, folder)
                for name, properties in settings.catalogs.items()
            },
            "spark": settings.spark.model_copy(
                update={"package": _absolute_package(settings.spark.package, folder)}
            ),
            "state": settings.state.model_copy(
                update={"url": absolute_sqlite_url(settings.state.url, folder)}
            ),
        }
    )
    loaded._file = path.resolve() if path else None
    remember_secrets(loaded, loaded.secrets())
    return loaded


def _absolute_package(package: str, folder: Path) -> str:
    """Where a package lies, as an address; words that name none stay as they are."""
    if package in ("auto", "installed") or "://" in package:
        return package
    return _absolute_path(package, folder).as_uri()


def _read_yaml(path: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    try:
        text = read_bounded(path)
        values = parse_yaml(without_comments(text) if path.suffix == ".json" else text)
    except BadDocument as error:
        raise ConfigError(
            f"The configuration file {path} {error}.",
            next_step="Check indentation, colons, quotes and aliases there.",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"The configuration file {path} is not text in UTF-8.",
            next_step="Save it as UTF-8, or give --config another file.",
        ) from error
    except OSError as error:
        raise ConfigError(f"The configuration file {path} cannot be read: {error}.") from error
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"The configuration file {path} must hold a mapping at its top.")
    expanded = expand_variables(values, environ)
    assert isinstance(expanded, dict)
    return translated({str(key): value for key, value in expanded.items()})


def _explain(error: ValidationError, path: Path | None) -> NeveError:
    """One sentence about the first thing that is wrong."""
    first = error.errors()[0]
    if first["type"] == "extra_forbidden":
        return _unknown_key(path, first["loc"])
    return ConfigError(f"{_source(path)} is wrong at {_dotted(first['loc'])}: {first['msg']}.")


def _unknown_key(path: Path | None, location: tuple[int | str, ...]) -> ConfigError:
    return ConfigError(
        f"{_source(path)} has an unknown key: {_dotted(location)}.",
        next_step=suggest(str(location[-1]), _known_keys(location)),
    )


def _source(path: Path | None) -> str:
    return f"The configuration file {path}" if path else "The configuration"


def _dotted(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location)


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    if len(location) == 1:
        return [*Settings.model_fields, *TRANSLATED]
    fields = Settings.model_fields
    for part in location[:-1]:
        annotation = fields[str(part)].annotation if str(part) in fields else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        fields = annotation.model_fields
    return [*fields, *TRANSLATED_IN.get(str(location[0]), ())]


def _absolute(properties: dict[str, str], folder: Path) -> dict[str, str]:
    result = dict(properties)
    if "uri" in result:
        result["uri"] = absolute_sqlite_url(result["uri"], folder)
    warehouse = result.get("warehouse")
    # Only a SQL catalog's warehouse is a location; elsewhere it may be the name of one.
    if warehouse and result.get("type") == "sql" and "://" not in warehouse:
        result["warehouse"] = _location(_absolute_path(warehouse, folder))
    return result


def _location(path: Path) -> str:
    """A folder as Spark and pyiceberg both name it: neither takes an escape for a letter.

    What would end a path is escaped all the same, and means a folder of that very name.
    """
    return path.as_uri() if CUT_OFF & set(str(path)) else f"file://{path}"


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
