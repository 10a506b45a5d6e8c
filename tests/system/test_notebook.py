"""The notebook runs from the first cell to the last one, and keeps no outputs of anybody's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "compaction_pattern.ipynb"


def test_it_runs_on_the_embedded_lakehouse(tmp_path):
    out = tmp_path / "out.ipynb"
    chosen = ["-p", "num_batches", "12", "-p", "num_events", "2400", "--cwd", str(tmp_path)]
    command = [sys.executable, "-m", "papermill", str(NOTEBOOK), str(out), "--no-progress-bar"]
    subprocess.run([*command, *chosen], check=True, timeout=300)
    cells = nbformat.read(out, as_version=4).cells
    texts = [o.get("text", "") for cell in cells for o in cell.get("outputs", ())]
    said = "".join(texts)
    assert said.count("✔") == 5
    assert "✘" not in said
    assert "rows in 2400 rows out 2400" in said
    drawn = [o for cell in cells for o in cell.get("outputs", ()) if "data" in o]
    assert sum("application/vnd.plotly.v1+json" in o["data"] for o in drawn) == 5


def test_no_outputs_are_committed():
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in cells)
