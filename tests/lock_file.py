"""What the lock pins, for tests that compare other files with it and install from it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
#: A pinned line, with its marker where the version depends on the Python.
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)( ;.*?)? *\\?$", re.MULTILINE)


def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins(lock: Path = LOCK) -> dict[str, set[str]]:
    """Versions by package; more than one where they depend on the Python."""
    found: dict[str, set[str]] = {}
    for name, version, _ in PINNED.findall(lock.read_text(encoding="utf-8")):
        found.setdefault(name.lower(), set()).add(version)
    return found


def pinned(package: str) -> str:
    """The one version of a package."""
    (version,) = pins()[package]
    return version


def constraints() -> str:
    """The lock without its hashes: a wheel that was just built has none."""
    text = LOCK.read_text(encoding="utf-8")
    return "".join(f"{name}=={version}{marker}\n" for name, version, marker in PINNED.findall(text))
