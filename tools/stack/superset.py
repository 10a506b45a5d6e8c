"""Superset in an environment that is made once, from a lock of its own.

Superset keeps other versions of many packages than Neve, so that it never shares an environment.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from fetching import once, uv_environment
from layout import CHECKOUT, cache_folder

LOCK = CHECKOUT / "deploy" / "superset" / "requirements.lock"


def superset() -> Path:
    """The Python of an environment with Superset in it."""
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    made = once(cache / f"superset-{digest}", lambda into: uv_environment(LOCK, into))
    return made / "bin" / "python"
