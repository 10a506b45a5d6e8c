"""The Postman collection against `neve serve`, over a REST catalog and an S3 server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from pyiceberg.catalog import load_catalog

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "from neve.cli.main import run; run()"
FILES = ROOT / "docs" / "postman"


@pytest.fixture
def events(rest_catalogs):
    """A table with something to compact; its catalog as the server knows it."""
    ((name, properties),) = rest_catalogs.items()
    catalog = load_catalog(name, **properties)
    catalog.create_namespace_if_not_exists("postman")
    rows = pa.table({"id": pa.array(range(10), pa.int64())})
    table = catalog.create_table("postman.events", rows.schema)
    for _ in range(3):
        table.append(rows)
    yield name
    catalog.purge_table("postman.events")
    catalog.drop_namespace("postman")


@pytest.fixture
def address(events, rest_catalogs, tmp_path):
    state = {"url": f"sqlite:///{tmp_path}/state.db"}
    (tmp_path / "neve.yaml").write_text(yaml.safe_dump({"catalogs": rest_catalogs, "state": state}))
    words = ["serve", "--role", "api", "--port", "0", "--config", "neve.yaml"]
    server = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        found = re.search(r"http://\S+", server.stderr.readline())
        assert found
        yield found[0]
    finally:
        server.terminate()
        server.wait(60)
        server.stderr.close()


def run(address, catalog, **more):
    """The runner as people start it: every request, its status, and whether it was expected."""
    words = [
        str(FILES / "neve.postman_collection.json"),
        str(FILES / "local.postman_environment.json"),
    ]
    said = {"base_url": address, "catalog": catalog, "namespace": "postman", **more}
    program = ROOT / "tools" / "run_postman.py"
    pairs = [f"{name}={value}" for name, value in said.items()]
    done = subprocess.run(
        [sys.executable, str(program), *words, *pairs], capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def test_every_request_of_the_collection_is_answered_as_it_says(address, events):
    code, told = run(address, events)
    assert (code, "FAIL" in told) == (0, False), told
    document = json.loads((FILES / "neve.postman_collection.json").read_text())
    requests = sum(len(folder["item"]) for folder in document["item"])
    assert told.count("ok  ") == requests > 30


def test_a_table_that_is_not_there_fails_the_run(address, events):
    code, told = run(address, events, table="nope")
    assert code == 1
    assert "FAIL 404" in told
