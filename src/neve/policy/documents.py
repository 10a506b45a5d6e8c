"""Policies as documents: what `policies:` in neve.yaml holds becomes rules, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import time
from typing import Any

from neve.model.errors import ConfigError, InputError
from neve.model.operation import Operation
from neve.model.policies import PolicyRule, TableMatch, Value
from neve.policy.effective import read_error
from neve.policy.keys import KEYS, OPERATIONS, find_key
from neve.policy.values import count, suggest, text, words

#: Keys of a policy that hold one value, and those that hold several.
SINGLE = ("enabled", "schedule", "undo_window")
GROUPS = ("window", "budget", "guards", "notify", "trigger")
POLICY_KEYS = ("name", "match", "priority", "operations", *SINGLE, *GROUPS)
MATCH_KEYS = ("tables", "exclude", "properties", "owner", "tag")
#: Arguments that hold further names.
NESTED = ("options", "keep")


def read_policies(documents: object) -> tuple[PolicyRule, ...]:
    """The rules, checked; an error says which policy is wrong, where, and what is meant."""
    if not isinstance(documents, list | tuple):
        raise ConfigError("policies: must hold a list.", next_step="Begin each policy with a dash.")
    rules = [_read_policy(position, item) for position, item in enumerate(documents, start=1)]
    names: set[str] = set()
    for rule in rules:
        if rule.name in names:
            raise ConfigError(
                f"Two policies have the name {rule.name!r}.", next_step="Give each its own name."
            )
        names.add(rule.name)
    return tuple(rules)


def _read_policy(position: int, document: object) -> PolicyRule:
    if isinstance(document, PolicyRule):
        return document
    if not isinstance(document, Mapping):
        raise ConfigError(f"Policy {position} must hold keys and values.")
    try:
        name = text(document.get("name"))
    except InputError as error:
        raise ConfigError(
            f"Policy {position} has no name.", next_step="Add name: to it."
        ) from error
    place = f"Policy {name!r}"
    check_keys(place, "", document, POLICY_KEYS)
    values: dict[str, Value] = {}
    for key, raw in _flat_values(place, document):
        try:
            values[key] = find_key(key).read(raw)
        except InputError as error:
            shown = f"operations.{key}" if key.partition(".")[0] in OPERATIONS else key
            raise read_error(place, shown, error) from error
    match, priority = _read_match(place, document), _read_priority(place, document)
    operations = frozenset(Operation(item) for item in document.get("operations") or {})
    if not values and not operations:
        raise ConfigError(f"{place} sets nothing.", next_step="Add operations: to it.")
    return PolicyRule(name, match, priority, values, operations)


def _read_priority(place: str, document: Mapping[Any, Any]) -> int:
    try:
        return int(str(count(-1_000_000)(document.get("priority", 0))))
    except InputError as error:
        raise read_error(place, "priority", error) from error


def _read_match(place: str, document: Mapping[Any, Any]) -> TableMatch:
    given = _mapping(place, "match", document.get("match"))
    check_keys(place, "match.", given, MATCH_KEYS)
    lists: dict[str, tuple[str, ...]] = {}
    for key in ("tables", "exclude", "owner", "tag"):
        if key in given:
            try:
                lists[key] = words(given[key])
            except InputError as error:
                raise read_error(place, f"match.{key}", error) from error
    properties = _mapping(place, "match.properties", given.get("properties"))
    return TableMatch(
        **lists, properties={str(name): _property_text(raw) for name, raw in properties.items()}
    )


def _property_text(raw: object) -> str:
    """A property's value as Iceberg writes it."""
    return str(raw).lower() if isinstance(raw, bool) else str(raw)


def _flat_values(place: str, document: Mapping[Any, Any]) -> Iterable[tuple[str, object]]:
    for key in SINGLE:
        if key in document:
            yield key, document[key]
    for group in GROUPS:
        for name, raw in _mapping(place, group, document.get(group)).items():
            yield f"{group}.{name}", raw
    operations = _mapping(place, "operations", document.get("operations"))
    check_keys(place, "operations.", operations, sorted(OPERATIONS), "operation")
    for operation, arguments in operations.items():
        given = _mapping(place, f"operations.{operation}", arguments)
        for name, raw in given.items():
            if name in NESTED and any(key.startswith(f"{operation}.{name}.") for key in KEYS):
                inner = _mapping(place, f"operations.{operation}.{name}", raw)
                yield from ((f"{operation}.{name}.{key}", item) for key, item in inner.items())
            else:
                yield f"{operation}.{name}", raw


def _mapping(place: str, name: str, found: object) -> Mapping[Any, Any]:
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise ConfigError(f"{place} is wrong at {name}: it must hold keys and values.")
    return found


def check_keys(
    place: str, prefix: str, found: Iterable[Any], known: Iterable[str], what: str = "key"
) -> None:
    names = list(known)
    for key in found:
        if key not in names:
            raise ConfigError(
                f"{place} is wrong at {prefix}{key}: There is no {what} {str(key)!r}.",
                next_step=suggest(str(key), names),
            )


def policy_document(name: str, match: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    """A policy as it is written in neve.yaml, from values by key."""
    document: dict[str, Any] = {"name": name}
    for part, value in match.items():
        _put(document, ["match", part], value)
    for key, value in values.items():
        operation, _, rest = key.partition(".")
        if operation not in OPERATIONS:
            _put(document, key.split("."), value)
            continue
        head, _, tail = rest.partition(".")
        path = [head, tail] if tail else [head]
        _put(document, ["operations", operation, *path], value)
    return document


def _put(document: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        document = document.setdefault(name, {})
    if isinstance(value, time):
        value = f"{value:%H:%M}"
    document[path[-1]] = list(value) if isinstance(value, tuple) else value
