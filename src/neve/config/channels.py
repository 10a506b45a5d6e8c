"""Addresses of notices: policies name channels, and only the configuration knows addresses.

A policy may hold an address itself. It is moved to the channels under a name, so that no policy, no
table property and nothing that shows one holds a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neve.config.places import mapping_at, value_at, wrong_at
from neve.policy import values as read

SECTION = "notifications"
EVENTS = ("failures", "recoveries", "digest")


def with_channels(values: dict[str, Any]) -> dict[str, Any]:
    """The document with every address of a notice under `notifications.channels`."""
    policies = values.get("policies")
    section = values.get(SECTION)
    if section is not None and not isinstance(section, Mapping):
        raise wrong_at(SECTION, "it must hold keys and values.")
    own = dict(section or {})
    channels = dict(mapping_at(f"{SECTION}.channels", own.get("channels")))
    for name, address in channels.items():
        if not isinstance(address, str) or "://" not in address:
            raise wrong_at(
                f"{SECTION}.channels.{name}",
                "it is not an address.",
                "Write it as apprise knows it, for example mailto://user:password@example.com.",
            )
    _name_addresses(own, SECTION, SECTION, channels)
    if isinstance(policies, list):
        values["policies"] = [_of_policy(policy, channels) for policy in policies]
    if own or channels:
        values[SECTION] = {**own, "channels": channels}
    return values


def _of_policy(policy: Any, channels: dict[str, str]) -> Any:
    if not isinstance(policy, Mapping) or not isinstance(policy.get("notify"), Mapping):
        return policy
    notify = dict(policy["notify"])
    name = str(policy.get("name"))
    _name_addresses(notify, name, f"policies {name!r}.notify", channels)
    return {**policy, "notify": notify}


def _name_addresses(said: dict[str, Any], owner: str, path: str, channels: dict[str, str]) -> None:
    """Put names in the place of addresses, and refuse names of no channel."""
    for event in EVENTS:
        if event not in said:
            continue
        names = []
        for number, item in enumerate(_items(f"{path}.{event}", said[event])):
            if "://" in item:
                made = f"{owner}.{event}" + (f".{number}" if number else "")
                channels[made] = item
                item = made
            if item not in channels:
                raise wrong_at(
                    f"{path}.{event}",
                    f"there is no channel {item!r}.",
                    read.suggest(item, channels) if channels else f"Add {SECTION}.channels.",
                )
            names.append(item)
        said[event] = names


def _items(path: str, raw: object) -> tuple[str, ...]:
    # An address may have commas in it, and an error must not repeat one.
    if isinstance(raw, str) and "://" in raw:
        return (raw.strip(),)
    if isinstance(raw, list) and raw and all(isinstance(item, str) for item in raw):
        return tuple(item.strip() for item in raw)
    if isinstance(raw, str):
        names = value_at(path, raw, read.words)
        assert isinstance(names, tuple)
        return names
    raise wrong_at(path, "it is not a list of channels.")
