"""The Postman collection is made from the document, and runs against a live server."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def files():
    return tool("postman").files()


def test_the_files_are_up_to_date(files):
    folder = ROOT / "docs" / "postman"
    assert {path.name: path.read_text("utf-8") for path in folder.iterdir()} == files


def test_every_operation_is_in_it(files, api):
    collection = json.loads(files["neve.postman_collection.json"])
    names = {item["name"] for folder in collection["item"] for item in folder["item"]}
    paths = api.get("/openapi.json").json()["paths"]
    assert names == {f"{method.upper()} {path}" for path in paths for method in paths[path]}


def test_it_runs_against_a_live_server(files, address):
    collection = json.loads(files["neve.postman_collection.json"])
    environment = json.loads(files["production.postman_environment.json"])
    results = list(tool("run_postman").run(collection, environment, base_url=address))
    assert len(results) > 30
    assert [result for result in results if not result[2]] == []


def test_a_status_that_was_not_expected_fails(files, address):
    collection = json.loads(files["neve.postman_collection.json"])
    environment = json.loads(files["production.postman_environment.json"])
    run = tool("run_postman").run
    results = list(run(collection, environment, base_url=address, table="nope"))
    assert [result for result in results if not result[2]] != []
