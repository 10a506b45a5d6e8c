"""Where promtool is; it is fetched once where this machine has none.

It comes with Debian's package of Prometheus, of which nothing is installed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from fetching import debian_package, once
from layout import cache_folder

PROGRAM = "promtool"


def promtool() -> Path:
    """The program of this machine, or one in the cache."""
    if found := shutil.which(PROGRAM):
        return Path(found)
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    folder = once(cache / "prometheus", lambda into: debian_package("prometheus", into))
    return folder / "usr" / "bin" / PROGRAM
