"""The notebook runs from the first cell to the last one, and keeps no outputs of anybody's."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from pathlib import Path

import nbformat
import pytest
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


def test_it_runs_on(chosen, tmp_path):
    out = tmp_path / "out.ipynb"
    parameters = {"num_batches": 12, "num_events": 2400, **chosen}
    words = [word for name, value in parameters.items() for word in ("-p", name, str(value))]
    command = [sys.executable, "-m", "papermill", str(NOTEBOOK), str(out), "--no-progress-bar"]
    subprocess.run([*command, *words, "--cwd", str(tmp_path)], check=True, timeout=300)
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


def test_no_outputs_are_committed():
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in cells)
