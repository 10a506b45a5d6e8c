"""Policies: what the user wants for which tables, and what that comes to for one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import TypeAlias

from neve.model.expiry import ExpiryRules
from neve.model.operation import Operation
from neve.model.orphans import MIN_AGE_SECONDS, OrphanRules
from neve.model.policy import CompactionPolicy, RewriteMode, Strategy, Verify
from neve.model.table import TableRef

#: A setting's value, read and checked.
Value: TypeAlias = bool | int | float | str | time | tuple[str, ...]

#: Operations that run where nothing is said: they rewrite, and what they rewrote can be undone.
#: What deletes for good, or costs without being asked for, waits until a policy names it.
ENABLED_BY_DEFAULT = frozenset(
    {
        Operation.REWRITE_DATA_FILES,
        Operation.REWRITE_POSITION_DELETE_FILES,
        Operation.REMOVE_DANGLING_DELETES,
        Operation.REWRITE_MANIFESTS,
    }
)


@dataclass(frozen=True, slots=True)
class TableMatch:
    """Which tables a policy is for; every part that is given must hold."""

    tables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    #: Table properties, each with the glob that its value must match.
    properties: Mapping[str, str] = field(default_factory=dict)
    owner: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One policy of the configuration, or one that was set while Neve runs."""

    name: str
    match: TableMatch = field(default_factory=TableMatch)
    #: Where two policies set the same value, the higher priority wins, then the later one.
    priority: int = 0
    #: What it sets, by key, such as `expire_snapshots.older_than`.
    values: Mapping[str, Value] = field(default_factory=dict)
    #: Operations that it names, even with nothing to set.
    operations: frozenset[Operation] = frozenset()
    #: Where single values stand in the file, by key; the others stand in the policy itself.
    places: Mapping[str, str] = field(default_factory=dict)
    #: Who keeps it: the configuration's file, or the state.
    origin: str = "neve.yaml"


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of an effective policy, and where it comes from."""

    key: str
    #: None where the operation decides by itself.
    value: Value | None
    source: str


@dataclass(frozen=True, slots=True)
class PolicyBook:
    """All that is configured about tables: the file's general settings and its policies."""

    rules: tuple[PolicyRule, ...] = ()
    #: What the general sections set, by key, with the place of each.
    general: Mapping[str, Setting] = field(default_factory=dict)
    default_catalog: str | None = None
    #: Whether the table properties of Apache Amoro are read, too.
    import_amoro: bool = False


@dataclass(frozen=True, slots=True)
class PolicyMatch:
    """Whether a policy is for the table, and why not."""

    name: str
    priority: int
    matches: bool
    reason: str


@dataclass(frozen=True, slots=True)
class RewriteDataFilesArguments:
    """How data files are rewritten; sizes and thresholds are in `EffectivePolicy.compaction`."""

    strategy: Strategy = Strategy.AUTO
    sort_columns: tuple[str, ...] = ()
    where: str | None = None
    engine: RewriteMode = RewriteMode.AUTO
    #: None: what tasks write is read back, what Iceberg's own writer wrote is counted.
    verify: Verify | None = None


@dataclass(frozen=True, slots=True)
class RewritePositionDeleteFilesArguments:
    """How position delete files are rewritten."""

    where: str | None = None
    target_file_size_bytes: int | None = None
    min_input_files: int | None = None


@dataclass(frozen=True, slots=True)
class RewriteManifestsArguments:
    """How manifests are rewritten."""

    use_caching: bool | None = None
    spec_id: int | None = None


@dataclass(frozen=True, slots=True)
class ComputeTableStatsArguments:
    """Which columns get statistics; none means all."""

    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """When work may begin, by the clock of a time zone; it may go on past midnight."""

    start: time = time(0)
    #: The first moment that is too late; midnight where start is midnight means the whole day.
    end: time = time(0)
    timezone: str = "UTC"
    #: Days on which the window opens, Monday is 0; none means every day.
    days: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Budget:
    """What one run on the table may cost."""

    max_cost_usd: float | None = None
    max_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Triggers:
    """What lets a table's turn come without waiting for its schedule; None: it does not."""

    #: Commits of others since the last turn.
    commits: int | None = None
    #: Small files among all data files.
    small_file_ratio: float | None = None
    delete_files: int | None = None

    @property
    def is_any(self) -> bool:
        return self != Triggers()


@dataclass(frozen=True, slots=True)
class Guards:
    """Limits that stop an operation rather than let it do harm."""

    #: A partition that was written more recently is left to its writers.
    hot_partition_seconds: int = 0
    #: No file that is younger is removed as an orphan: a writer may be about to commit it.
    min_age_seconds: int = MIN_AGE_SECONDS


@dataclass(frozen=True, slots=True)
class Notify:
    """Which channels hear of the table, by their names in the configuration."""

    failures: tuple[str, ...] = ()
    recoveries: tuple[str, ...] = ()
    digest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EffectivePolicy:
    """What all layers together say about one table."""

    table: TableRef
    #: False where nothing is to be done on the table at all.
    is_enabled: bool
    operations: frozenset[Operation]
    compaction: CompactionPolicy
    rewrite_data_files: RewriteDataFilesArguments
    rewrite_position_delete_files: RewritePositionDeleteFilesArguments
    rewrite_manifests: RewriteManifestsArguments
    compute_table_stats: ComputeTableStatsArguments
    expire_snapshots: ExpiryRules
    remove_orphan_files: OrphanRules
    #: Cron text in the window's time zone, or an interval; None means whenever it is asked for.
    schedule: str | None
    window: Window | None
    timezone: str
    budget: Budget
    guards: Guards
    notify: Notify
    triggers: Triggers
    #: Every value with the layer that set it, in the order of the keys.
    settings: tuple[Setting, ...]
    matches: tuple[PolicyMatch, ...]

    def enables(self, operation: Operation) -> bool:
        return self.is_enabled and operation in self.operations

    def operations_in_order(self) -> list[Operation]:
        """What will be run, in the order in which it is."""
        return [operation for operation in Operation if self.enables(operation)]

    def setting(self, key: str) -> Setting:
        """The value of a key and where it comes from."""
        return next(setting for setting in self.settings if setting.key == key)


@dataclass(frozen=True, slots=True)
class Timing:
    """When a table's turn came, and when it comes."""

    last_run: datetime | None
    #: False without a schedule: its turn comes when somebody asks.
    is_due: bool
    in_window: bool
    #: None without a schedule.
    next_run: datetime | None
