"""Nessie: a catalog with branches, through its Iceberg REST endpoint, over the stack's storage."""

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
IS_DEFAULT = False
VERSION = "0.99.0"
WAREHOUSE = "warehouse"
SECRET = "neve.stack.s3"


def fetch(cache: Path) -> Path:
    def fill(folder: Path) -> None:
        coordinates = f"org.projectnessie.nessie:nessie-quarkus:{VERSION}:jar:runner"
        maven_copy(coordinates, folder).rename(folder / "server.jar")

    return once(cache / f"nessie-{VERSION}", fill)


def start(stack: Stack, installed: Path) -> Launch:
    port = stack.port("nessie")
    data = stack.data_folder("nessie")
    storage = stack.facts["s3"]
    location = f"s3://{storage['bucket']}/nessie"
    properties = data / "application.properties"
    write_properties(properties, _server(port, data) | _catalog(storage, location))
    java = find_java(at_least=21, below=None, wanted_by="Nessie")
    return Launch(
        command=[
            str(java / "bin" / "java"),
            "-Xmx512m",
            f"-Dsmallrye.config.locations={properties.as_uri()}",
            "-jar",
            str(installed / "server.jar"),
        ],
        facts={"uri": f"http://{LOOPBACK}:{port}", "port": port, "warehouse": location},
    )


def ready(facts: Facts) -> bool:
    # The endpoint looks at its storage before it says what its clients need.
    return web.get(f"{facts['uri']}/iceberg/v1/config") is not None


def settings(facts: dict[str, Facts]) -> dict[str, Any]:
    own = {"type": "nessie", "uri": facts["nessie"]["uri"], **catalog_properties(facts)}
    return {"catalogs": {"nessie": own}}


def _server(port: int, data: Path) -> dict[str, str]:
    return {
        "quarkus.http.host": LOOPBACK,
        "quarkus.http.port": str(port),
        # What its operators ask is on a port of its own, which nobody needs to know here.
        "quarkus.management.host": LOOPBACK,
        "quarkus.management.port": "0",
        "quarkus.otel.sdk.disabled": "true",
        # In memory, the default, a restart would forget every table.
        "nessie.version.store.type": "ROCKSDB",
        "nessie.version.store.persist.rocks.database-path": str(data / "store"),
    }


def _catalog(storage: Facts, location: str) -> dict[str, str]:
    prefix = "nessie.catalog.service.s3.default-options"
    return {
        "nessie.catalog.default-warehouse": WAREHOUSE,
        f"nessie.catalog.warehouses.{WAREHOUSE}.location": location,
        f"{prefix}.endpoint": storage["endpoint"],
        f"{prefix}.region": storage["region"],
        f"{prefix}.path-style-access": "true",
        f"{prefix}.access-key": f"urn:nessie-secret:quarkus:{SECRET}",
        # Clients have credentials of their own, as most of Neve's users do.
        f"{prefix}.request-signing-enabled": "false",
        f"{SECRET}.name": storage["access_key"],
        f"{SECRET}.secret": storage["secret_key"],
    }
