"""Blocks of the pages in docs/: what the tests run, and what says above it that they do not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
#: Pages whose blocks are held to it, by the folder or the name.
HELD = ("start", "guides", "spark-clusters.md", "queries.md", "troubleshooting.md", "index.md")
NOT_RUN = "Not run by "
FENCE = re.compile(r"^```(\S*)(?: title=\"(.*?)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: str
    language: str
    title: str
    text: str
    #: The line above it.
    note: str

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


def pages() -> list[str]:
    """Pages that are held to it, by their names below docs/."""
    found = [path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))]
    return [name for name in found if name.split("/")[0] in HELD]


def blocks(page: str) -> list[Block]:
    text = (DOCS / page).read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        above = [line for line in text[: match.start()].splitlines() if line.strip()]
        found.append(Block(page, match[1], match[2] or "", match[3], above[-1] if above else ""))
    return found
