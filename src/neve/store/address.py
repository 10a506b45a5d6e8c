"""Where a Redis server is: a URL that is taken whole or refused, and told without secrets."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qs, urlsplit

from neve.model.errors import ConfigError

SCHEMES = ("redis", "rediss")
#: What may follow the question mark. Everything else would change what the store relies on.
OPTIONS = frozenset(
    (
        "socket_timeout",
        "socket_connect_timeout",
        "max_connections",
        "ssl_ca_certs",
        "ssl_certfile",
        "ssl_keyfile",
        "ssl_cert_reqs",
        "ssl_check_hostname",
    )
)
NEXT_STEP = (
    "Write redis://user:password@host:port/0 with special characters of user and password "
    "percent-encoded, and rediss:// for TLS."
)


def is_redis(url: str) -> bool:
    return url.partition("://")[0] in SCHEMES and "://" in url


def check_address(url: str) -> str:
    """The address without user and password, or ConfigError; nothing of the URL is in its text."""
    try:
        parts = urlsplit(url)
        host, port, options = parts.hostname, parts.port or 6379, parse_qs(parts.query)
    except ValueError:
        # What the parser says may quote a part of the password.
        raise _refused("cannot be understood") from None
    if not host:
        raise _refused("names no host")
    database = _database(parts)
    if unknown := sorted(set(options) - OPTIONS):
        raise ConfigError(
            f"state.url has an option that is not known: {unknown[0]}.",
            next_step=f"Known options: {', '.join(sorted(OPTIONS))}.",
        )
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}/{database}"


def _database(parts: SplitResult) -> int:
    text = parts.path.strip("/")
    if parts.fragment or not (text == "" or (text.isascii() and text.isdigit())):
        raise _refused("does not end with the number of a database")
    return int(text or 0)


def _refused(why: str) -> ConfigError:
    return ConfigError(f"state.url {why}.", next_step=NEXT_STEP)
