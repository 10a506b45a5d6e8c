"""The parts of the stack, one file each.

A part is a module with `NEEDS` (the parts that must run before it) and three functions:

- `fetch(cache)` brings it onto this machine and returns its folder; cheap when it is there.
- `start(stack, installed)` writes its settings and returns the `Launch` that runs it.
- `ready(facts)` asks it whether it can be used.

A new part is a new file and a line here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from layout import Facts, Stack
from processes import Launch

from parts import rest, s3, trino


class Part(Protocol):
    NEEDS: tuple[str, ...]

    def fetch(self, cache: Path) -> Path: ...
    def start(self, stack: Stack, installed: Path) -> Launch: ...
    def ready(self, facts: Facts) -> bool: ...


# In the order of starting.
PARTS: dict[str, Part] = {"s3": s3, "rest": rest, "trino": trino}


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
