"""Table properties of Apache Amoro, as values of Neve's policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

OPTIMIZING, CLEANING = "self-optimizing.", "clean-orphan-file."
#: Prefixes of the properties that Amoro's optimizer reads.
PREFIXES = (
    OPTIMIZING,
    CLEANING,
    "table-expire.",
    "snapshot.keep.",
    "snapshot.base.",
    "snapshot.change.",
    "change.data.ttl.",
    "clean-dangling-delete-files.",
    "data-expire.",
    "tag.auto-create.",
)


@dataclass(slots=True)
class Imported:
    """What could be carried over, by key with the property it comes from, and what could not."""

    values: dict[str, tuple[object, str]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def _same(raw: str) -> object:
    return raw.strip()


def _minutes(raw: str) -> object:
    return f"{raw.strip()}min"


def _files(raw: str) -> object:
    # One file alone is not compacted.
    return "2" if raw.strip() == "1" else raw.strip()


def _engine(raw: str) -> object:
    return "spark" if raw.strip().lower() == "false" else "auto"


def interval_schedule(raw: str) -> object | None:
    """Cron text for an interval in milliseconds; None where cron has no such rhythm."""
    if not raw.strip().isdigit():
        return None
    minutes, rest = divmod(int(raw), 60_000)
    if rest or minutes == 0:
        return None
    if minutes < 60 and 60 % minutes == 0:
        return f"*/{minutes} * * * *" if minutes > 1 else "* * * * *"
    hours, rest = divmod(minutes, 60)
    if rest or hours == 0:
        return None
    if hours < 24 and 24 % hours == 0:
        return f"0 */{hours} * * *" if hours > 1 else "0 * * * *"
    return "0 0 * * *" if hours == 24 else None


#: Properties that have a counterpart: its key, and how the value is written there.
CARRIED: dict[str, tuple[str, Callable[[str], object | None]]] = {
    "self-optimizing.enabled": ("rewrite_data_files.enabled", _same),
    "self-optimizing.target-size": ("rewrite_data_files.options.target-file-size-bytes", _same),
    "self-optimizing.min-target-size-ratio": ("rewrite_data_files.min_file_size_ratio", _same),
    "self-optimizing.filter": ("rewrite_data_files.where", _same),
    "self-optimizing.minor.trigger.file-count": (
        "rewrite_data_files.options.min-input-files",
        _files,
    ),
    "self-optimizing.minor.trigger.interval": ("schedule", interval_schedule),
    "self-optimizing.major.trigger.duplicate-ratio": (
        "rewrite_data_files.options.delete-ratio-threshold",
        _same,
    ),
    "self-optimizing.rewrite.use-parquet-row-group-merge.enabled": (
        "rewrite_data_files.engine",
        _engine,
    ),
    "self-optimizing.rewrite.use-parquet-row-group-merge.min-avg-row-group-size-bytes": (
        "rewrite_data_files.min_row_group_size",
        _same,
    ),
    "clean-dangling-delete-files.enabled": ("remove_dangling_deletes.enabled", _same),
    "table-expire.enabled": ("expire_snapshots.enabled", _same),
    "snapshot.base.keep.minutes": ("expire_snapshots.older_than", _minutes),
    "snapshot.keep.duration": ("expire_snapshots.older_than", _same),
    "snapshot.keep.min-count": ("expire_snapshots.retain_last", _same),
    "clean-orphan-file.enabled": ("remove_orphan_files.enabled", _same),
    "clean-orphan-file.min-existing-time-minutes": ("remove_orphan_files.older_than", _minutes),
}

#: Properties, or beginnings of them, without a counterpart.
LEFT = {
    "self-optimizing.group": "Neve has no groups of optimizers",
    "self-optimizing.quota": "budget.max_cost_usd and budget.max_seconds limit a run",
    "self-optimizing.execute.num-retries": "Neve plans again where a writer was faster",
    "self-optimizing.num-retries": "Neve plans again where a writer was faster",
    "self-optimizing.max-file-count": "budget.max_cost_usd limits a run",
    "self-optimizing.max-task-size-bytes": "Neve packs file groups up to the target size",
    "self-optimizing.fragment-ratio": "Neve takes every file below min_file_size_ratio as small",
    "self-optimizing.full.": "Neve rewrites only what gains from it",
    "self-optimizing.allow-partial-commit": "Neve commits all or nothing",
    "self-optimizing.min-plan-interval": "the schedule decides",
    "self-optimizing.minor.trigger.interval": "cron has no such rhythm: write a schedule",
    "self-optimizing.refresh-table.": "Neve reads the table when its turn comes",
    "self-optimizing.evaluation.": "Neve reads the table when its turn comes",
    "snapshot.keep.flink.": "Neve never expires what a branch or tag holds: tag checkpoints",
    "snapshot.change.": "Neve knows no change store",
    "change.data.ttl.": "Neve knows no change store",
    "data-expire.": "Neve never deletes rows",
    "tag.auto-create.": "Neve makes no tags by date: expire_snapshots.keep holds snapshots",
}


def values_of_properties(properties: Mapping[str, str]) -> Imported:
    """The properties of Amoro among those given, as raw values by key."""
    imported = Imported()
    for name in sorted(name for name in properties if name.startswith(PREFIXES)):
        raw = properties[name]
        key, write = CARRIED.get(name, ("", None))
        value = write(raw) if write else None
        if value is None:
            imported.left.append(f"{name}={raw}: {_why_left(name)}.")
        else:
            imported.values[key] = (value, name)
    _add_switches(imported)
    return imported


def _why_left(name: str) -> str:
    for beginning, why in LEFT.items():
        if name.startswith(beginning):
            return why
    return "Neve has no counterpart"


def _add_switches(imported: Imported) -> None:
    """Amoro expires snapshots unless told not to, and removes orphans only when told to."""
    for operation, default in (("expire_snapshots", "true"), ("remove_orphan_files", "false")):
        switch = f"{operation}.enabled"
        origin = next(
            (
                origin
                for key, (_, origin) in imported.values.items()
                if key.startswith(f"{operation}.")
            ),
            None,
        )
        if origin is not None:
            imported.values.setdefault(switch, (default, origin))
