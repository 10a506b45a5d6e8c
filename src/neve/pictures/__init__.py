"""Pictures of a table and of what was done to it, with Plotly (`pip install 'neve[pictures]'`).

They are made of facts and outcomes alone, so that a notebook, a report and a page show the same.
"""

from __future__ import annotations

from neve.pictures.files import delete_debt, file_sizes, partitions
from neve.pictures.report import report
from neve.pictures.runs import costs, timings
from neve.pictures.snapshots import snapshot_timeline

__all__ = [
    "costs",
    "delete_debt",
    "file_sizes",
    "partitions",
    "report",
    "snapshot_timeline",
    "timings",
]
