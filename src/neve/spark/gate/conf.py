"""Which catalogs of a session go through the gate, and what the JVM is told about them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from neve.model.errors import ConfigError
from neve.spark.gate.routes import wants_sigv4
from neve.spark.gate.upstream import Upstream

TLS_KEY = "rest.client.tls.configurer-impl"
PROXY_KEYS = {
    part: f"rest.client.proxy.{part}" for part in ("hostname", "port", "username", "password")
}
CONNECT_KEY = "rest.client.connection-timeout-ms"
READ_KEY = "rest.client.socket-timeout-ms"
#: The gate may ask three times, with pauses, and read the table after each: the JVM must wait.
PATIENCE = 8


def why_not_gated(values: Mapping[str, str]) -> str | None:
    """Why a REST catalog's commits do not go through the gate, if they do not."""
    if wants_sigv4(values):
        return "its requests are signed with SigV4 for its own address"
    if TLS_KEY in values:
        return f"{TLS_KEY} names a Java class that only the JVM can use"
    return None


def is_gated(values: Mapping[str, str]) -> bool:
    """Whether a catalog with this configuration for Spark goes through the gate."""
    is_rest = values.get("type") == "rest" and "catalog-impl" not in values
    is_http = values.get("uri", "").startswith(("http://", "https://"))
    return is_rest and is_http and why_not_gated(values) is None


def upstream_of(name: str, values: Mapping[str, str]) -> Upstream:
    """The real catalog, asked with the patience that its configuration gives."""
    proxy = _proxy({part: values.get(key, "") for part, key in PROXY_KEYS.items()})
    proxies = dict.fromkeys(("http", "https"), proxy) if proxy else {}
    connect, read = (_seconds(name, values, key) for key in (CONNECT_KEY, READ_KEY))
    return Upstream(values["uri"], connect, read, proxies)


def _proxy(given: Mapping[str, str]) -> str | None:
    if not given["hostname"]:
        return None
    user, password = quote(given["username"], safe=""), quote(given["password"], safe="")
    login = f"{user}:{password}@" if user else ""
    return f"http://{login}{given['hostname']}:{given['port'] or 80}"


def _seconds(name: str, values: Mapping[str, str], key: str) -> float:
    given = values[key]
    if not given.isdecimal() or int(given) == 0:
        raise ConfigError(
            f"Catalog {name} has {key}: {given}, which is not a number of milliseconds.",
            next_step=f"Give catalogs.{name} a positive number there.",
        )
    return int(given) / 1000


def gated(values: Mapping[str, str], upstream: Upstream, uri: str) -> dict[str, str]:
    """The configuration for Spark, with the gate in the catalog's place."""
    kept = {key: value for key, value in values.items() if key not in PROXY_KEYS.values()}
    wait_ms = int(PATIENCE * 1000 * (upstream.connect_seconds + upstream.read_seconds))
    return {**kept, "uri": uri, READ_KEY: str(wait_ms)}
