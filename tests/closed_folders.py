"""Folders into which this process may not look, also where tests run as root."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own are their owner's alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        mask = os.umask(0o022)
        try:
            yield folder
        finally:
            os.umask(mask)


@contextmanager
def closed(folder: Path) -> Iterator[None]:
    """Root looks everywhere, so that it is nobody meanwhile."""
    user = os.geteuid()
    folder.chmod(0)
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o700)
