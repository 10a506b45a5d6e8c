from __future__ import annotations

import pytest

from neve.model.errors import ConfigError
from neve.spark.conf import REST_TIMEOUTS, SPARK_CATALOG, catalog_conf, catalog_type, packages
from neve.spark.jars import AWS_BUNDLE, POSTGRES_DRIVER, SPARK_RUNTIME, SQLITE_DRIVER

JDBC = {"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", "jdbc.schema-version": "V1"}
S3_IO = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}


def conf(**properties):
    """The configuration of a catalog `c`, without the prefix of its keys."""
    given = {key.replace("__", ".").replace("_", "-"): value for key, value in properties.items()}
    found = catalog_conf("c", given)
    assert found.pop("spark.sql.catalog.c") == SPARK_CATALOG
    return {key.removeprefix("spark.sql.catalog.c."): value for key, value in found.items()}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (
            {"type": "sql", "uri": "sqlite:////data/c.db", "warehouse": "file:///data/wh"},
            {**JDBC, "uri": "jdbc:sqlite:/data/c.db", "warehouse": "file:///data/wh"},
        ),
        (
            {"type": "sql", "uri": "postgresql+psycopg2://me:secret@host:5433/db"},
            {
                **JDBC,
                "uri": "jdbc:postgresql://host:5433/db",
                "jdbc.user": "me",
                "jdbc.password": "secret",
            },
        ),
        (
            {"type": "sql", "uri": "postgresql://host/db", "echo": "true"},
            {**JDBC, "uri": "jdbc:postgresql://host/db"},
        ),
        (
            {"type": "rest", "uri": "http://c", "warehouse": "prod", "credential": "id:secret"},
            {"type": "rest", "uri": "http://c", "warehouse": "prod", "credential": "id:secret"},
        ),
        ({"type": "nessie", "uri": "http://c/"}, {"type": "rest", "uri": "http://c/iceberg"}),
        (
            {"type": "nessie", "uri": "http://c/iceberg/dev"},
            {"type": "rest", "uri": "http://c/iceberg/dev"},
        ),
        ({"type": "hive", "uri": "thrift://h:9083"}, {"type": "hive", "uri": "thrift://h:9083"}),
        (
            {"type": "glue", "glue__region": "eu-west-1", "py_io_impl": "x"},
            {"type": "glue", "client.region": "eu-west-1"},
        ),
    ],
    ids=["sqlite", "postgres", "no-user", "rest", "nessie", "nessie-branch", "hive", "glue"],
)
def test_a_catalog_is_configured_for_spark(properties, expected):
    timeouts = REST_TIMEOUTS if expected.get("type") == "rest" else {}
    assert conf(**properties) == {**timeouts, **expected, "cache-enabled": "false"}


def test_a_users_own_timeout_wins():
    found = conf(type="rest", uri="http://c", rest__client__socket_timeout_ms="5")

    assert found["rest.client.socket-timeout-ms"] == "5"


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"warehouse": "s3://b/wh"}, S3_IO),
        ({"warehouse": "s3a://b/wh"}, S3_IO),
        (
            {"s3__endpoint": "http://s3", "s3__region": "eu"},
            {**S3_IO, "s3.path-style-access": "true", "client.region": "eu"},
        ),
        (
            {"s3__endpoint": "http://s3", "s3__force_virtual_addressing": "True"},
            {**S3_IO, "s3.path-style-access": "false"},
        ),
        (
            {"s3__endpoint": "http://s3", "s3__path_style_access": "false"},
            {**S3_IO, "s3.path-style-access": "false"},
        ),
        ({"s3__access_key_id": "k", "io_impl": "my.IO"}, {"io-impl": "my.IO"}),
    ],
)
def test_s3_is_configured_for_spark(properties, expected):
    found = conf(type="rest", uri="http://c", **properties)

    assert {key: found[key] for key in expected} == expected


def test_what_the_user_says_about_caching_stays():
    assert conf(type="rest", uri="http://c", cache_enabled="true")["cache-enabled"] == "true"


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("http://c", "rest"),
        ("https://c", "rest"),
        ("thrift://c", "hive"),
        ("sqlite:///c.db", "sql"),
        ("postgresql+psycopg2://c/db", "sql"),
    ],
)
def test_a_bare_address_tells_the_kind(uri, kind):
    assert catalog_type("c", {"uri": uri}) == kind


@pytest.mark.parametrize(
    "properties",
    [{}, {"type": "dynamodb"}, {"uri": "gopher://c"}, {"type": "sql", "uri": "mysql://h/db"}],
)
def test_a_catalog_that_spark_cannot_use_is_refused(properties):
    with pytest.raises(ConfigError, match="Catalog c ") as refusal:
        catalog_conf("c", properties)

    assert refusal.value.next_step.startswith("Use ")


@pytest.mark.parametrize(
    ("properties", "extra"),
    [
        ({"type": "rest", "uri": "http://c"}, []),
        ({"type": "sql", "uri": "sqlite:///c.db"}, [SQLITE_DRIVER]),
        ({"type": "sql", "uri": "postgresql://h/db"}, [POSTGRES_DRIVER]),
        ({"type": "glue"}, [AWS_BUNDLE]),
        ({"type": "rest", "uri": "http://c", "s3.region": "eu"}, [AWS_BUNDLE]),
    ],
)
def test_a_catalog_needs_its_jars_and_no_others(properties, extra):
    assert packages({"a": properties, "b": properties}) == sorted([SPARK_RUNTIME, *extra])
