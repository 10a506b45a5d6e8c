"""The query engine: a Trino of one node with the Iceberg connector and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import web
from fetching import maven_copy, once, unpack
from javas import find_java
from layout import LOOPBACK, Facts, Stack, write_private, write_properties
from processes import Launch

NEEDS: tuple[str, ...] = ("s3", "rest")
IS_DEFAULT = True
VERSION = "476"
CATALOG = "iceberg"
USER = "neve"
# An empty table of the stack's own, to be scanned.
PROBE = (
    f"CREATE SCHEMA IF NOT EXISTS {CATALOG}.stack",
    f"CREATE TABLE IF NOT EXISTS {CATALOG}.stack.probe (id bigint)",
    f"SELECT count(*) FROM {CATALOG}.stack.probe",
)
JVM = """\
-server
-Xmx1G
-XX:+UseG1GC
-XX:+ExplicitGCInvokesConcurrent
-XX:+ExitOnOutOfMemoryError
-XX:ReservedCodeCacheSize=256M
-XX:+EnableDynamicAgentLoading
-Djdk.attach.allowAttachSelf=true
-Dfile.encoding=UTF-8
"""


def fetch(cache: Path) -> Path:
    def fill(folder: Path) -> None:
        server = maven_copy(f"io.trino:trino-server-core:{VERSION}:tar.gz", folder)
        unpack(server, folder / "server")
        plugin = maven_copy(f"io.trino:trino-iceberg:{VERSION}:zip", folder)
        unpack(plugin, folder / "server" / "plugin" / "iceberg")

    return once(cache / f"trino-{VERSION}", fill)


def start(stack: Stack, installed: Path) -> Launch:
    port = stack.port("trino")
    data = stack.data_folder("trino")
    server = installed / "server"
    etc = data / "etc"
    write_private(etc / "jvm.config", JVM)
    write_properties(etc / "node.properties", _node(data))
    write_properties(etc / "config.properties", _config(port, server, etc))
    write_properties(etc / "catalog" / f"{CATALOG}.properties", _catalog(stack.facts))
    # Trino's launcher refuses to start while a process has the pid in this file, be it a zombie
    # that nobody has asked about yet or a stranger. Our own record of the process knows better.
    (data / "var" / "run" / "launcher.pid").unlink(missing_ok=True)
    java = find_java(at_least=24, below=None, wanted_by="Trino")
    return Launch(
        command=[str(server / "bin" / "launcher"), "run", f"--etc-dir={etc}"],
        environment={"JAVA_HOME": str(java)},
        facts={
            "uri": f"http://{LOOPBACK}:{port}",
            "host": LOOPBACK,
            "port": port,
            "user": USER,
            "catalog": CATALOG,
        },
    )


def ready(facts: Facts) -> bool:
    info = web.get_json(facts["uri"] + "/v1/info")
    if not isinstance(info, dict) or info.get("starting") is not False:
        return False
    # For seconds after its start, Trino does not know that its one node serves the catalog: it
    # lists schemas, it calls the node active, and it fails every scan with NO_NODES_AVAILABLE.
    return all(_answers(facts, statement) for statement in PROBE)


def settings(facts: dict[str, Facts]) -> dict[str, Any]:
    return {"trino": {key: facts["trino"][key] for key in ("host", "port", "user", "catalog")}}


def _answers(facts: Facts, statement: str) -> bool:
    headers = {"X-Trino-User": USER}
    page = web.get_json(facts["uri"] + "/v1/statement", body=statement.encode(), headers=headers)
    while isinstance(page, dict) and "error" not in page:
        if "nextUri" not in page:
            return True
        page = web.get_json(page["nextUri"], headers=headers)
    return False


def _node(data: Path) -> dict[str, str]:
    return {
        "node.environment": "neve",
        "node.id": "neve",
        "node.data-dir": str(data),
        "node.bind-ip": LOOPBACK,
        "node.internal-address": LOOPBACK,
    }


def _config(port: int, server: Path, etc: Path) -> dict[str, str]:
    return {
        "coordinator": "true",
        "node-scheduler.include-coordinator": "true",
        "http-server.http.port": str(port),
        "discovery.uri": f"http://{LOOPBACK}:{port}",
        "plugin.dir": str(server / "plugin"),
        "catalog.config-dir": str(etc / "catalog"),
        # On a busy machine the one node may be late to answer itself; nobody else could take over.
        "failure-detector.enabled": "false",
    }


def _catalog(facts: dict[str, Facts]) -> dict[str, str]:
    storage, catalog = facts["s3"], facts["rest"]
    return {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "rest",
        "iceberg.rest-catalog.uri": catalog["uri"],
        "iceberg.rest-catalog.warehouse": catalog["warehouse"],
        "fs.native-s3.enabled": "true",
        "s3.endpoint": storage["endpoint"],
        "s3.region": storage["region"],
        "s3.path-style-access": "true",
        "s3.aws-access-key": storage["access_key"],
        "s3.aws-secret-key": storage["secret_key"],
        # The default of 20 waits for minutes on a storage that is down, which tests take down.
        "s3.max-error-retries": "3",
    }
