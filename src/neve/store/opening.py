"""Which store a URL means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from neve.model.errors import ConfigError, EnvironmentProblem
from neve.retries import keep_output_clean
from neve.store.address import check_address, is_redis
from neve.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from neve.store.redis.store import RedisStore

SQLITE = "sqlite:///"


def open_store(url: str, prefix: str = "neve") -> SqliteStore | RedisStore:
    """The store, without asking it anything yet."""
    return open_redis(url, prefix) if is_redis(url) else SqliteStore(sqlite_path(url))


def open_redis(url: str, prefix: str) -> RedisStore:
    check_address(url)
    try:
        # Whoever keeps the state in a file needs neither of its packages.
        from neve.store.redis.store import RedisStore
    except ImportError as error:
        raise EnvironmentProblem(
            f"state.url needs the package {error.name}, which is not installed.",
            next_step="pip install 'neve[redis]'",
        ) from error
    keep_output_clean()
    return RedisStore(url, prefix=prefix)


def sqlite_path(url: str) -> Path:
    if not url.startswith(SQLITE):
        # A URL may hold a password, so that only its scheme is said.
        scheme = url.partition(":")[0] if "://" in url else "no scheme"
        raise ConfigError(
            f"state.url has {scheme}, which is not supported.",
            next_step="Write sqlite:/// and a path, or redis:// and a host.",
        )
    return Path(url.removeprefix(SQLITE))
