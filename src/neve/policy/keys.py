"""The keys of a policy: Iceberg's own names, how each value is read, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from neve.model.errors import InputError
from neve.model.operation import Operation
from neve.model.orphans import MIN_AGE_SECONDS
from neve.model.policies import Value
from neve.policy import values as read


@dataclass(frozen=True, slots=True)
class Key:
    """One value that a policy may set, and the field of the effective policy that it becomes."""

    name: str
    read: Callable[[object], Value]
    part: str
    field: str

    @property
    def operation(self) -> Operation | None:
        """The operation that the key belongs to."""
        head = self.name.partition(".")[0]
        return Operation(head) if head in OPERATIONS else None


OPERATIONS = frozenset(str(operation) for operation in Operation)
ENABLED = "enabled"

STRATEGY = "rewrite_data_files.strategy"
SORT_ORDER = "rewrite_data_files.sort_order"
MIN_SIZE_RATIO = "rewrite_data_files.min_file_size_ratio"
MIN_SIZE_BYTES = "rewrite_data_files.options.min-file-size-bytes"
VERIFY = "rewrite_data_files.verify"
TARGET_SIZE = "rewrite_data_files.options.target-file-size-bytes"

#: Keys that speak of the same thing: a stronger layer that sets one of them drops the others.
TOGETHER = ((STRATEGY, SORT_ORDER), (MIN_SIZE_RATIO, MIN_SIZE_BYTES))

_RATIO, _AMOUNT = read.amount(1.0), read.amount()
_FROM_0, _FROM_1, _FROM_2 = read.count(0), read.count(1), read.count(2)


def _keys() -> list[Key]:
    switches = [
        Key(f"{operation}.{ENABLED}", read.flag, "operations", str(operation))
        for operation in Operation
    ]
    return [
        Key(ENABLED, read.flag, "", "is_enabled"),
        Key("schedule", read.cron, "", "schedule"),
        Key("window.start", read.clock, "window", "start"),
        Key("window.end", read.clock, "window", "end"),
        Key("window.timezone", read.timezone, "", "timezone"),
        Key("window.days", read.weekdays, "window", "days"),
        Key("budget.max_cost_usd", _AMOUNT, "budget", "max_cost_usd"),
        Key("budget.max_seconds", _FROM_1, "budget", "max_seconds"),
        Key("guards.max_orphan_ratio", _RATIO, "remove_orphan_files", "max_orphan_ratio"),
        Key("guards.hot_partition_seconds", _FROM_0, "guards", "hot_partition_seconds"),
        Key("guards.min_age", read.duration_from(MIN_AGE_SECONDS), "guards", "min_age_seconds"),
        Key("notify.failures", read.words, "notify", "failures"),
        Key("notify.recoveries", read.words, "notify", "recoveries"),
        Key("notify.digest", read.words, "notify", "digest"),
        Key("trigger.commits", _FROM_1, "triggers", "commits"),
        Key("trigger.small_file_ratio", _RATIO, "triggers", "small_file_ratio"),
        Key("trigger.delete_files", _FROM_1, "triggers", "delete_files"),
        Key("undo_window", read.duration, "compaction", "undo_window_seconds"),
        *switches,
        *_rewrite_data_files(),
        *_other_operations(),
    ]


def _rewrite_data_files() -> list[Key]:
    part = "rewrite_data_files"
    options = f"{part}.options"
    return [
        Key(STRATEGY, read.strategy, part, "strategy"),
        Key(SORT_ORDER, read.sort_order, part, "sort_columns"),
        Key(f"{part}.where", read.text, part, "where"),
        Key(f"{part}.engine", read.choice("auto", "spark"), part, "engine"),
        Key(VERIFY, read.verify, part, "verify"),
        Key(TARGET_SIZE, read.size, "compaction", "target_file_size_bytes"),
        Key(MIN_SIZE_BYTES, read.size, "compaction", "min_file_size_bytes"),
        Key(MIN_SIZE_RATIO, _RATIO, "compaction", "min_file_size_ratio"),
        Key(f"{options}.min-input-files", _FROM_2, "compaction", "min_input_files"),
        Key(f"{options}.delete-ratio-threshold", _RATIO, "compaction", "delete_record_ratio"),
        Key(f"{part}.delete_file_ratio", _RATIO, "compaction", "delete_file_ratio"),
        Key(f"{part}.quiet_seconds", _FROM_0, "compaction", "quiet_seconds"),
        Key(f"{part}.min_row_group_size", read.size, "compaction", "min_row_group_bytes"),
    ]


def _other_operations() -> list[Key]:
    deletes, manifests = "rewrite_position_delete_files", "rewrite_manifests"
    expire, orphans = "expire_snapshots", "remove_orphan_files"
    return [
        Key(f"{deletes}.where", read.text, deletes, "where"),
        Key(
            f"{deletes}.options.target-file-size-bytes",
            read.size,
            deletes,
            "target_file_size_bytes",
        ),
        Key(f"{deletes}.options.min-input-files", _FROM_2, deletes, "min_input_files"),
        Key(f"{manifests}.use_caching", read.flag, manifests, "use_caching"),
        Key(f"{manifests}.spec_id", _FROM_0, manifests, "spec_id"),
        Key("compute_table_stats.columns", read.words, "compute_table_stats", "columns"),
        Key(f"{expire}.older_than", read.duration, expire, "older_than_seconds"),
        Key(f"{expire}.retain_last", _FROM_1, expire, "retain_last"),
        Key(f"{expire}.keep.hourly", _FROM_0, expire, "keep_hourly"),
        Key(f"{expire}.keep.daily", _FROM_0, expire, "keep_daily"),
        Key(f"{expire}.keep.weekly", _FROM_0, expire, "keep_weekly"),
        Key(f"{expire}.keep.monthly", _FROM_0, expire, "keep_monthly"),
        Key(f"{orphans}.older_than", read.duration, orphans, "older_than_seconds"),
        Key(f"{orphans}.purge_delay", read.duration_from(3600), orphans, "purge_delay_seconds"),
    ]


KEYS = {key.name: key for key in _keys()}

_ONE_COMMIT = "Neve commits all or nothing, because partial progress hides commits that failed"
_PACKING = "Neve's planner packs the file groups itself"
_MANY_TABLES = "a policy is for many tables, so it names none of their snapshots or places"
_CONCURRENCY = "Neve leaves concurrency to Spark's configuration"
_AT_ONCE = "Neve deletes in batches of its own"
_EXACT_NAMES = "Neve compares files under exactly the names that their store uses"
_BY_MATCH = "the tables are chosen by match"

#: What Iceberg takes and Neve does not, with the reason; a star stands for any ending.
REFUSED = {
    "rewrite_data_files.options.use-starting-sequence-number": (
        "Neve never uses it, because an equality delete that lands meanwhile could be lost"
    ),
    "rewrite_data_files.options.partial-progress.*": _ONE_COMMIT,
    "rewrite_data_files.options.delete-file-threshold": (
        "Neve decides by rewrite_data_files.delete_file_ratio and delete-ratio-threshold"
    ),
    "rewrite_data_files.options.max-file-size-bytes": "Neve never splits a file for its size",
    "rewrite_data_files.options.rewrite-all": "Neve rewrites only what gains from it",
    "rewrite_data_files.options.max-file-group-size-bytes": _PACKING,
    "rewrite_data_files.options.max-file-group-input-files": _PACKING,
    "rewrite_data_files.options.max-files-to-rewrite": "budget.max_cost_usd limits a run",
    "rewrite_data_files.options.rewrite-job-order": "Neve takes the best gain per dollar first",
    "rewrite_data_files.options.max-concurrent-file-group-rewrites": _CONCURRENCY,
    "rewrite_data_files.options.output-spec-id": "Neve writes the current partition spec",
    "rewrite_data_files.options.remove-dangling-deletes": (
        "it is an operation of its own, remove_dangling_deletes"
    ),
    "rewrite_data_files.options.compression-factor": "Neve measures the compression of each table",
    "rewrite_data_files.options.shuffle-partitions-per-file": (
        "Neve leaves the shuffle to Spark's configuration"
    ),
    "rewrite_data_files.branch": "Neve maintains the main branch",
    "rewrite_position_delete_files.options.partial-progress.*": _ONE_COMMIT,
    "rewrite_position_delete_files.options.min-file-size-bytes": (
        "Neve takes Iceberg's share of the target as small"
    ),
    "rewrite_position_delete_files.options.max-file-size-bytes": (
        "Neve never splits a file for its size"
    ),
    "rewrite_position_delete_files.options.rewrite-all": "Neve rewrites only what gains from it",
    "rewrite_position_delete_files.options.max-file-group-size-bytes": _PACKING,
    "rewrite_position_delete_files.options.max-concurrent-file-group-rewrites": _CONCURRENCY,
    "rewrite_position_delete_files.options.rewrite-job-order": _PACKING,
    "rewrite_manifests.sort_by": "Neve keeps the order of the partition spec",
    "expire_snapshots.snapshot_ids": _MANY_TABLES,
    "expire_snapshots.max_concurrent_deletes": _AT_ONCE,
    "expire_snapshots.stream_results": _AT_ONCE,
    "expire_snapshots.clean_expired_metadata": "Neve keeps schemas and specs that were in use",
    "remove_orphan_files.max_concurrent_deletes": _AT_ONCE,
    "remove_orphan_files.stream_results": _AT_ONCE,
    "remove_orphan_files.equal_schemes": _EXACT_NAMES,
    "remove_orphan_files.equal_authorities": _EXACT_NAMES,
    "remove_orphan_files.prefix_mismatch_mode": _EXACT_NAMES,
    "remove_orphan_files.prefix_listing": "Neve lists in its own way",
    "remove_orphan_files.location": _MANY_TABLES,
    "remove_orphan_files.file_list_view": _MANY_TABLES,
    "remove_orphan_files.dry_run": "a dry run is asked for on the command line",
    "compute_table_stats.snapshot_id": _MANY_TABLES,
    "compute_partition_stats.snapshot_id": _MANY_TABLES,
    **{f"{operation}.table": _BY_MATCH for operation in Operation},
}


def find_key(name: str) -> Key:
    """The key of that name; an InputError suggests another one, or says why it is refused."""
    if key := KEYS.get(name):
        return key
    if why := refusal(name):
        raise InputError(f"{name} is not for policies: {why}.", next_step="Leave it out.")
    head, _, rest = name.partition(".")
    if head in OPERATIONS:
        is_option = rest.startswith("options.")
        prefix = f"{head}.options." if is_option else f"{head}."
        known = [key for key in KEYS if key.startswith(prefix)]
        what = "option" if is_option else "argument"
        raise InputError(f"There is no {what} {name!r}.", next_step=read.suggest(name, known))
    raise InputError(f"There is no key {name!r}.", next_step=read.suggest(name, KEYS))


def refusal(name: str) -> str | None:
    """Why a name of Iceberg's is not taken; None where it is not refused."""
    for refused, why in REFUSED.items():
        if name == refused or (refused.endswith("*") and name.startswith(refused[:-1])):
            return why
    return None


def read_value(name: str, raw: object) -> Value:
    """The checked value of a key."""
    return find_key(name).read(raw)
