"""`compaction.strategies` of a service's file, as values of policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from neve.config.places import mapping_at, value_at, wrong_at
from neve.model.policies import Value
from neve.model.policy import Strategy
from neve.policy import values as read
from neve.policy.keys import ENABLED, KEYS, MIN_SIZE_BYTES, SORT_ORDER, STRATEGY, TARGET_SIZE

PATH = "compaction.strategies"
SWITCH = f"rewrite_data_files.{ENABLED}"
_TARGET = {"target_size": TARGET_SIZE}
_SMALL = {
    **_TARGET,
    "threshold": MIN_SIZE_BYTES,
    "min_input_files": "rewrite_data_files.options.min-input-files",
}
#: What each strategy may be told, and the policy's key for it.
ARGUMENTS: Mapping[Strategy, Mapping[str, str]] = {
    Strategy.SMALL_FILES: _SMALL,
    Strategy.DELETE_FILES: {
        **_TARGET,
        "fragment_ratio_threshold": "rewrite_data_files.delete_file_ratio",
    },
    Strategy.TIME_SERIES: {**_SMALL, "quiet_seconds": "rewrite_data_files.quiet_seconds"},
}
#: What `auto` looks after.
IN_AUTO = (Strategy.SMALL_FILES, Strategy.DELETE_FILES)


@dataclass(frozen=True, slots=True)
class Said:
    """Values of a policy, each with the place where it stands."""

    values: dict[str, Value] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    def put(self, key: str, raw: object, path: str) -> None:
        self.values[key] = value_at(path, raw, KEYS[key].read)
        self.places[key] = path

    def add(self, other: Said) -> None:
        self.values.update(other.values)
        self.places.update(other.places)


@dataclass(frozen=True, slots=True)
class Strategies:
    """What the file says about strategies: which are on, and the values of each."""

    said: Mapping[Strategy, Said] = field(default_factory=dict)
    off: frozenset[Strategy] = frozenset()

    def of(self, strategy: Strategy) -> Said:
        """The values that a table with this strategy gets."""
        values = Said()
        for part in IN_AUTO if strategy is Strategy.AUTO else (strategy,):
            if part not in self.off:
                values.add(self.said.get(part, Said()))
        return values

    def for_the_others(self) -> Said:
        """Strategy and values of tables that choose none themselves."""
        if not self.said:
            return Said()
        wanted = [strategy for strategy in self.said if strategy not in self.off]
        if not wanted:
            return Said({SWITCH: False}, {SWITCH: PATH})
        strategy = wanted[0] if len(wanted) == 1 else Strategy.AUTO
        if strategy is Strategy.AUTO and not set(wanted) <= set(IN_AUTO):
            raise wrong_at(
                PATH,
                f"{' and '.join(wanted)} are enabled, and a table has one strategy.",
                "Enable one of them, or small_files and delete_files, which go together.",
            )
        values = self.of(strategy)
        values.put(STRATEGY, str(strategy), PATH)
        return values


def read_strategies(document: object) -> Strategies:
    """All that `compaction.strategies` says, checked."""
    said: dict[Strategy, Said] = {}
    off = set()
    for name, arguments in mapping_at(PATH, document, list(ARGUMENTS)).items():
        path, strategy = f"{PATH}.{name}", Strategy(name)
        known = ARGUMENTS[strategy]
        given = mapping_at(path, arguments, (ENABLED, *known))
        if not value_at(f"{path}.{ENABLED}", given.get(ENABLED, True), read.flag):
            off.add(strategy)
        said[strategy] = Said()
        for key, raw in given.items():
            if key != ENABLED:
                said[strategy].put(known[key], raw, f"{path}.{key}")
    _check_agreement(said, off)
    return Strategies(said, frozenset(off))


def _check_agreement(said: Mapping[Strategy, Said], off: Iterable[Strategy]) -> None:
    """Strategies that work together have one target."""
    together = [said[part] for part in IN_AUTO if part in said and part not in off]
    targets = {part.values[TARGET_SIZE] for part in together if TARGET_SIZE in part.values}
    if len(targets) > 1:
        raise wrong_at(
            together[-1].places[TARGET_SIZE],
            "small_files and delete_files write the same files, and have different targets.",
            "Give both the same target_size, or only one of them.",
        )


def order_of(strategy: str, columns: object, path: str) -> dict[str, Any]:
    """A strategy and its columns by the keys of a policy, which knows z-order as a way to sort."""
    names = ", ".join(read_columns(columns, path)) if columns is not None else ""
    if strategy not in (Strategy.SORT, Strategy.ZORDER):
        if names:
            raise wrong_at(path, f"strategy {strategy} does not order rows.", "Leave them out.")
        return {STRATEGY: strategy}
    if strategy == Strategy.ZORDER:
        if not names:
            raise wrong_at(path, "zorder needs columns.", "Write sort_columns: [a, b].")
        names = f"zorder({names})"
    return {STRATEGY: str(Strategy.SORT), **({SORT_ORDER: names} if names else {})}


def read_columns(raw: object, path: str) -> tuple[str, ...]:
    columns = value_at(path, raw, read.words)
    assert isinstance(columns, tuple)
    return columns
