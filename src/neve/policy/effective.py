"""Merged settings become the effective policy of a table, checked as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import time
from typing import Any

from neve.model.durations import format_duration
from neve.model.errors import ConfigError, InputError
from neve.model.expiry import ExpiryRules
from neve.model.operation import Operation
from neve.model.orphans import OrphanRules
from neve.model.policies import (
    ENABLED_BY_DEFAULT,
    Budget,
    ComputeTableStatsArguments,
    EffectivePolicy,
    Guards,
    Notify,
    PolicyMatch,
    RewriteDataFilesArguments,
    RewriteManifestsArguments,
    RewritePositionDeleteFilesArguments,
    Setting,
    Triggers,
    Value,
    Window,
)
from neve.model.policy import CompactionPolicy, RewriteMode, Strategy, Verify
from neve.model.sizes import format_size
from neve.model.table import TableRef
from neve.policy.keys import (
    ENABLED,
    KEYS,
    MIN_SIZE_BYTES,
    MIN_SIZE_RATIO,
    SORT_ORDER,
    STRATEGY,
    TARGET_SIZE,
    Key,
)
from neve.policy.values import WEEKDAYS, sort_columns

DEFAULT = "default"
ORPHAN_AGE, GUARD_AGE = "remove_orphan_files.older_than", "guards.min_age"
MIDNIGHT = time(0)
Merged = Mapping[str, Setting]

_DEFAULTS: dict[str, dict[str, Any]] = {
    "": {"is_enabled": True, "schedule": None, "timezone": Window().timezone},
    "operations": {str(item): item in ENABLED_BY_DEFAULT for item in Operation},
    "window": {},
    "budget": asdict(Budget()),
    "guards": asdict(Guards()),
    "notify": asdict(Notify()),
    "triggers": asdict(Triggers()),
    "compaction": asdict(CompactionPolicy()),
    "rewrite_data_files": asdict(RewriteDataFilesArguments()),
    "rewrite_position_delete_files": asdict(RewritePositionDeleteFilesArguments()),
    "rewrite_manifests": asdict(RewriteManifestsArguments()),
    "compute_table_stats": asdict(ComputeTableStatsArguments()),
    "expire_snapshots": asdict(ExpiryRules()),
    "remove_orphan_files": asdict(OrphanRules()),
}


def build(table: TableRef, merged: Merged, matches: tuple[PolicyMatch, ...]) -> EffectivePolicy:
    """The effective policy; raises ConfigError where values of several layers do not fit."""
    guards = Guards(**_part("guards", merged))
    compaction = _compaction(merged, guards)
    effective = EffectivePolicy(
        table=table,
        is_enabled=bool(_value("enabled", merged)),
        operations=frozenset(item for item in Operation if _value(f"{item}.enabled", merged)),
        compaction=compaction,
        rewrite_data_files=_rewrite_data_files(table, merged),
        rewrite_position_delete_files=RewritePositionDeleteFilesArguments(
            **_part("rewrite_position_delete_files", merged)
        ),
        rewrite_manifests=RewriteManifestsArguments(**_part("rewrite_manifests", merged)),
        compute_table_stats=ComputeTableStatsArguments(**_part("compute_table_stats", merged)),
        expire_snapshots=ExpiryRules(
            **_part("expire_snapshots", merged), undo_window_seconds=compaction.undo_window_seconds
        ),
        remove_orphan_files=OrphanRules(
            **{
                **_part("remove_orphan_files", merged),
                "older_than_seconds": int(str(_value(ORPHAN_AGE, merged))),
            }
        ),
        schedule=_part("", merged).get("schedule"),
        window=_window(table, merged),
        timezone=str(_value("window.timezone", merged)),
        budget=Budget(**_part("budget", merged)),
        guards=guards,
        notify=Notify(**_part("notify", merged)),
        triggers=Triggers(**_part("triggers", merged)),
        settings=tuple(_setting(key, merged) for key in KEYS.values() if _is_shown(key, merged)),
        matches=matches,
    )
    _check_ages(table, effective)
    return effective


def shown_settings(policy: EffectivePolicy) -> list[tuple[str, str, str]]:
    """Key, value and source of what somebody set, and of the defaults of what will be run."""
    return [
        (setting.key, show_value(setting), setting.source)
        for setting in policy.settings
        if _is_interesting(policy, setting)
    ]


def _is_interesting(policy: EffectivePolicy, setting: Setting) -> bool:
    if setting.source != DEFAULT:
        return True
    operation = KEYS[setting.key].operation
    if setting.key.endswith(f".{ENABLED}") or operation is None:
        return setting.value is not None
    return setting.value is not None and policy.enables(operation)


def show_value(setting: Setting) -> str:
    """A value as it may be written in a policy."""
    value = setting.value
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, time):
        return f"{value:%H:%M}"
    key = KEYS[setting.key]
    if isinstance(value, int) and key.field.endswith("_bytes"):
        return format_size(value)
    if isinstance(value, int) and key.field.endswith("_seconds") and not _names_unit(key):
        return format_duration(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _names_unit(key: Key) -> bool:
    return key.name.endswith("_seconds")


def _part(part: str, merged: Merged) -> dict[str, Any]:
    """The values that layers set in one part, by field."""
    return {
        KEYS[name].field: setting.value
        for name, setting in merged.items()
        if KEYS[name].part == part
    }


def _value(name: str, merged: Merged) -> Value | None:
    return _setting(KEYS[name], merged).value


def _setting(key: Key, merged: Merged) -> Setting:
    if found := merged.get(key.name):
        return found
    if key.name == STRATEGY and SORT_ORDER in merged:
        # As for Iceberg's procedure, an order alone means that rows are to be sorted.
        return Setting(STRATEGY, "sort", merged[SORT_ORDER].source)
    value: Any = _DEFAULTS[key.part].get(key.field)
    guard = merged.get(GUARD_AGE) if key.name == ORPHAN_AGE else None
    if guard is not None and int(str(guard.value)) > value:
        # A guard that asks for more than the default is obeyed; against a set value, it speaks.
        return Setting(ORPHAN_AGE, guard.value, guard.source)
    return Setting(key.name, value if value != () else None, DEFAULT)


def _is_shown(key: Key, merged: Merged) -> bool:
    if key.name == MIN_SIZE_RATIO:
        return MIN_SIZE_BYTES not in merged
    return key.name != MIN_SIZE_BYTES or MIN_SIZE_BYTES in merged


def _compaction(merged: Merged, guards: Guards) -> CompactionPolicy:
    values = _part("compaction", merged)
    smallest = values.pop("min_file_size_bytes", None)
    if smallest is not None:
        target = values.get("target_file_size_bytes", CompactionPolicy().target_file_size_bytes)
        if smallest > target:
            raise ConfigError(
                f"{MIN_SIZE_BYTES} is {format_size(smallest)} ({merged[MIN_SIZE_BYTES].source}), "
                f"more than {TARGET_SIZE} with {format_size(target)} "
                f"({_setting(KEYS[TARGET_SIZE], merged).source}).",
                next_step="Make the smaller one smaller, or the target larger.",
            )
        values["min_file_size_ratio"] = smallest / target
    return CompactionPolicy(**values, hot_partition_seconds=guards.hot_partition_seconds)


def _rewrite_data_files(table: TableRef, merged: Merged) -> RewriteDataFilesArguments:
    values = _part("rewrite_data_files", merged)
    strategy, order = str(_value(STRATEGY, merged)), values.get("sort_columns")
    if order is not None and strategy != "sort":
        raise ConfigError(
            f"Table {table}: {SORT_ORDER} ({merged[SORT_ORDER].source}) does not go with strategy "
            f"{strategy}.",
            next_step="Write strategy: sort, or leave the sort order out.",
        )
    is_zorder, columns = sort_columns(str(order)) if order is not None else (False, ())
    return RewriteDataFilesArguments(
        strategy=_strategy(strategy, is_zorder),
        sort_columns=columns,
        where=values.get("where"),
        engine=RewriteMode(values.get("engine", RewriteMode.AUTO)),
        verify=Verify(values["verify"]) if "verify" in values else None,
    )


def _strategy(name: str, is_zorder: bool) -> Strategy:
    if is_zorder:
        return Strategy.ZORDER
    return Strategy.AUTO if name == "binpack" else Strategy(name)


def _window(table: TableRef, merged: Merged) -> Window | None:
    values = _part("window", merged)
    if not values:
        return None
    if ("start" in values) != ("end" in values):
        lone, other = ("start", "end") if "start" in values else ("end", "start")
        raise ConfigError(
            f"Table {table}: the window has window.{lone} ({merged[f'window.{lone}'].source}) "
            f"and no window.{other}.",
            next_step="Give both, or only window.days.",
        )
    if values.get("start", MIDNIGHT) == values.get("end", MIDNIGHT) != MIDNIGHT:
        raise ConfigError(
            f"Table {table}: the window ({merged['window.start'].source}) ends when it begins.",
            next_step="Leave start and end out for the whole day.",
        )
    return Window(
        start=values.get("start", MIDNIGHT),
        end=values.get("end", MIDNIGHT),
        timezone=str(_value("window.timezone", merged)),
        days=frozenset(WEEKDAYS.index(day) for day in values.get("days", ())),
    )


def _check_ages(table: TableRef, policy: EffectivePolicy) -> None:
    older_than, least = policy.setting("remove_orphan_files.older_than"), policy.guards
    if (
        policy.enables(Operation.REMOVE_ORPHAN_FILES)
        and policy.remove_orphan_files.older_than_seconds < least.min_age_seconds
    ):
        raise ConfigError(
            f"Table {table}: {older_than.key} is {show_value(older_than)} ({older_than.source}), "
            f"less than guards.min_age with {format_duration(least.min_age_seconds)} "
            f"({policy.setting('guards.min_age').source}).",
            next_step="Let orphans grow older: a writer may be about to commit them.",
        )


def read_error(place: str, name: str, error: InputError) -> ConfigError:
    """A value that cannot be read, with the place where it stands."""
    return ConfigError(f"{place} is wrong at {name}: {error.message}", next_step=error.next_step)
