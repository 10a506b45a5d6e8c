"""Catalogs as users have them, end to end: REST with tokens, Nessie on a branch, Glue.

One `neve maintain` in a process of its own goes through all of them, behind the commit gate.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from moto.server import ThreadedMotoServer
from pyiceberg.catalog import Catalog, load_catalog
from tests.system.engine_fixtures import IMPATIENT
from tests.system.stack_fixtures import RunningStack, forget_tables
from tests.system.vending import TOKENS, vending_catalog

from neve.catalog.connect import pyiceberg_properties

CREDENTIAL = "neve:kept-from-everybody"
#: Of this run alone: Nessie keeps what another one has left.
SCHEMA = f"kinds_{uuid.uuid4().hex[:8]}"
BRANCH = f"feature/{SCHEMA}"
FILES = 4
KINDS = ("secured", "nessie", "glue")
POLICY = {
    "name": "all",
    "match": {"tables": ["*"]},
    "operations": {"expire_snapshots": {"older_than": "1h", "retain_last": 1}},
}


@dataclass
class Kinds:
    """A configuration with a catalog of each kind, and what became of its tables."""

    folder: Path
    catalogs: dict[str, dict[str, str]]
    environment: dict[str, str]
    rows: list[int]

    def opened(self, name: str, **changes: str) -> Catalog:
        properties = {**self.catalogs[name], **changes}
        if "credential" in properties:
            # Without it pyiceberg finds the same address, and warns; Neve's own use is without it.
            properties["oauth2-server-uri"] = properties["uri"] + TOKENS
        return load_catalog(name, **pyiceberg_properties(properties, name))

    def neve(self, *words: str, **others: dict[str, str]) -> tuple[int, dict[str, Any], str]:
        config = self.folder / "neve.yaml"
        settings = {
            "catalogs": {**self.catalogs, **others},
            "state": {"url": f"sqlite:///{self.folder}/state.db"},
            "policies": [POLICY],
            "spark": {"master": "local[2]", "conf": {"spark.driver.memory": "1g"}},
        }
        config.write_text(yaml.safe_dump(settings))
        program = Path(sys.executable).with_name("neve")
        done = subprocess.run(
            [str(program), "--config", str(config), *words, "-o", "json"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **self.environment},
        )
        return done.returncode, json.loads(done.stdout), done.stdout + done.stderr


@pytest.fixture(scope="module")
def kinds(stack: RunningStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kinds]:
    stack.command("up", "nessie")
    facts = json.loads((stack.home / "stack.json").read_text())
    glue = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    glue.start()
    storage = stack.facts["s3"]
    place = {"s3.endpoint": storage["endpoint"], "s3.region": storage["region"], **IMPATIENT}
    keys = {
        "s3.access-key-id": storage["access_key"],
        "s3.secret-access-key": storage["secret_key"],
    }
    try:
        branch_of(facts["nessie"]["uri"], BRANCH)
        host, port = glue.get_host_and_port()
        with vending_catalog(facts["rest"]["uri"], {"config": keys}, CREDENTIAL) as uri:
            catalogs = {
                "secured": {"type": "rest", "uri": uri, "credential": CREDENTIAL, **place},
                "nessie": {
                    "type": "nessie",
                    "uri": facts["nessie"]["uri"],
                    "ref": BRANCH,
                    **place,
                    **keys,
                },
                "glue": {
                    "type": "glue",
                    "glue.endpoint": f"http://{host}:{port}",
                    "glue.region": storage["region"],
                    "warehouse": f"s3://{storage['bucket']}/glue",
                    **place,
                    **keys,
                },
            }
            # The SDKs of both languages look for those of Glue here.
            environment = {
                "AWS_ACCESS_KEY_ID": storage["access_key"],
                "AWS_SECRET_ACCESS_KEY": storage["secret_key"],
                "AWS_REGION": storage["region"],
            }
            with pytest.MonkeyPatch.context() as patch:
                for name, value in environment.items():
                    patch.setenv(name, value)
                made = Kinds(tmp_path_factory.mktemp("kinds"), catalogs, environment, [])
                make_tables(made)
                yield made
            forget_tables(stack, SCHEMA)
    finally:
        glue.stop()
        stack.command("down", "nessie")


def branch_of(uri: str, name: str) -> None:
    """A branch of Nessie's main, through its own API."""
    with urllib.request.urlopen(f"{uri}/api/v2/trees/main") as answer:
        main = json.loads(answer.read())["reference"]
    query = urllib.parse.urlencode({"name": name, "type": "BRANCH"})
    request = urllib.request.Request(
        f"{uri}/api/v2/trees?{query}",
        data=json.dumps(main).encode(),
        headers={"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request).close()


def make_tables(kinds: Kinds) -> None:
    schema = pa.schema([("id", pa.int64())])
    for name in KINDS:
        catalog = kinds.opened(name)
        catalog.create_namespace(SCHEMA)
        table = catalog.create_table(f"{SCHEMA}.events", schema)
        for number in range(FILES):
            ids = list(range(number * 10, number * 10 + 10))
            table.append(pa.table([ids], schema=schema))
    kinds.rows = list(range(FILES * 10))


@pytest.fixture(scope="module")
def maintained(kinds: Kinds) -> dict[str, dict[str, Any]]:
    """What one command says of each table, by catalog and operation."""
    code, document, said = kinds.neve("maintain", f"*.{SCHEMA}.events")
    assert code == 0, said
    assert CREDENTIAL.partition(":")[2] not in said
    assert not document["catalog_problems"]
    return {
        report["table"].partition(".")[0]: {
            each["operation"]: each for each in report["operations"]
        }
        for report in document["tables"]
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_every_kind_is_compacted(
    kinds: Kinds, maintained: dict[str, dict[str, Any]], kind: str
) -> None:
    table = kinds.opened(kind).load_table(f"{SCHEMA}.events")

    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == kinds.rows
    assert len(list(table.scan().plan_files())) == 1
    assert maintained[kind]["rewrite_data_files"]["status"] == "succeeded"


@pytest.mark.parametrize("kind", ["secured", "glue"])
def test_the_state_before_is_kept_for_undo(
    kinds: Kinds, maintained: dict[str, dict[str, Any]], kind: str
) -> None:
    refs = kinds.opened(kind).load_table(f"{SCHEMA}.events").refs()

    assert len(refs) == 2


def test_only_the_named_branch_of_nessie_has_changed(
    kinds: Kinds, maintained: dict[str, dict[str, Any]]
) -> None:
    assert kinds.opened("nessie", ref="main").list_namespaces() == []


def test_what_nessie_refuses_is_said(kinds: Kinds, maintained: dict[str, dict[str, Any]]) -> None:
    expiry = maintained["nessie"]["expire_snapshots"]

    assert "only Nessie's own garbage collector knows" in json.dumps(expiry)


def test_a_wrong_credential_is_one_sentence_without_it(kinds: Kinds) -> None:
    wrong = {**kinds.catalogs["secured"], "credential": "neve:another-secret"}

    code, document, said = kinds.neve("health", f"secured.{SCHEMA}.events", secured=wrong)

    assert code == 1
    assert document["error"]["type"] == "CatalogError"
    assert "another-secret" not in said
    assert "Traceback" not in said
