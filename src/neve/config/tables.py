"""`tables:` of a service's file, as policies: one for each entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neve.config.places import mapping_at, value_at, wrong_at
from neve.config.strategies import Said, Strategies, order_of
from neve.model.policies import PolicyRule, TableMatch
from neve.model.policy import Strategy
from neve.policy import values as read
from neve.policy.keys import ENABLED, STRATEGY, TARGET_SIZE

TABLE_KEYS = ("name", "namespace", "catalog", ENABLED, "schedule", "strategy", "options")
COLUMNS = "sort_columns"
#: Options of a table, as the API takes them, and the policy's key for each.
OPTIONS = {
    "target_file_size": TARGET_SIZE,
    "partition_filter": "rewrite_data_files.where",
    "max_cost": "budget.max_cost_usd",
}
#: A table that is named is meant more than one that a pattern is for.
TABLE_PRIORITY = 1000
#: What is said for all tables is weaker than every policy.
GENERAL_PRIORITY = -1_000_000


def read_tables(
    documents: object, strategies: Strategies, default_catalog: str | None
) -> list[PolicyRule]:
    """The entries as policies, and one for all other tables where strategies are given."""
    if documents is None:
        documents = []
    if not isinstance(documents, list):
        raise wrong_at("tables", "it must hold a list.", "Begin each table with a dash.")
    rules: list[PolicyRule] = []
    own_strategy: list[str] = []
    seen: dict[str, int] = {}
    for number, document in enumerate(documents):
        path = f"tables[{number}]"
        given = mapping_at(path, document, TABLE_KEYS)
        glob = _glob(path, given, default_catalog)
        if glob in seen:
            raise wrong_at(
                f"{path}.name",
                f"tables[{seen[glob]}] is for the same table, and a table has one schedule.",
                "Make one entry of the two.",
            )
        seen[glob] = number
        rules.append(_rule(path, glob, given, strategies))
        if "strategy" in given:
            own_strategy.append(glob)
    return [*_for_the_others(strategies, own_strategy), *rules]


def _for_the_others(strategies: Strategies, excluded: list[str]) -> list[PolicyRule]:
    said = strategies.for_the_others()
    if not said.values:
        return []
    match = TableMatch(tables=("*",), exclude=tuple(excluded))
    return [
        PolicyRule(
            "compaction.strategies", match, GENERAL_PRIORITY, said.values, places=said.places
        )
    ]


def _rule(path: str, glob: str, given: Mapping[str, Any], strategies: Strategies) -> PolicyRule:
    said = _of_strategy(path, given, strategies)
    for key in (ENABLED, "schedule"):
        if key in given:
            said.put(key, given[key], f"{path}.{key}")
    options = mapping_at(f"{path}.options", given.get("options"), (*OPTIONS, COLUMNS))
    for name, key in OPTIONS.items():
        if name in options:
            said.put(key, options[name], f"{path}.options.{name}")
    return PolicyRule(
        f"tables: {given['name']}",
        TableMatch(tables=(glob,)),
        TABLE_PRIORITY,
        said.values,
        places=said.places,
    )


def _of_strategy(path: str, given: Mapping[str, Any], strategies: Strategies) -> Said:
    options = mapping_at(f"{path}.options", given.get("options"))
    place, columns = f"{path}.options.{COLUMNS}", options.get(COLUMNS)
    if "strategy" not in given:
        if columns is not None:
            raise wrong_at(place, "the table names no strategy.", "Add strategy: sort or zorder.")
        return Said()
    name = str(value_at(f"{path}.strategy", given["strategy"], read.choice(*Strategy)))
    if (strategy := Strategy(name)) in strategies.off:
        raise wrong_at(
            f"{path}.strategy",
            f"compaction.strategies turns {name} off.",
            "Enable it there, or give the table another strategy.",
        )
    said = Said()
    said.add(strategies.of(strategy))
    for key, value in order_of(name, columns, place).items():
        said.put(key, value, f"{path}.strategy" if key == STRATEGY else place)
    return said


def _glob(path: str, given: Mapping[str, Any], default_catalog: str | None) -> str:
    """The name in full; one without a namespace is for every namespace of the catalog."""
    if "name" not in given:
        raise wrong_at(path, "it has no name.", "Add name: to it.")
    name = str(value_at(f"{path}.name", given["name"], read.text))
    parts = {
        key: str(value_at(f"{path}.{key}", given[key], read.text))
        for key in ("namespace", "catalog")
        if key in given
    }
    if parts and "." in name:
        raise wrong_at(f"{path}.name", "it says the namespace already.", "Say it once.")
    if "." in name:
        return name
    catalog = parts.get("catalog", default_catalog or "*")
    return f"{catalog}.{parts.get('namespace', '*')}.{name}"
