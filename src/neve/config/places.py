"""Reading parts of a document, with the place of whatever is wrong; values are never shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from neve.model.errors import ConfigError, InputError
from neve.model.policies import Value
from neve.policy.documents import check_keys
from neve.policy.effective import read_error

CONFIGURATION = "The configuration"


def wrong_at(path: str, why: str, next_step: str | None = None) -> ConfigError:
    return ConfigError(f"{CONFIGURATION} is wrong at {path}: {why}", next_step=next_step)


def mapping_at(path: str, found: object, known: Iterable[str] | None = None) -> Mapping[str, Any]:
    """Keys and values; with `known`, a key that is none of those is an error."""
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise wrong_at(path, "it must hold keys and values.")
    if known is not None:
        check_keys(CONFIGURATION, f"{path}.", found, known)
    return {str(key): value for key, value in found.items()}


def value_at(path: str, raw: object, read: Callable[[object], Value]) -> Value:
    """The checked value, or an error with its place."""
    try:
        return read(raw)
    except InputError as error:
        raise read_error(CONFIGURATION, path, error) from error
