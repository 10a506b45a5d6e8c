"""A neve.yaml for the parts that were started, which can be used as it is."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import yaml
from layout import CHECKOUT, NEVE_YAML, Stack, write_private
from parts import PARTS, neve_settings

HEAD = """\
# Written by the stack for the parts that it has started; `make stack-down` drops it.
# It holds credentials that nothing outside of this machine's loopback accepts.
"""


def write_neve_yaml(stack: Stack) -> Path:
    path = stack.home / NEVE_YAML
    write_private(path, HEAD + yaml.safe_dump(settings_of(stack), sort_keys=False))
    return path


def settings_of(stack: Stack) -> dict[str, Any]:
    """What the parts say together; the state lies beside their data where none keeps it."""
    found: dict[str, Any] = {"state": {"url": f"sqlite:///{stack.data_folder('neve')}/state.db"}}
    catalogs: dict[str, Any] = {}
    for name in PARTS:
        if name in stack.facts:
            own = neve_settings(name, stack.facts)
            catalogs |= own.pop("catalogs", {})
            found |= own
    return {"catalogs": catalogs, **found} if catalogs else found


def how_to_use(path: Path) -> str:
    """A command that can be copied into the terminal that started the stack."""
    neve = CHECKOUT / ".venv" / "bin" / "neve"
    return f"Use them with Neve: {_near(neve)} --config {_near(path)} tables"


def _near(path: Path) -> str:
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
