"""Environment variables in a configuration file, by the forms that compose files and Trino use."""

from __future__ import annotations

import re
from collections.abc import Mapping

from neve.model.errors import ConfigError

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
#: An escape, a variable of one of the forms, or what only looks like one.
VARIABLE = re.compile(
    rf"(?P<escape>\$\$\{{)"
    rf"|\$\{{ENV:(?P<trino>{_NAME})\}}"
    rf"|\$\{{(?P<name>{_NAME})(?:(?P<kind>:-|:\?)(?P<rest>[^}}]*))?\}}"
    rf"|(?P<odd>\$\{{{_NAME}(?:[-+?=:][^}}]*)?(?:\}}|$))"
)
FORMS = "${VAR}, ${VAR:-default}, ${VAR:?message} and ${ENV:VAR}"


def expand_variables(value: object, environ: Mapping[str, str], path: str = "") -> object:
    """Replace ${VAR}, ${VAR:-default}, ${VAR:?message} and ${ENV:VAR} in every text of the value.

    This happens after YAML was read, so that a variable's text cannot change the structure. `$${`
    stands for the two characters themselves.
    """
    if isinstance(value, dict):
        return {
            key: expand_variables(item, environ, f"{path}.{key}" if path else str(key))
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [
            expand_variables(item, environ, f"{path}[{number}]")
            for number, item in enumerate(value)
        ]
    if not isinstance(value, str):
        return value
    return VARIABLE.sub(lambda found: _replace(found, environ, path), value)


def _replace(found: re.Match[str], environ: Mapping[str, str], path: str) -> str:
    if found["escape"]:
        return "${"
    if found["odd"]:
        # What stands in it may be a secret, so that only its place is told.
        raise ConfigError(
            f"The configuration has a variable that cannot be read at {path or 'its top'}.",
            next_step=f"Write one of {FORMS}, or $${{ for the two characters themselves.",
        )
    name, kind, rest = found["trino"] or found["name"], found["kind"], found["rest"]
    # As in shells, an empty variable counts as missing where a default or message is given.
    if environ.get(name) or (name in environ and kind is None):
        return environ[name]
    if kind == ":-":
        return str(rest)
    where = f" for {path}" if path else ""
    why = f": {rest}" if kind == ":?" and rest else ""
    raise ConfigError(
        f"The configuration needs the environment variable {name}{where}{why}.",
        next_step=f"Set {name}, or write ${{{name}:-default}} in the file.",
    )
