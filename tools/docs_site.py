"""A hook of mkdocs: pages that the navigation does not name are listed at its end, by folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    folder = Path(config["docs_dir"])
    named = set(_pages(config["nav"]))
    others: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*.md")):
        page = path.relative_to(folder)
        if page.as_posix() not in named:
            others[page.parts[0] if len(page.parts) > 1 else "more"].append(page.as_posix())
    config["nav"] += [{name.capitalize(): pages} for name, pages in sorted(others.items())]
    return config


def _pages(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
        return
    for inner in entry if isinstance(entry, list) else entry.values():
        yield from _pages(inner)
