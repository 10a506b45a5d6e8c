"""What a process that reads files of strangers may take, and what it is told of the server's."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Mapping
from pathlib import Path

from neve.model.database import QueryLimits

#: Names of variables that reading needs: where things are, and how storage is reached.
KEPT_PREFIXES = ("AWS_", "AZURE_", "GOOGLE_", "LC_")
KEPT = frozenset(
    (
        "HOME",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "LANG",
        "LD_LIBRARY_PATH",
        "NO_PROXY",
        "PATH",
        "REQUESTS_CA_BUNDLE",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TMPDIR",
        "TZ",
    )
)
#: Arrow's own pools reserve addresses far beyond what they use, which a limit would count.
OWN = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
#: Stacks of threads, buffers of sockets, and what decoding takes besides its result.
HEADROOM_BYTES = 512 * 1024 * 1024
#: How much longer than its time a query may take to say so.
GRACE_SECONDS = 1.0
MAX_OPEN_FILES = 256


def environment(variables: Mapping[str, str], places: list[str]) -> dict[str, str]:
    """The variables that reading needs, and where Python finds its modules; no other secret."""
    kept = {
        name: value
        for name, value in variables.items()
        if name.upper() in KEPT or name.startswith(KEPT_PREFIXES)
    }
    return {**kept, **OWN, "PYTHONPATH": os.pathsep.join(place for place in places if place)}


def confine(limits: QueryLimits, seconds: float) -> None:
    """From now on, the system ends this process where it takes more than it may."""
    allowed = limits.memory_bytes + 2 * limits.max_scan_bytes + HEADROOM_BYTES
    if (own := _address_bytes()) is not None:
        _limit(resource.RLIMIT_AS, own + allowed)
    _limit(resource.RLIMIT_CORE, 0)
    # It has nothing to write.
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # Also in the middle of a decoder that never asks what time it is.
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.0) + GRACE_SECONDS)


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (allowed, allowed))


def _address_bytes() -> int | None:
    """What the libraries take of addresses by themselves; None where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except (OSError, ValueError):
        return None
    return pages * resource.getpagesize()
