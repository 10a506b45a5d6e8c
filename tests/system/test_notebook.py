"""The notebook runs from the first cell to the last one, and keeps no outputs of anybody's."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from pathlib import Path

import nbformat
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from tests.system.stack_fixtures import forget_tables

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "compaction_pattern.ipynb"


@pytest.fixture(params=["embedded", "stack"])
def chosen(request):
    """Parameters for the default, and for the catalog of the running stack."""
    if request.param == "embedded":
        yield {}
        return
    stack = request.getfixturevalue("stack")
    database = f"notebook_{uuid.uuid4().hex[:8]}"
    config = str(stack.home / "neve.yaml")
    yield {"config": config, "catalog": "iceberg", "database_name": database}
    forget_tables(stack, database)


def execute(folder, **parameters):
    """Run it by papermill: how it ended, and the notebook with its outputs."""
    out = folder / "out.ipynb"
    parameters = {"num_batches": 12, "num_events": 2400, **parameters}
    words = [word for name, value in parameters.items() for word in ("-p", name, str(value))]
    command = [sys.executable, "-m", "papermill", str(NOTEBOOK), str(out), "--no-progress-bar"]
    done = subprocess.run(
        [*command, *words, "--cwd", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done, out


def test_it_runs_on(chosen, tmp_path):
    done, out = execute(tmp_path, **chosen)
    assert done.returncode == 0, done.stderr[-4000:]
    cells = nbformat.read(out, as_version=4).cells
    texts = [o.get("text", "") for cell in cells for o in cell.get("outputs", ())]
    said = "".join(texts)
    assert said.count("✔") == 5
    assert "✘" not in said
    assert "rows in 2400 rows out 2400" in said
    assert re.search(r"event_type=click +6 files → +1\n", said)
    assert re.search(r"event_type=search +6 files → +6\n", said)
    drawn = [o for cell in cells for o in cell.get("outputs", ()) if "data" in o]
    assert sum("application/vnd.plotly.v1+json" in o["data"] for o in drawn) == 5


def test_a_table_that_it_did_not_make_is_left_alone(tmp_path):
    (tmp_path / ".neve").mkdir()
    properties = {"uri": f"sqlite:///{tmp_path}/.neve/catalog.db", "warehouse": tmp_path.as_uri()}
    with load_catalog("lake", type="sql", **properties) as catalog:
        catalog.create_namespace("shop")
        catalog.create_table("shop.orders", Schema(NestedField(1, "id", LongType())))

        done, _ = execute(tmp_path, database_name="shop", table_name="orders")

        assert done.returncode != 0
        assert "lake.shop.orders was not made by this notebook" in done.stderr
        assert catalog.table_exists("shop.orders")


def test_papermill_is_told_what_may_be_chosen():
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    (parameters,) = (cell for cell in cells if "parameters" in cell.metadata.get("tags", ()))
    assert set(re.findall(r"^(\w+) = ", parameters.source, re.MULTILINE)) == {
        *("config", "catalog", "execution_date", "environment", "database_name", "table_name"),
        *("target_file_size_mb", "min_file_size_mb", "num_events", "num_batches"),
        *("enable_validation", "enable_cleanup"),
    }


def test_no_outputs_are_committed():
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in cells)
