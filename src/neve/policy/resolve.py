"""Which policies are for a table, and what they come to: pure, from layers to one value.

Layers, from weak to strong: built-in defaults, the general sections of the configuration, the
matching policies by priority (those that were set while Neve runs after equal ones of the file),
properties of Apache Amoro on the table (where the configuration
asks for them), `neve.*` properties on the table, the command line. Values are merged one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from neve.model.errors import ConfigError, InputError
from neve.model.operation import Operation
from neve.model.orphans import OrphanRules
from neve.model.policies import (
    EffectivePolicy,
    PolicyBook,
    PolicyMatch,
    PolicyRule,
    Setting,
    TableMatch,
    Value,
)
from neve.model.policy import CompactionPolicy
from neve.model.table import TableRef
from neve.policy.amoro import values_of_properties
from neve.policy.effective import build, read_error
from neve.policy.keys import ENABLED, KEYS, TOGETHER, read_value, refusal
from neve.policy.values import suggest

PREFIX = "neve."
COMMAND_LINE = "command line"
OWNER_PROPERTY = "owner"
TAG_PROPERTIES = ("neve.tag", "neve.tags")
#: Properties of tables that Neve itself sets or reads, and that are not policies.
OTHER_PROPERTIES = frozenset((*TAG_PROPERTIES, "neve.demo"))


@dataclass(frozen=True, slots=True)
class Layer:
    """Values of one origin, by key."""

    values: Mapping[str, Setting]
    #: Operations that it speaks of, with the place.
    named: Mapping[Operation, str] = field(default_factory=dict)


def resolve(
    book: PolicyBook,
    table: TableRef,
    properties: Mapping[str, str],
    overrides: Mapping[str, object] | None = None,
) -> EffectivePolicy:
    """What all layers together say about the table.

    A table property that cannot be understood raises ConfigError: it is that table's own problem.
    """
    matches = tuple(
        match_rule(rule, table, properties, book.default_catalog) for rule in book.rules
    )
    chosen = [rule for rule, match in zip(book.rules, matches, strict=True) if match.matches]
    # Sorting keeps the order of the file among equals, so the later one wins.
    chosen.sort(key=lambda rule: rule.priority)
    layers = [
        Layer(book.general),
        *(_of_rule(rule) for rule in chosen),
        _of_amoro(table, properties) if book.import_amoro else Layer({}),
        _of_properties(table, properties),
        _of_overrides(overrides or {}),
    ]
    try:
        return build(table, _merge(layers), matches)
    except InputError as error:
        raise ConfigError(f"Table {table}: {error.message}", next_step=error.next_step) from error


def general_settings(
    part: str, values: CompactionPolicy | OrphanRules, chosen: Mapping[str, str]
) -> dict[str, Setting]:
    """A general section as a layer: the fields that it sets, by key, with the place of each."""
    keys = {key.field: key.name for key in KEYS.values() if key.part == part}
    return {
        keys[field]: Setting(keys[field], getattr(values, field), _in_file(place))
        for field, place in chosen.items()
    }


def chosen_setting(key: str, value: Value | None, place: str) -> dict[str, Setting]:
    """One value of a general section as a layer; nothing where it is not set."""
    return {} if value in (None, ()) else {key: Setting(key, value, _in_file(place))}


def _in_file(place: str) -> str:
    return f"{place} (neve.yaml)"


def _merge(layers: Sequence[Layer]) -> dict[str, Setting]:
    merged: dict[str, Setting] = {}
    named: dict[Operation, str] = {}
    for layer in layers:
        for group in TOGETHER:
            if any(key in layer.values for key in group):
                for key in group:
                    merged.pop(key, None)
        merged.update(layer.values)
        named.update(layer.named)
    for operation, source in named.items():
        # Speaking of an operation turns it on, but never against a layer that turned it off.
        key = f"{operation}.{ENABLED}"
        merged.setdefault(key, Setting(key, True, source))
    return merged


def _of_rule(rule: PolicyRule) -> Layer:
    source = f"policy {rule.name!r} ({rule.origin})"
    values = {
        key: Setting(key, value, _in_file(rule.places[key]) if key in rule.places else source)
        for key, value in rule.values.items()
    }
    return Layer(values, dict.fromkeys(rule.operations, source))


def _of_properties(table: TableRef, properties: Mapping[str, str]) -> Layer:
    values: dict[str, Setting] = {}
    named: dict[Operation, str] = {}
    for name, raw in sorted(properties.items()):
        if not name.startswith(PREFIX) or name in OTHER_PROPERTIES:
            continue
        key, source = name.removeprefix(PREFIX), f"table property {name}"
        try:
            values[key] = Setting(key, read_value(key, raw), source)
        except InputError as error:
            raise _property_error(table, name, error) from error
        if operation := KEYS[key].operation:
            named[operation] = source
    return Layer(values, named)


def _property_error(table: TableRef, name: str, error: InputError) -> ConfigError:
    key = name.removeprefix(PREFIX)
    if key in KEYS:
        return read_error(f"Table {table}", f"property {name}", error)
    if why := refusal(key):
        return ConfigError(
            f"Table {table} has the property {name}, which is not for policies: {why}.",
            next_step="Unset the property.",
        )
    known = [*(PREFIX + known for known in KEYS), *TAG_PROPERTIES]
    return ConfigError(
        f"Table {table} has the unknown property {name}.",
        next_step=f"{suggest(name, known)} Rename the property, or unset it.",
    )


def _of_amoro(table: TableRef, properties: Mapping[str, str]) -> Layer:
    values: dict[str, Setting] = {}
    for key, (raw, origin) in values_of_properties(properties).values.items():
        try:
            values[key] = Setting(key, read_value(key, raw), f"table property {origin} (Amoro)")
        except InputError as error:
            raise read_error(f"Table {table}", f"property {origin}", error) from error
    return Layer(values)


def _of_overrides(overrides: Mapping[str, object]) -> Layer:
    values: dict[str, Setting] = {}
    named: dict[Operation, str] = {}
    for key, raw in overrides.items():
        values[key] = Setting(key, read_value(key, raw), COMMAND_LINE)
        if operation := KEYS[key].operation:
            named[operation] = COMMAND_LINE
    return Layer(values, named)


def check_overrides(overrides: Mapping[str, object]) -> None:
    """Raise for a key that there is not, and for a value that cannot be read."""
    _of_overrides(overrides)


def match_rule(
    rule: PolicyRule, table: TableRef, properties: Mapping[str, str], default_catalog: str | None
) -> PolicyMatch:
    """Whether the policy is for the table, with the first reason against it."""
    names = _names(table, default_catalog)
    against = next(_objections(rule.match, names, properties), None)
    return PolicyMatch(rule.name, rule.priority, against is None, against or "matches")


def _names(table: TableRef, default_catalog: str | None) -> list[str]:
    """The name in full, and the short one in the default catalog, as `neve tables` takes both."""
    inner = ".".join((*table.namespace, table.name))
    short = [inner] if table.catalog == default_catalog else []
    return [f"{table.catalog}.{inner}", *short]


def _objections(
    match: TableMatch, names: Sequence[str], properties: Mapping[str, str]
) -> Iterator[str]:
    if match.tables and not _any_match(names, match.tables):
        yield f"the name does not match {' or '.join(match.tables)}"
    for glob in match.exclude:
        if _any_match(names, (glob,)):
            yield f"the name is excluded by {glob}"
    for name, glob in match.properties.items():
        if name not in properties:
            yield f"the table has no property {name}"
        elif not fnmatchcase(properties[name], glob):
            yield f"property {name} is {properties[name]!r}, not {glob!r}"
    if match.owner and not _any_match([properties.get(OWNER_PROPERTY, "")], match.owner):
        yield f"the owner is {properties.get(OWNER_PROPERTY)!r}, not {' or '.join(match.owner)}"
    if match.tag and not _any_match(table_tags(properties), match.tag):
        yield f"the table has no tag {' or '.join(match.tag)}"


def _any_match(names: Sequence[str], globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for name in names for glob in globs)


def table_tags(properties: Mapping[str, str]) -> list[str]:
    """The tags of a table, from its properties."""
    texts = (properties.get(name, "") for name in TAG_PROPERTIES)
    return [tag.strip() for text in texts for tag in text.split(",") if tag.strip()]
