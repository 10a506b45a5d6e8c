"""Make docs/reference from the program itself: python tools/reference/write.py docs/reference"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import command_line
import configuration
import errors
import metrics
import policies

import json_documents

PAGES: dict[str, Callable[[], str]] = {
    "command-line.md": command_line.page,
    "configuration.md": configuration.page,
    "policies.md": policies.page,
    "metrics.md": metrics.page,
    "json.md": json_documents.page,
    "errors.md": errors.page,
}
NOTE = "<!-- Made from the program by `make reference`; do not write here by hand. -->\n\n"


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(NOTE + page().rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
