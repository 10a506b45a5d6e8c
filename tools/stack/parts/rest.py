"""The catalog: Iceberg's own REST server over a SQLite file, kept to loopback by a small main.

It is meant for tests: it asks nobody for a password.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import web
from fetching import maven_copy, once
from javas import find_java
from layout import LOOPBACK, Facts, Stack, write_properties
from processes import Launch

from parts.s3 import catalog_properties

NEEDS: tuple[str, ...] = ("s3",)
IS_DEFAULT = True
VERSION = "1.10.1"
MAIN = Path(__file__).with_name("RestOnLoopback.java")


def fetch(cache: Path) -> Path:
    def fill(folder: Path) -> None:
        jar = maven_copy(f"org.apache.iceberg:iceberg-open-api:{VERSION}", folder)
        jar.rename(folder / "server.jar")

    return once(cache / f"iceberg-rest-{VERSION}", fill)


def start(stack: Stack, installed: Path) -> Launch:
    port = stack.port("rest")
    storage = stack.facts["s3"]
    data = stack.data_folder("rest")
    warehouse = f"s3://{storage['bucket']}/wh"
    settings = data / "catalog.properties"
    write_properties(
        settings,
        {
            "uri": f"jdbc:sqlite:file:{data / 'catalog.db'}",
            "jdbc.schema-version": "V1",
            # SQLite locks the whole file: with two connections, writers at once get "locked".
            "clients": "1",
            "jdbc.busy_timeout": "30000",
            "warehouse": warehouse,
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "s3.endpoint": storage["endpoint"],
            "s3.path-style-access": "true",
            "s3.access-key-id": storage["access_key"],
            "s3.secret-access-key": storage["secret_key"],
            "client.region": storage["region"],
            # The defaults wait for a minute on a storage that is down, which tests take down.
            "s3.retry.num-retries": "2",
            "s3.retry.min-wait-ms": "100",
            "s3.retry.max-wait-ms": "500",
        },
    )
    # Its Hadoop classes do not load on Java 24, which has no security manager any more.
    java = find_java(at_least=17, below=24, wanted_by="The REST catalog")
    command = [java / "bin" / "java", "-Xmx512m", "-cp", installed / "server.jar", MAIN]
    return Launch(
        command=[*map(str, command), str(port), str(settings)],
        facts={"uri": f"http://{LOOPBACK}:{port}", "port": port, "warehouse": warehouse},
    )


def ready(facts: Facts) -> bool:
    return web.get(facts["uri"] + "/v1/config") is not None


def settings(facts: dict[str, Facts]) -> dict[str, Any]:
    own = {"type": "rest", "uri": facts["rest"]["uri"], **catalog_properties(facts)}
    # Under the name that Trino has for it.
    return {"catalogs": {"iceberg": own}}
