"""Policies that are set while Neve runs: checked by the same door as those of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from neve.config.channels import with_channels
from neve.model.errors import ConfigError, InputError
from neve.model.policies import PolicyRule
from neve.model.stored_policy import MAX_POLICIES, MAX_POLICY_BYTES, StoredPolicy
from neve.policy.documents import read_policies

#: What `policy explain` says of a value that such a policy sets.
ORIGIN = "set through the API"


def rule_of(stored: StoredPolicy) -> PolicyRule:
    """The policy; one that this Neve cannot read is an error, since it may turn something off."""
    return _read(stored.document)


@lru_cache(maxsize=4 * MAX_POLICIES)
def _read(document: str) -> PolicyRule:
    (rule,) = read_policies([json.loads(document)])
    return replace(rule, origin=ORIGIN)


def policy_text(name: str, document: Mapping[str, Any], channels: Mapping[str, str]) -> str:
    """The policy as it is kept, or an InputError that says what is wrong with it."""
    if document.get("name", name) != name:
        raise InputError(
            f"The document is of the policy {document['name']!r}, and not of {name!r}.",
            next_step="Leave its name out, or set it under that name.",
        )
    named = {"name": name, **document}
    _refuse_addresses(named, channels)
    text = _text(named)
    try:
        _read(text)
    except ConfigError as error:
        raise InputError(error.message, next_step=error.next_step) from error
    return text


def filters_of(text: str) -> list[str]:
    """What the policy says about which rows, in its own words."""
    values = _read(text).values
    return [str(value) for key, value in values.items() if key.endswith(".where")]


def _text(document: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(document, allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
    except ValueError as error:
        raise InputError(
            "The policy has a number or a character that cannot be kept.",
            next_step="Leave out NaN, infinities and halves of characters.",
        ) from error
    if size > MAX_POLICY_BYTES:
        raise InputError(f"The policy has {size:,} bytes; {MAX_POLICY_BYTES:,} are kept at most.")
    return text


def _refuse_addresses(document: Mapping[str, Any], channels: Mapping[str, str]) -> None:
    """Only the configuration knows addresses, which are secrets; others name its channels."""
    notices = {"channels": dict(channels)}
    try:
        made = with_channels({"policies": [document], "notifications": notices})
    except ConfigError as error:
        raise InputError(error.message, next_step=error.next_step) from error
    if made["notifications"]["channels"] != dict(channels):
        raise InputError(
            "notify holds an address, and this policy may only name channels.",
            next_step="Add the address to notifications.channels of the configuration.",
        )


def check_room(kept: list[StoredPolicy], name: str) -> None:
    if len(kept) >= MAX_POLICIES and all(policy.name != name for policy in kept):
        raise InputError(
            f"{MAX_POLICIES:,} policies are kept already.", next_step="Remove one of them."
        )
