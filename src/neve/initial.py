"""The text of a first neve.yaml: catalogs that are there already, and the rest as comments."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import yaml

from neve.model.errors import ConfigError
from neve.settings import DEFAULT_CATALOG, EMBEDDED_CATALOG

Catalogs = dict[str, dict[str, str]]

HEAD = """\
# Configuration of Neve. Every section may be left out; relative paths mean relative to this file.
# ${VAR} and ${VAR:-default} are replaced from the environment: secrets belong there.
"""
REST = """
# spark:
#   master: "local[*]"           # or spark://host:7077
#   conf: {spark.driver.memory: 2g}

# state:
#   url: "sqlite:///.neve/state.db"   # or redis://host:6379/0 for several machines

# compaction:
#   target_file_size: 128MB
#   undo_window_days: 7          # how long the state before a job is kept

# maintain:
#   parallel_tables: 4

# What removes files for good runs only where a policy asks for it:
# policies:
#   - name: clean
#     match: {tables: ["*"]}
#     operations:
#       expire_snapshots: {older_than: 7d, retain_last: 1}
#       remove_orphan_files: {}
"""


class Source(StrEnum):
    """Where the catalogs of a first configuration come from."""

    PYICEBERG = "pyiceberg"
    STACK = "stack"
    EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class InitialFile:
    """A configuration that is to be written."""

    text: str
    source: Source
    #: Where from, in words.
    says: str
    catalogs: Catalogs


def initial_file(source: Source | None, environ: Mapping[str, str] | None = None) -> InitialFile:
    """The configuration from the named place, or from the first that has anything."""
    environ = os.environ if environ is None else environ
    for candidate in [source] if source else list(Source):
        path, catalogs = _catalogs(candidate, environ)
        if catalogs:
            says = "the embedded lakehouse" if path is None else str(path)
            return InitialFile(_text(catalogs, candidate), candidate, says, catalogs)
    raise ConfigError(
        f"There are no catalogs to take from {path or source}.",
        next_step="Leave --from out, or write the catalog into the file yourself.",
    )


def _catalogs(source: Source, environ: Mapping[str, str]) -> tuple[Path | None, Catalogs]:
    if source is Source.EMBEDDED:
        return None, {DEFAULT_CATALOG: dict(EMBEDDED_CATALOG)}
    if source is Source.PYICEBERG:
        home = environ.get("PYICEBERG_HOME") or environ.get("HOME") or "~"
        path = Path(home).expanduser() / ".pyiceberg.yaml"
        return path, _pyiceberg(path)
    folder = environ.get("NEVE_STACK_HOME") or Path(".neve") / "stack"
    path = Path(environ.get("NEVE_STACK_JSON") or Path(folder) / "stack.json")
    return path, _stack(path)


def _pyiceberg(path: Path) -> Catalogs:
    """Catalogs that pyiceberg knows already."""
    if not path.is_file():
        return {}
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error
    found = document.get("catalog") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        return {}
    return {
        str(name): {str(key): _text_of(value) for key, value in properties.items()}
        for name, properties in found.items()
        if isinstance(properties, dict)
    }


def _stack(path: Path) -> Catalogs:
    """The catalog and the store of parts that run on this machine."""
    if not path.is_file():
        return {}
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        catalog = {"type": "rest", "uri": str(facts["rest"]["uri"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} does not tell of a REST catalog: {error}.", next_step="Run make stack-up."
        ) from error
    store = facts.get("s3") or {}
    names = {
        "s3.endpoint": "endpoint",
        "s3.access-key-id": "access_key",
        "s3.secret-access-key": "secret_key",
        "s3.region": "region",
    }
    known = {key: str(store[name]) for key, name in names.items() if name in store}
    return {"stack": {**catalog, **known}}


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(catalogs: Catalogs, source: Source) -> str:
    if source is Source.PYICEBERG:
        # Neve reads them there; a copy would be a second place for their secrets.
        return "\n".join([HEAD, *_by_reference(list(catalogs)), REST])
    lines = [HEAD, "catalogs:"]
    for name, properties in catalogs.items():
        lines.append(f"  {_quoted(name)}:")
        # What looks like a variable would be replaced.
        lines += [
            f"    {_quoted(key)}: {_quoted(text.replace('${', '$${'))}"
            for key, text in properties.items()
        ]
    return "\n".join([*lines, REST])


def _by_reference(names: list[str]) -> list[str]:
    return [
        "# Catalogs that are not named here are those of ~/.pyiceberg.yaml: " + ", ".join(names),
        "catalogs: {}",
        f"default_catalog: {_quoted(names[0])}",
    ]


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z_][\w.-]*", text) else json.dumps(text)
