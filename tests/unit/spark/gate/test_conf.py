"""Which catalogs go through the gate, and what Spark is told then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from neve.model.errors import ConfigError
from neve.spark.conf import catalog_conf
from neve.spark.gate import session
from neve.spark.gate.conf import upstream_of, why_not_gated
from neve.spark.gate.session import close_gate, through_the_gate

REST = {"type": "rest", "uri": "https://catalog.example/api", "token": "t"}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_gate()
    assert session._gate is None


def conf(properties, **extra):
    settings = {**catalog_conf("c", properties), **extra}
    found = through_the_gate(settings, ["c"], is_local=True)
    return settings, {k.removeprefix("spark.sql.catalog.c."): v for k, v in found.items()}


@pytest.mark.parametrize(
    "properties",
    [REST, {"uri": "http://catalog"}, {"type": "nessie", "uri": "http://nessie:19120"}],
    ids=["rest", "bare address", "nessie"],
)
def test_a_rest_catalog_goes_through_the_gate(properties):
    settings, found = conf(properties)

    assert found["uri"].startswith("http://127.0.0.1:")
    assert found["rest.client.socket-timeout-ms"] == "1040000"
    changed = {"uri", "rest.client.socket-timeout-ms"}
    kept = {k.removeprefix("spark.sql.catalog.c."): v for k, v in settings.items()}
    assert {k: v for k, v in found.items() if k not in changed} == {
        k: v for k, v in kept.items() if k not in changed
    }


@pytest.mark.parametrize(
    "properties",
    [
        {"type": "sql", "uri": "sqlite:///c.db"},
        {"type": "hive", "uri": "thrift://h"},
        {"type": "glue"},
        {**REST, "rest.sigv4-enabled": "true"},
        {**REST, "rest.auth.type": "SigV4"},
        {**REST, "rest.client.tls.configurer-impl": "my.Tls"},
        {"type": "rest", "uri": "env:URI"},
    ],
)
def test_other_catalogs_are_reached_as_before(properties):
    settings, _ = conf(properties)

    assert through_the_gate(settings, ["c"], is_local=True) == settings
    assert session._gate is None


def test_an_address_that_the_user_gave_spark_stays():
    settings = {**catalog_conf("c", REST), "spark.sql.catalog.c.uri": "http://mine"}
    chosen = ["spark.sql.catalog.c.uri"]

    assert through_the_gate(settings, ["c"], is_local=True, chosen=chosen) == settings


def test_a_catalog_has_one_address_for_as_long_as_the_gate_is_open():
    first, again = conf(REST)[1]["uri"], conf(REST)[1]["uri"]
    other = conf({**REST, "uri": "https://other.example"})[1]["uri"]

    assert first == again != other


def test_what_asks_a_proxy_is_the_gate():
    proxy = {"hostname": "p", "port": "3128", "username": "me", "password": "p@ss"}
    properties = {**REST, **{f"rest.client.proxy.{k}": v for k, v in proxy.items()}}
    _, found = conf(properties)

    assert not [key for key in found if key.startswith("rest.client.proxy")]
    values = {"rest.client.connection-timeout-ms": "1", "rest.client.socket-timeout-ms": "2000"}
    upstream = upstream_of("c", {**values, **properties})
    assert upstream.proxies["https"] == "http://me:p%40ss@p:3128"
    assert (upstream.connect_seconds, upstream.read_seconds) == (0.001, 2.0)
    assert "p%40ss" not in repr(upstream)


def test_a_timeout_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="socket-timeout-ms: soon"):
        conf({**REST, "rest.client.socket-timeout-ms": "soon"})


def test_the_reason_is_said():
    assert why_not_gated(REST) is None
    assert "SigV4" in str(why_not_gated({"rest.sigv4-enabled": "true"}))
    assert "Java class" in str(why_not_gated({"rest.client.tls.configurer-impl": "x"}))
