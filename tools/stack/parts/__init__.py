"""The parts of the stack, one file each.

A part is a module with `NEEDS` (the parts that must run before it), `IS_DEFAULT` (whether it is
started when nobody names parts) and three functions:

- `fetch(cache)` brings it onto this machine and returns its folder; cheap when it is there.
- `start(stack, installed)` writes its settings and returns the `Launch` that runs it.
- `ready(facts)` asks it whether it can be used.

One that Neve talks to has a fourth, `settings(facts)`: what of neve.yaml it accounts for, from the
facts of all parts. A new part is a new file, and nothing else.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Protocol, cast

from layout import Facts, Stack
from processes import Launch


class Part(Protocol):
    NEEDS: tuple[str, ...]
    IS_DEFAULT: bool

    def fetch(self, cache: Path) -> Path: ...
    def start(self, stack: Stack, installed: Path) -> Launch: ...
    def ready(self, facts: Facts) -> bool: ...


def _found() -> dict[str, Part]:
    """All modules of this folder, in the order of starting."""
    parts = {
        module.name: cast(Part, import_module(f"{__name__}.{module.name}"))
        for module in iter_modules(__path__)
    }

    def place(name: str) -> int:
        return 1 + max(map(place, parts[name].NEEDS), default=0)

    return {name: parts[name] for name in sorted(parts, key=lambda name: (place(name), name))}


PARTS = _found()
DEFAULT = [name for name, part in PARTS.items() if part.IS_DEFAULT]


def with_needs(names: list[str]) -> list[str]:
    """The named parts and all that they need, in the order of starting."""
    wanted: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += PARTS[name].NEEDS
    return [name for name in PARTS if name in wanted]


def neve_settings(name: str, facts: dict[str, Facts]) -> dict[str, Any]:
    """What of neve.yaml the part accounts for."""
    settings = getattr(PARTS[name], "settings", None)
    return settings(facts) if settings else {}
