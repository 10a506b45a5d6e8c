"""Which code this is: executors are asked for it, and may have nothing else installed."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

#: Of the whole package.
FOLDER = Path(__file__).parents[1]


def own_files() -> list[Path]:
    """All files of this package, in their order."""
    found = (path for path in FOLDER.rglob("*") if "__pycache__" not in path.parts)
    return sorted(path for path in found if path.is_file())


@cache
def own_digest() -> str:
    """Of the code of this package: where it is the same, tasks do the same."""
    digest = hashlib.sha256()
    for path in own_files():
        if path.suffix == ".py":
            digest.update(f"{path.relative_to(FOLDER).as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
