"""Spark's configuration of a catalog, derived from pyiceberg's keys: one place to configure."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from neve.model.errors import ConfigError
from neve.planning import nessie
from neve.spark.jars import AWS_BUNDLE, POSTGRES_DRIVER, SPARK_RUNTIME, SQLITE_DRIVER

SPARK_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
S3_FILE_IO = "org.apache.iceberg.aws.s3.S3FileIO"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
CATALOG_IMPLEMENTATIONS = {
    "sql": {"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", "jdbc.schema-version": "V1"},
    "rest": {"type": "rest"},
    "nessie": {"type": "rest"},
    "hive": {"type": "hive"},
    "glue": {"type": "glue"},
}
#: pyiceberg's keys whose Java twins have other names.
RENAMED = {
    "s3.region": "client.region",
    "glue.region": "client.region",
    "glue.id": "glue.id",
    "glue.endpoint": "glue.endpoint",
}
#: A catalog that never answers must not hold a job for ever.
REST_TIMEOUTS = {
    "rest.client.connection-timeout-ms": "10000",
    "rest.client.socket-timeout-ms": "120000",
}
#: Keys that mean something to pyiceberg only.
PYTHON_ONLY = {"type", "py-catalog-impl", "py-io-impl", "echo", "pool_pre_ping"}


def catalog_conf(name: str, properties: Mapping[str, str]) -> dict[str, str]:
    """`spark.sql.catalog.<name>.*` for a catalog that pyiceberg knows by these properties."""
    kind = catalog_type(name, properties)
    if kind in ("sql", "nessie") and "uri" not in properties:
        raise ConfigError(
            f"Catalog {name} has no uri.", next_step=f"Set catalogs.{name}.uri in neve.yaml."
        )
    nessie.refuse_ref(name, properties)
    if kind == "nessie":
        properties = nessie.rest_properties(name, properties)
    values = dict(CATALOG_IMPLEMENTATIONS[kind])
    if values.get("type") == "rest":
        values |= REST_TIMEOUTS
    for key, value in properties.items():
        if key not in PYTHON_ONLY:
            values[RENAMED.get(key, key)] = value
    if kind == "sql":
        values.update(_jdbc(name, properties["uri"]))
    values.update(_file_io(properties))
    # A cached table may be stale for as long as somebody asks for it.
    values.setdefault("cache-enabled", "false")
    prefix = f"spark.sql.catalog.{name}"
    return {prefix: SPARK_CATALOG, **{f"{prefix}.{key}": values[key] for key in sorted(values)}}


def catalog_type(name: str, properties: Mapping[str, str]) -> str:
    """The kind of catalog; as for pyiceberg, a bare URI tells by its scheme."""
    kind = properties.get("type")
    if kind is None:
        scheme = urlsplit(properties.get("uri", "")).scheme.partition("+")[0]
        kind = {"http": "rest", "https": "rest", "thrift": "hive"}.get(scheme)
        kind = kind or ("sql" if scheme in ("sqlite", "postgresql") else None)
    if kind not in CATALOG_IMPLEMENTATIONS:
        known = ", ".join(sorted(CATALOG_IMPLEMENTATIONS))
        raise ConfigError(
            f"Catalog {name} has the type {kind!r}, which Spark cannot be configured for.",
            next_step=f"Use one of: {known}.",
        )
    return kind


def packages(catalogs: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The coordinates that sessions with these catalogs need."""
    wanted = [SPARK_RUNTIME]
    for properties in catalogs.values():
        uri = properties.get("uri", "")
        if uri.startswith("sqlite"):
            wanted.append(SQLITE_DRIVER)
        if uri.startswith("postgresql"):
            wanted.append(POSTGRES_DRIVER)
        if uses_s3(properties) or properties.get("type") == "glue":
            wanted.append(AWS_BUNDLE)
    return sorted(set(wanted))


def uses_s3(properties: Mapping[str, str]) -> bool:
    warehouse = properties.get("warehouse", "")
    return warehouse.startswith(("s3://", "s3a://")) or any(k.startswith("s3.") for k in properties)


def _jdbc(name: str, uri: str) -> dict[str, str]:
    """SQLAlchemy's URL as a JDBC URL, with user and password as properties of their own."""
    if uri.startswith("sqlite:///"):
        return {"uri": "jdbc:sqlite:" + uri.removeprefix("sqlite:///")}
    parts = urlsplit(uri)
    if parts.scheme.partition("+")[0] != "postgresql":
        raise ConfigError(
            f"Catalog {name} uses {parts.scheme}, which Spark has no driver for here.",
            next_step="Use sqlite:/// or postgresql:// for a sql catalog.",
        )
    # The part after the last @ is host and port as written, IPv6 brackets included.
    host = parts.netloc.rpartition("@")[2]
    query = f"?{parts.query}" if parts.query else ""
    values = {"uri": f"jdbc:postgresql://{host}{parts.path}{query}"}
    if parts.username:
        values["jdbc.user"] = unquote(parts.username)
    if parts.password:
        values["jdbc.password"] = unquote(parts.password)
    return values


def _file_io(properties: Mapping[str, str]) -> dict[str, str]:
    if not uses_s3(properties):
        return {}
    values = {"io-impl": properties.get("io-impl", S3_FILE_IO)}
    if "s3.path-style-access" not in properties and "s3.endpoint" in properties:
        # pyiceberg asks for virtual hosts explicitly; S3FileIO asks for paths explicitly.
        virtual = properties.get("s3.force-virtual-addressing", "false").lower() == "true"
        values["s3.path-style-access"] = "false" if virtual else "true"
    return values
